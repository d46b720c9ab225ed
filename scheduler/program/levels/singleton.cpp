#include <weft/scheduler/program/levels/kinds.h>

namespace weft::level_programs {
namespace {

std::optional<ir::For> enter(LevelWalk& walk, std::size_t number, LevelPlace& place) {
  const ir::Expr parent = walk.parent(number, place);
  place.enter(parent);
  walk.meet(number, walk.load(walk.level(number).index, {parent}), place);
  return std::nullopt;
}

ir::Expr facts(LevelFacts&, std::size_t, const ir::Expr& parents) {
  return parents;
}

}  // namespace

LevelProgram singleton() {
  return {LevelKind::singleton, enter, facts};
}

}  // namespace weft::level_programs
