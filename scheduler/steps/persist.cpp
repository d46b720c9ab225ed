// persist: as many blocks as the device runs at once, each of which goes through several tiles.
#include <fmt/format.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>
#include <weft/scheduler/steps/parts/split_sum.h>

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

/// The tiles of two loops, and which of them a block takes.
class Dealt {
 public:
  Dealt(const ir::For& outer, const ir::For& inner, std::int64_t blocks,
        const std::vector<std::string>& loops)
      : outer_(outer),
        inner_(inner),
        blocks_(blocks),
        total_(outer.extent * inner.extent),
        block_(ir::variable(loops[0])),
        tile_(ir::variable(loops[1])),
        number_(ir::variable(outer.name + ".tile_number")) {}

  /// Each tile counts as many parts as there are blocks, of which each block takes as many as there are
  /// tiles: all get the same, and where a sum is longer than others its parts are.
  SumShares shares() const {
    const Expr first_block = number_ * blocks_ / total_;
    const Expr last_block = ((number_ + 1) * blocks_ - 1) / total_;
    const auto of = [this](const Expr& iterations) {
      const Expr before = ir::maximum(first_part() - number_ * blocks_, 0);
      const Expr end = ir::minimum(first_part() + total_ - number_ * blocks_, blocks_);
      const Expr skipped = ir::minimum(iterations, iterations * before / blocks_);
      const Expr taken = iterations * end / blocks_ - iterations * before / blocks_;
      return std::pair(skipped, ir::minimum(taken, iterations - skipped));
    };
    return {.most = ir::ceil_divide(blocks_, total_) + 1,
            .count = last_block - first_block + 1,
            .part = block_ - first_block,
            .tile = inner_.name,
            .of = of};
  }

  /// The loop over the blocks.
  Stmt blocks(const Stmt& of_block, bool in_parts, int step) const {
    return ir::for_range(block_, in_parts ? Expr(blocks_) : ir::minimum(blocks_, total_), LoopKind::block_x,
                         step, of_block, outer_.role);
  }

  /// The loop over the tiles of a block; of tiles whose sums are in parts, those of which it has one.
  Stmt tiles(const Stmt& of_tile, bool in_parts, int step) const {
    Stmt body = ir::let(inner_.name, number_ % inner_.extent + inner_.begin, of_tile);
    // What is known of the loop stays known: no tile lies beyond it.
    const Expr row = number_ / inner_.extent;
    const Expr place = ir::integer_value(outer_.extent) != nullptr ? row % outer_.extent : row;
    body = ir::let(outer_.name, place + outer_.begin, body);
    const Expr first = first_part() / blocks_;
    const Expr number = in_parts ? ir::minimum(first + tile_, total_ - 1) : tile_ * blocks_ + block_;
    body = ir::let(outer_.name + ".tile_number", number, body);
    const Expr tiles = in_parts ? (first_part() + total_ - 1) / blocks_ - first + 1
                                : ir::ceil_divide(total_ - block_, blocks_);
    return ir::for_range(tile_, tiles, LoopKind::serial, step, body, outer_.role);
  }

 private:
  Expr first_part() const { return block_ * total_; }

  const ir::For& outer_;
  const ir::For& inner_;
  std::int64_t blocks_;
  Expr total_, block_, tile_, number_;
};

/// A refusal to split the sum, as one of persist.
Reason of_persist(Reason refused) {
  refused.precondition = 5;
  return refused;
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
  const bool deals = arguments.has("deal");
  const Dealt dealt(outer, *inner, blocks, loops_of_persist(arguments, context.algorithm));
  ir::Program result = program;
  if (deals) {
    const std::string sum = arguments.text("deal");
    if (auto missing = require_loop(program, sum)) return *missing;
    StepResult split = split_sum(program, sum, dealt.shares(), Reduction::second_pass, context.step);
    if (const auto* refused = std::get_if<Reason>(&split)) return of_persist(*refused);
    result = std::get<ir::Program>(std::move(split));
  }
  result.body = change_loops(result.body, names[0], [&](const ir::For& loop) {
    const Stmt& tile = directly_inside(loop, names[1])->body;
    const auto* parts = deals ? tile.as<ir::Sequence>() : nullptr;
    if (parts == nullptr) return dealt.blocks(dealt.tiles(tile, false, context.step), false, context.step);
    // Parts of all tiles are left before any are added up, so that a block waits for memory once.
    std::vector<Stmt> in_turn;
    for (const Stmt& each : parts->statements) in_turn.push_back(dealt.tiles(each, true, context.step));
    return dealt.blocks(ir::block(std::move(in_turn)), true, context.step);
  });
  return result;
}

constexpr Parameter dealt_sum = [] {
  Parameter result = loop_parameter("deal", "\"k.block\"", "the loop whose iterations blocks share too");
  result.named = true;
  result.required = false;
  return result;
}();
constexpr Parameter parameters[]{
    loop_parameter("outer", "n.outer", "a loop that is bound to blocks"),
    loop_parameter("inner", "\"m.block\"", "another, directly inside it, whose tiles come first"),
    number_parameter(
        "blocks", "132",
        "thread blocks: as many as the device runs at once, 132 of an H200 with one a multiprocessor", 3,
        most_blocks),
    dealt_sum};
constexpr Precondition preconditions[]{
    loops_exist,
    {2, "both are bound to blocks, and the second stands directly inside the first, in one place"},
    {3, "there are 1 to 65,535 blocks"},
    {4, "no other loop around or inside them is bound to block_x, which the blocks take"},
    {5, "a sum whose iterations are dealt is one that split_k could split between blocks"}};

}  // namespace

constinit const StepKind persist{
    .name = "persist",
    .sentence = "Two loops bound to blocks become tiles, which so many thread blocks take in turn.",
    .more =
        "Those of the inner loop come first; the loop \"outer.tile\" counts the tiles of a block. With "
        "`deal`, "
        "all blocks get the same share of the work, whatever the number of tiles: the iterations of that "
        "loop "
        "through all tiles are dealt in equal runs, so that a block may begin and end inside a sum. Parts of "
        "a "
        "tile meet in a workspace, where the last block to come adds them up in order, so the result is the "
        "same every time.",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = apply_persist,
    .loops = loops_of_persist};

}  // namespace weft::steps
