// persist: as many blocks as the device runs at once, each of which goes through several tiles.
#include <fmt/format.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/loops.h>

namespace weft::steps {
namespace {

using ir::Expr;
using ir::Stmt;

/// The loop of that name directly inside the other, or null.
const ir::For* directly_inside(const ir::For& outer, const std::string& name) {
  const auto* loop = outer.body.as<ir::For>();
  return loop != nullptr && loop->name == name ? loop : nullptr;
}

/// persist(outer, inner, blocks = 132): two loops bound to blocks, one directly inside the other, become
/// tiles that `blocks` thread blocks take in turn, those of the inner loop first; "outer.tile" counts the
/// tiles of a block. Preconditions: 1 the loops exist; 2 both are bound to blocks, and the second stands
/// directly inside the first, in one place; 3 there is at least one block.
StepResult apply_persist(const ir::Program& program, const Step& step, const StepContext& context) {
  std::vector<std::string> names;
  std::int64_t blocks = 0;
  for (const Argument& argument : step.arguments) {
    if (argument.name == "blocks") {
      const auto* value = std::get_if<std::int64_t>(&argument.value);
      blocks = value == nullptr ? 0 : *value;
    } else {
      names.push_back(word_of(argument));
    }
  }
  if (names.size() != 2) return Reason{2, fmt::format("{} loops", names.size()), "two loops", {}};
  for (const std::string& name : names) {
    if (auto missing = require_loop(program, name)) return *missing;
  }
  if (blocks < 1) return Reason{3, fmt::format("blocks = {}", blocks), "at least 1", {}};
  const auto outers = find_loops(program.body, names[0]);
  const ir::For* inner = outers.size() == 1 ? directly_inside(*outers.front(), names[1]) : nullptr;
  if (inner == nullptr || !ir::is_block(inner->kind) || !ir::is_block(outers.front()->kind))
    return Reason{
        2, fmt::format("{} does not stand directly inside {}, both bound to blocks", names[1], names[0]),
        "reorder and bind first", names[1]};
  const ir::For& outer = *outers.front();
  const Expr number = ir::variable(names[0] + ".tile_number");
  const Expr total = outer.extent * inner->extent;
  const std::string block = names[0] + ".block", tile = names[0] + ".tile";
  Stmt body = ir::let(inner->name, number % inner->extent + inner->begin, inner->body);
  body = ir::let(outer.name, number / inner->extent + outer.begin, body);
  body = ir::let(names[0] + ".tile_number", ir::variable(tile) * ir::integer(blocks) + ir::variable(block),
                 body);
  body =
      ir::for_loop({tile, ir::integer(0), ir::ceil_divide(total - ir::variable(block), ir::integer(blocks)),
                    ir::LoopKind::serial, context.step, body});
  body = ir::for_loop({block, ir::integer(0), ir::minimum(ir::integer(blocks), total), ir::LoopKind::block_x,
                       context.step, body});
  ir::Program result = program;
  result.body = change_loops(program.body, names[0], [&](const ir::For&) { return body; });
  return result;
}

}  // namespace

const StepKind persist{"persist", ".persist(n.outer, m.block, blocks = 132)", 3, 3, apply_persist};

}  // namespace weft::steps
