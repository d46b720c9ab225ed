// persist: as many blocks as the device runs at once, each of which goes through several tiles.
#include <fmt/format.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>

#include <array>

namespace weft::steps {
namespace {

constexpr std::int64_t most_blocks = 65'535;  ///< more than any device runs at once

/// The loop of that name directly inside the other, or null.
const ir::For* directly_inside(const ir::For& outer, const std::string& name) {
  const auto* loop = outer.body.as<ir::For>();
  return loop != nullptr && loop->name == name ? loop : nullptr;
}

/// A loop around or inside the two that is bound to block_x.
const ir::For* other_along_x(const Stmt& body, const ir::For& outer, const ir::For& inner) {
  const auto found = ir::find_all<ir::For>(body, [&](const ir::For& loop) {
    return loop.kind == LoopKind::block_x && loop.name != outer.name && loop.name != inner.name &&
           (find_loop(loop.body, outer.name) != nullptr || find_loop(inner.body, loop.name) != nullptr);
  });
  return found.empty() ? nullptr : found.back();
}

/// Over the blocks that run at once, and over the tiles of one.
std::vector<std::string> loops_of_persist(const StepArguments& arguments, const Algorithm&) {
  return {arguments.text("outer") + ".block", arguments.text("outer") + ".tile"};
}

StepResult apply_persist(const ir::Program& program, const StepArguments& arguments,
                         const StepContext& context) {
  const std::array names{arguments.text("outer"), arguments.text("inner")};
  const std::int64_t blocks = arguments.number("blocks");
  for (const std::string& name : names) {
    if (auto missing = require_loop(program, name)) return *missing;
  }
  const auto outers = find_loops(program.body, names[0]);
  const ir::For* inner = outers.size() == 1 ? directly_inside(*outers.front(), names[1]) : nullptr;
  if (inner != nullptr && inner->kind == LoopKind::serial && outers.front()->kind == LoopKind::serial)
    return Reason{2, fmt::format("{} and {} are bound to nothing", names[0], names[1]),
                  fmt::format("both bound to blocks before: first {}{}",
                              written("bind", {names[0], "block_y"}), written("bind", {names[1], "block_x"})),
                  names[1]};
  if (inner == nullptr || !ir::is_block(inner->kind) || !ir::is_block(outers.front()->kind))
    return Reason{
        2, fmt::format("{} does not stand directly inside {}, both bound to blocks", names[1], names[0]),
        fmt::format("{} directly inside {}, and then {}{}", names[1], names[0],
                    written("bind", {names[0], "block_y"}), written("bind", {names[1], "block_x"})),
        names[1]};
  const ir::For& outer = *outers.front();
  if (const ir::For* other = other_along_x(program.body, outer, *inner))
    return Reason{4, fmt::format("{} is bound to block_x", other->name), "only the two loops along block_x",
                  other->name};
  const auto loops = loops_of_persist(arguments, context.algorithm);
  const Expr block = ir::variable(loops[0]), tile = ir::variable(loops[1]);
  const std::string numbered = names[0] + ".tile_number";
  const Expr number = ir::variable(numbered), total = outer.extent * inner->extent;
  Stmt body = ir::let(inner->name, number % inner->extent + inner->begin, inner->body);
  // What is known of the loop stays known: no tile lies beyond it.
  const Expr row = number / inner->extent;
  const Expr place = ir::integer_value(outer.extent) != nullptr ? row % outer.extent : row;
  body = ir::let(outer.name, place + outer.begin, body);
  body = ir::let(numbered, tile * blocks + block, body);
  body = ir::for_range(tile, ir::ceil_divide(total - block, blocks), LoopKind::serial, context.step, body,
                       outer.role);
  body = ir::for_range(block, ir::minimum(blocks, total), LoopKind::block_x, context.step, body, outer.role);
  ir::Program result = program;
  result.body = change_loops(program.body, names[0], [&](const ir::For&) { return body; });
  return result;
}

constexpr Parameter parameters[]{
    loop_parameter("outer", "n.outer", "a loop that is bound to blocks"),
    loop_parameter("inner", "\"m.block\"", "another, directly inside it, whose tiles come first"),
    number_parameter(
        "blocks", "132",
        "thread blocks: as many as the device runs at once, 132 of an H200 with one a multiprocessor", 3,
        most_blocks)};
constexpr Precondition preconditions[]{
    loops_exist,
    {2, "both are bound to blocks, and the second stands directly inside the first, in one place"},
    {3, "there are 1 to 65,535 blocks"},
    {4, "no other loop around or inside them is bound to block_x, which the blocks take"}};

}  // namespace

constinit const StepKind persist{
    .name = "persist",
    .sentence = "Two loops bound to blocks become tiles, which so many thread blocks take in turn.",
    .more = "Those of the inner loop come first; the loop \"outer.tile\" counts the tiles of a block.",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = apply_persist,
    .loops = loops_of_persist};

}  // namespace weft::steps
