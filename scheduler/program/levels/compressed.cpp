#include <weft/scheduler/program/levels/kinds.h>

namespace weft::level_programs {
namespace {

std::optional<ir::For> enter(LevelWalk& walk, std::size_t number, LevelPlace& place) {
  const Level& level = walk.level(number);
  const Expr parent = walk.parent(number, place);
  ir::For loop = walk.loop(number, true);
  const Expr position = ir::variable(loop.name);
  loop.begin = walk.load(level.begin, {parent});
  loop.extent = walk.load(level.begin, {parent + 1}) - loop.begin;
  place.enter(position);
  if (level.index.empty()) return loop;
  Expr coordinate = walk.load(level.index, {position});
  // What the check has made sure of, where whoever reads all columns behind it can see it.
  if (level.extent > 0)
    coordinate = ir::maximum(ir::minimum(coordinate, walk.extent_of(Dimension::column) - level.extent), 0);
  walk.meet(number, coordinate, place);
  return loop;
}

Expr facts(LevelFacts& facts, std::size_t number, const Expr& parents) {
  return facts.add_offsets(number, parents, true);
}

}  // namespace

LevelProgram compressed() {
  return {LevelKind::compressed, enter, facts};
}

}  // namespace weft::level_programs
