#include <weft/scheduler/program/levels/kinds.h>

namespace weft::level_programs {
namespace {

std::optional<ir::For> enter(LevelWalk& walk, std::size_t number, LevelPlace& place) {
  const Expr parent = walk.parent(number, place);
  const Level& level = walk.level(number);
  place.enter(parent);
  const Expr coordinate = walk.load(level.index, {parent});
  if (level.extent == 0) {
    walk.meet(number, coordinate, place);
  } else {
    walk.meet(number, coordinate % level.extent, place);
    place.conditions.push_back(coordinate < level.extent);
  }
  return std::nullopt;
}

ir::Expr facts(LevelFacts& facts, std::size_t number, const ir::Expr& parents) {
  const Level& level = facts.level(number);
  constexpr std::int64_t most_of_byte = 255;
  if (level.extent > 0) facts.add(level.index, parents, 0, most_of_byte);
  return parents;
}

}  // namespace

LevelProgram singleton() {
  return {LevelKind::singleton, enter, facts};
}

}  // namespace weft::level_programs
