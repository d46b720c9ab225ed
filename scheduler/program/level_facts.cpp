#include <weft/formats/level_kind.h>
#include <weft/scheduler/program/launch_sizes.h>
#include <weft/scheduler/program/level_facts.h>
#include <weft/scheduler/program/walk_levels.h>

#include <algorithm>
#include <utility>

namespace weft {

LevelFacts::LevelFacts(const Algorithm& algorithm, const SparseTensor& weights, const ir::Program& program)
    : algorithm_(algorithm),
      weights_(weights),
      program_(program),
      any_(algorithm.takes_any_weights()),
      left_{{Dimension::row, sparse_extent(algorithm, weights, Dimension::row)},
            {Dimension::column, sparse_extent(algorithm, weights, Dimension::column)}} {}

WeightFacts LevelFacts::take() {
  std::vector<Expr> counts;  // positions of each level
  for (std::size_t i = 0; i < weights_.levels().size(); ++i) {
    const Level& level = weights_.levels()[i];
    const int parent = parent_of(weights_.levels(), i);
    const Expr parents = parent < 0 ? 1 : counts[parent];
    counts.push_back(level_program(level.kind).facts(*this, i, parents));
    if (level.dimension == Dimension::none) continue;
    // Coordinates inside a block end with it.
    const Expr extent = std::exchange(left_.at(level.dimension), level.stride);
    const bool listed = !level.index.empty() && level_kind(level.kind).listed;
    if (listed && !facts_.arrays.contains(buffer(level.index))) add_coordinates(level, counts.back(), extent);
  }
  const std::vector<int>& order = weights_.value_order().levels;
  require_entries("values", order.empty() ? counts.back() : counts[order.front()]);
  return std::move(facts_);
}

std::string LevelFacts::buffer(const std::string& array) const {
  return array_buffer_name(algorithm_.sparse_operand()->name, array);
}

Expr LevelFacts::number(const std::string& name, std::int64_t known) const {
  return any_ ? ir::variable(name) : known;
}

void LevelFacts::require_entries(const std::string& array, const Expr& count) {
  for (const ir::BufferRef& each : program_.buffers) {
    if (each->name == buffer(array) && any_) require(ir::equal(each->shape.front(), count));
  }
}

ArrayFact& LevelFacts::add(const std::string& array, const Expr& count, const Expr& least, const Expr& most) {
  require_entries(array, count);
  return facts_.arrays[buffer(array)] = {count, least, most};
}

Expr LevelFacts::add_offsets(std::size_t number, const Expr& parents, bool increase) {
  const Array& begin = weights_.array(level(number).begin);
  const Expr count =
      this->number("entries of level " + std::to_string(number), begin.get_integer(begin.size() - 1));
  require(0 <= count);
  add(level(number).begin, parents + 1, 0, count).increases = increase;
  return count;
}

Expr LevelFacts::extent(std::size_t number) {
  const Level& level = this->level(number);
  if (number > 0 || !any_) return level.extent;
  const Expr outermost = ir::variable(outermost_variable(algorithm_.sparse_operand()->name));
  require(1 <= outermost);
  const bool filled_up = level.extent * level.stride >= weights_.rows() + level.stride;
  if (level.dimension == Dimension::row && !filled_up)
    require(ir::equal(outermost, ir::ceil_divide(left_.at(Dimension::row), level.stride)));
  return outermost;
}

void LevelFacts::add_coordinates(const Level& level, const Expr& count, const Expr& extent) {
  ArrayFact& fact = add(level.index, count, level.padded || any_ ? -1 : 0, (extent - 1) / level.stride);
  fact.is_permutation = weights_.row_order() == level.index;
  if (fact.is_permutation) fact.whole = sparse_extent(algorithm_, weights_, Dimension::row);
}

}  // namespace weft
