#include <weft/formats/lane_streams.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/program/levels/kinds.h>

#include <utility>

namespace weft::level_programs {
namespace {

/// The last level: places whose bits are set. Zeros that fill lanes up are multiplied like any value.
std::optional<ir::For> enter(LevelWalk& walk, std::size_t number, LevelPlace& place) {
  const Level& level = walk.level(number);
  const bool in_pairs = level.extent == columns_of_pairs;
  const Expr parent = walk.parent(number, place);
  ir::For loop = walk.loop(number, false);
  const Expr column = ir::variable(loop.name);
  loop.begin = 0;
  loop.extent = level.extent;
  const StreamPlace<Expr> at =
      stream_place(place.child.at(static_cast<std::size_t>(level.across)), column, in_pairs);
  const Expr word = parent * lanes_of_stream + at.lane;
  const Expr bits = walk.load(level.index, {word});
  const Expr first = in_pairs ? 0 : at.half * bits_of_half, bit = at.half * bits_of_half + at.bit;
  const auto of_word = [&](std::string_view what, std::vector<Expr> numbers) {
    numbers.insert(numbers.begin(), bits);
    return ir::call(std::string(what), DType::i64, std::move(numbers));
  };
  const Expr taken = walk.load(level.width, {in_pairs ? word : word * 2 + at.half});
  // The level of steps lies below that of a stream's groups, and this one below the level of streams.
  const Expr row =
      walk.load(level.begin, {place.position.at(number - 3)}) + taken + of_word(word_bits, {first, bit});
  const Expr position = (row * lanes_of_stream + at.lane) * elements_of_lane + at.element;
  place.enter(position, column);
  place.column = place.column + column * level.stride;
  if (walk.may_reach_beyond(Dimension::column, level.extent))
    place.conditions.push_back(place.column < walk.extent_of(Dimension::column));
  place.conditions.push_back(ir::equal(of_word(word_bit, {bit}), 1));
  return loop;
}

Expr facts(LevelFacts& facts, std::size_t number, const Expr& parents) {
  const Level& level = facts.level(number);
  const std::int64_t counts = level.extent == columns_of_pairs ? 1 : 2;
  const Array& begin = facts.weights().array(level.begin);
  const Expr rows = facts.number("rows of streams", begin.get_integer(begin.size() - 1));
  facts.require(0 <= rows);
  const std::int64_t steps = facts.level(number - 1).extent * facts.level(number - 2).extent;
  facts.add(level.begin, parents / steps + 1, 0, rows).increases = true;
  facts.require_entries(level.index, parents * lanes_of_stream);
  facts.add(level.width, parents * (lanes_of_stream * counts), 0, rows);
  return rows * (lanes_of_stream * elements_of_lane);
}

}  // namespace

LevelProgram streamed() {
  return {LevelKind::streamed, enter, facts};
}

}  // namespace weft::level_programs
