#include <weft/formats/kept_slots.h>
#include <weft/formats/level_kind.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/hardware/kept_blocks.h>
#include <weft/scheduler/program/levels/kinds.h>

namespace weft::level_programs {
namespace {

std::optional<ir::For> enter(LevelWalk& walk, std::size_t number, LevelPlace& place) {
  const Level& level = walk.level(number);
  const Expr block = walk.parent(number, place);
  ir::For loop = walk.loop(number, true);
  const Expr kept = ir::variable(loop.name);
  loop.begin = 0;
  loop.extent = level.extent;
  const Expr& row = place.child.at(static_cast<std::size_t>(level.across));
  const CodePlace<Expr> at = code_place(row, kept);
  const Expr word = walk.load(level.index, {block, at.tile, at.step, at.lane});
  const Expr slot =
      level.begin.empty()
          ? ir::call(std::string(kept_slot), DType::i64, {word, row, kept})
          : ir::call(std::string(kept_slot_behind), DType::i64,
                     {word, row, block, walk.load(level.begin, {place.position.front()}), kept});
  place.enter(block * (2 * level.extent) + slot, kept);
  walk.meet(number, slot, place);
  return loop;
}

Expr facts(LevelFacts& facts, std::size_t number, const Expr& parents) {
  const std::string& begin = facts.level(number).begin;
  facts.require_entries(facts.level(number).index, parents);
  if (!begin.empty()) facts.require_entries(begin, facts.extent(0));
  return parents * (2 * facts.level(number).extent);
}

}  // namespace

LevelProgram n_of_m() {
  return {LevelKind::n_of_m, enter, facts};
}

}  // namespace weft::level_programs
