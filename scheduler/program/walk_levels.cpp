#include <weft/formats/level_kind.h>
#include <weft/scheduler/program/launch_sizes.h>
#include <weft/scheduler/program/walk_levels.h>

#include <algorithm>
#include <span>

namespace weft {

LevelWalk::LevelWalk(Operand operand)
    : operand_(std::move(operand)),
      any_weights_(operand_.algorithm.takes_any_weights()),
      row_levels_(operand_.weights.row_levels()) {}

Stmt LevelWalk::loops(std::size_t first, std::size_t last, const LevelPlace& above, const Body& body) {
  if (first == last) return body(above);
  LevelPlace place = above;
  std::optional<ir::For> loop = level_program(level(first).kind).enter(*this, first, place);
  Stmt inside = loops(first + 1, last, place, body);
  if (!loop) return inside;
  loop->body = std::move(inside);
  return ir::for_loop(std::move(*loop));
}

std::vector<Expr> LevelWalk::value_place(const LevelPlace& place) const {
  const std::vector<int>& order = operand_.weights.value_order().levels;
  if (order.empty()) return {place.position.back()};
  std::vector<Expr> indices{place.position.at(static_cast<std::size_t>(order.front()))};
  for (std::size_t i = 1; i < order.size(); ++i)
    indices.push_back(place.child.at(static_cast<std::size_t>(order[i])));
  return indices;
}

Expr LevelWalk::load(const std::string& array, std::vector<Expr> indices) const {
  return ir::load(operand_.arrays.at(array), std::move(indices));
}

Expr LevelWalk::parent(std::size_t number, const LevelPlace& place) const {
  const int parent = parent_of(operand_.weights.levels(), number);
  return parent < 0 ? 0 : place.position[parent];
}

Expr LevelWalk::extent(std::size_t number) const {
  if (number > 0 || !any_weights_) return level(number).extent;
  return ir::variable(outermost_variable(operand_.algorithm.sparse_operand()->name));
}

Expr LevelWalk::extent_of(Dimension dimension) const {
  return sparse_extent(operand_.algorithm, operand_.weights, dimension);
}

Expr sparse_extent(const Algorithm& algorithm, const SparseTensor& weights, Dimension dimension) {
  const bool row = dimension == Dimension::row;
  if (!algorithm.takes_any_weights()) return row ? weights.rows() : weights.columns();
  const SparseIndices indices = sparse_indices(algorithm);
  Expr product = 1;
  for (const std::string& index : row ? indices.rows : indices.columns)
    product = product * size_of_extent(algorithm.index(index).extent);
  return product;
}

ir::For LevelWalk::loop(std::size_t number, bool stored) {
  const bool of_row = number < row_levels_ || level(number).dimension == Dimension::row;
  ir::For loop;
  loop.name = joined_indices(operand_.algorithm, of_row ? operand_.indices.rows : operand_.indices.columns);
  loop.role = of_row ? ir::LoopRole::rows : ir::LoopRole::sum;
  if (!level(number).loop.empty()) {
    loop.name += "." + level(number).loop;
    return loop;
  }
  if (of_row && stored) {
    loop.name += ".stored";
    loop.role = ir::LoopRole::stored_rows;
  }
  const int count = ++used_names_[loop.name];
  if (count > 1) loop.name += "." + std::to_string(count);
  return loop;
}

void LevelWalk::meet(std::size_t number, const Expr& coordinate, LevelPlace& place) const {
  const Level& level = this->level(number);
  Expr& sum = level.dimension == Dimension::row ? place.row : place.column;
  if (level.dimension != Dimension::none) sum = sum + coordinate * level.stride;
  std::vector<Expr>& conditions = number < row_levels_ ? place.of_row : place.conditions;
  const bool listed = !level.index.empty() && level_kind(level.kind).listed;
  if (level.padded || (any_weights_ && listed)) conditions.push_back(0 <= coordinate);
  if (ends_blocks(number)) conditions.push_back(sum < extent_of(level.dimension));
}

bool LevelWalk::may_reach_beyond(Dimension dimension, std::int64_t length) const {
  const SparseTensor& weights = operand_.weights;
  const std::int64_t extent = dimension == Dimension::row ? weights.rows() : weights.columns();
  const auto reaches_beyond = [&](const Level& level) {
    return level.kind == LevelKind::dense && level.dimension == dimension &&
           level.extent * level.stride > extent;
  };
  return any_weights_ || extent % length != 0 || std::ranges::any_of(weights.levels(), reaches_beyond);
}

/// Whether the level is the innermost of a dimension whose last block reaches beyond the matrix.
bool LevelWalk::ends_blocks(std::size_t number) const {
  const auto& levels = operand_.weights.levels();
  const Level& level = levels[number];
  if (!level_kind(level.kind).counted || level.dimension == Dimension::none || level.stride != 1)
    return false;
  const std::int64_t length = level.extent * level_kind(level.kind).slots;
  const auto of_block = [&](const Level& outer) {
    return outer.dimension == level.dimension && outer.stride > level.stride;
  };
  // The last of blocks that may begin inside of another one.
  const auto overlap = [&](const Level& outer) { return of_block(outer) && outer.stride < length; };
  const std::span<const Level> around(levels.data(), number);
  return std::ranges::any_of(around, of_block) &&
         (std::ranges::any_of(around, overlap) || may_reach_beyond(level.dimension, length));
}

}  // namespace weft
