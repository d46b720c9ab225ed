#include <weft/scheduler/program/levels/kinds.h>

namespace weft::level_programs {
namespace {

std::optional<ir::For> enter(LevelWalk& walk, std::size_t number, LevelPlace& place) {
  const Level& level = walk.level(number);
  const Expr parent = walk.parent(number, place);
  if (level.across >= 0) {
    const Expr child = place.child[level.across];
    place.enter(parent * level.extent + child, child);
    return std::nullopt;
  }
  ir::For loop = walk.loop(number, false);
  const Expr child = ir::variable(loop.name);
  loop.begin = 0;
  loop.extent = walk.extent(number);
  place.enter(parent * loop.extent + child, child);
  walk.meet(number, child, place);
  return loop;
}

Expr facts(LevelFacts& facts, std::size_t number, const Expr& parents) {
  return parents * facts.extent(number);
}

}  // namespace

LevelProgram dense() {
  return {LevelKind::dense, enter, facts};
}

}  // namespace weft::level_programs
