#include <weft/scheduler/program/levels/kinds.h>

namespace weft::level_programs {
namespace {

/// An element of the index array, of which each byte may hold two.
Expr stored_number(const LevelWalk& walk, const Level& level, const Expr& position) {
  if (level.index_bits == 8) return walk.load(level.index, {position});
  const Expr byte = walk.load(level.index, {position / 2});
  return ir::select(ir::equal(position % 2, 0), byte % 16, byte / 16);
}

/// The last level: places whose value is zero take no part.
std::optional<ir::For> enter(LevelWalk& walk, std::size_t number, LevelPlace& place) {
  const Level& level = walk.level(number);
  const Expr parent = walk.parent(number, place);
  ir::For loop = walk.loop(number, false);
  const Expr child = ir::variable(loop.name);
  loop.begin = 0;
  loop.extent = walk.load(level.width, {parent});
  const Expr position = walk.load(level.begin, {parent}) +
                        place.child.at(static_cast<std::size_t>(level.across)) * loop.extent + child;
  const Expr coordinate =
      ir::select(ir::equal(loop.extent, level.extent), child, stored_number(walk, level, position));
  place.enter(position, child);
  place.column = place.column + coordinate * level.stride;
  if (walk.may_reach_beyond(Dimension::column, level.extent))
    place.conditions.push_back(place.column < walk.extent_of(Dimension::column));
  const DType type = walk.operand().algorithm.accumulator;
  const Expr value = ir::cast(type, walk.load("values", {position}));
  place.conditions.push_back(ir::binary(ir::BinaryOperator::not_equal, value, ir::constant(type, 0)));
  return loop;
}

Expr facts(LevelFacts& facts, std::size_t number, const Expr& parents) {
  const Level& level = facts.level(number);
  const Expr count = facts.add_offsets(number, parents, false);
  const Expr bytes = facts.number("places of " + level.index, facts.weights().array(level.index).size());
  facts.require(0 <= bytes);
  const Expr rows = facts.level(static_cast<std::size_t>(level.across)).extent;
  const Expr extent = level.extent;
  facts.add(level.width, parents, 0, extent);
  facts.add(level.index, bytes, 0, level.index_bits == 8 ? extent - 1 : 255);
  facts.array(level.begin).buckets = {facts.buffer(level.width), parents, rows, extent,
                                      bytes * (8 / level.index_bits)};
  return count;
}

}  // namespace

LevelProgram bucketed() {
  return {LevelKind::bucketed, enter, facts};
}

}  // namespace weft::level_programs
