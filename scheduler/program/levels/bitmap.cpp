#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/program/levels/kinds.h>

namespace weft::level_programs {
namespace {

std::optional<ir::For> enter(LevelWalk& walk, std::size_t number, LevelPlace& place) {
  const Level& level = walk.level(number);
  const Expr word = walk.parent(number, place);
  ir::For loop = walk.loop(number, true);
  const Expr position = ir::variable(loop.name);
  loop.begin = walk.load(level.begin, {word});
  loop.extent = walk.load(level.begin, {word + 1}) - loop.begin;
  place.enter(position);
  const Expr half = word * 2;
  const Expr column =
      ir::call(std::string(set_bit), DType::i64,
               {walk.load(level.index, {half}), walk.load(level.index, {half + 1}), position - loop.begin});
  walk.meet(number, column, place);
  if (walk.may_reach_beyond(Dimension::column, 64))
    place.conditions.push_back(place.column < walk.extent_of(Dimension::column));
  return loop;
}

Expr facts(LevelFacts& facts, std::size_t number, const Expr& parents) {
  facts.require_entries(facts.level(number).index, parents * 2);
  return facts.add_offsets(number, parents, true);
}

}  // namespace

LevelProgram bitmap() {
  return {LevelKind::bitmap, enter, facts};
}

}  // namespace weft::level_programs
