#include <weft/formats/kept_slots.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/program/launch_sizes.h>
#include <weft/scheduler/program/own_names.h>
#include <weft/scheduler/program/walk_levels.h>

#include <algorithm>

namespace weft {

using ir::Expr;
using ir::Stmt;

namespace {

Expr parent_of(const Level& level, const LevelPlace& place) {
  if (level.parent >= 0) return place.position[static_cast<std::size_t>(level.parent)];
  return place.position.empty() ? ir::integer(0) : place.position.back();
}

}  // namespace

LevelWalk::LevelWalk(Operand operand)
    : operand_(std::move(operand)),
      any_weights_(operand_.algorithm.takes_any_weights()),
      row_levels_(operand_.weights.row_levels()) {}

Stmt LevelWalk::loops(std::size_t first, std::size_t last, const LevelPlace& above, const Body& body) {
  if (first == last) return body(above);
  const Level& level = operand_.weights.levels()[first];
  if (level.kind == LevelKind::bucketed) return buckets(first, above, body);
  LevelPlace place = above;
  const Expr parent = parent_of(level, place);
  if (level.kind == LevelKind::singleton) {
    meet(first, ir::load(operand_.arrays.at(level.index), {parent}), place);
    place.position.push_back(parent);
    place.child.emplace_back();
    return loops(first + 1, last, place, body);
  }
  if (level.kind == LevelKind::dense && level.across >= 0) {
    const Expr child = place.child[static_cast<std::size_t>(level.across)];
    place.position.push_back(parent * ir::integer(level.extent) + child);
    place.child.push_back(child);
    return loops(first + 1, last, place, body);
  }
  ir::For loop;
  loop.name = loop_name(first, level.kind != LevelKind::dense);
  const Expr variable = ir::variable(loop.name);
  if (level.kind == LevelKind::dense) {
    loop.begin = ir::integer(0);
    loop.extent = first == 0 && any_weights_
                      ? ir::variable(outermost_variable(operand_.algorithm.sparse_operand()->name))
                      : ir::integer(level.extent);
    place.position.push_back(parent * loop.extent + variable);
    place.child.push_back(variable);
    meet(first, variable, place);
  } else if (level.kind == LevelKind::n_of_m) {
    loop.begin = ir::integer(0);
    loop.extent = ir::integer(level.extent);
    const Expr slot = kept_slot_of(level, place, parent, variable);
    place.position.push_back(parent * ir::integer(2 * level.extent) + slot);
    place.child.push_back(variable);
    meet(first, slot, place);
  } else {
    const ir::BufferRef& begin = operand_.arrays.at(level.begin);
    loop.begin = ir::load(begin, {parent});
    loop.extent = ir::load(begin, {parent + 1}) - loop.begin;
    place.position.push_back(variable);
    place.child.emplace_back();
    if (!level.index.empty()) meet(first, ir::load(operand_.arrays.at(level.index), {variable}), place);
  }
  loop.body = loops(first + 1, last, place, body);
  return ir::for_loop(std::move(loop));
}

std::vector<Expr> LevelWalk::value_place(const LevelPlace& place) const {
  const std::vector<int>& order = operand_.weights.value_order().levels;
  if (order.empty()) return {place.position.back()};
  std::vector<Expr> indices{place.position.at(static_cast<std::size_t>(order.front()))};
  for (std::size_t i = 1; i < order.size(); ++i)
    indices.push_back(place.child.at(static_cast<std::size_t>(order[i])));
  return indices;
}

std::string LevelWalk::loop_name(std::size_t number, bool stored) {
  const Level& level = operand_.weights.levels()[number];
  const bool of_row = number < row_levels_ || level.dimension == Dimension::row;
  const std::string base = joined_indices(operand_.algorithm, of_row ? operand_.rows : operand_.columns);
  if (!level.loop.empty()) return base + "." + level.loop;
  const std::string name = of_row && stored ? base + ".stored" : base;
  const int count = ++used_names_[name];
  return count == 1 ? name : name + "." + std::to_string(count);
}

/// What a coordinate of a level adds to the row or column, and the conditions that come with it.
void LevelWalk::meet(std::size_t number, const Expr& coordinate, LevelPlace& place) const {
  const Level& level = operand_.weights.levels()[number];
  Expr& sum = level.dimension == Dimension::row ? place.row : place.column;
  if (level.dimension != Dimension::none) sum = sum + coordinate * ir::integer(level.stride);
  std::vector<Expr>& conditions = number < row_levels_ ? place.of_row : place.conditions;
  const bool listed = !level.index.empty() && level.kind != LevelKind::n_of_m;
  if (level.padded || (any_weights_ && listed)) conditions.push_back(ir::integer(0) <= coordinate);
  if (ends_blocks(number)) conditions.push_back(sum < extent_of(level.dimension));
}

/// The last level: places whose value is zero take no part.
Stmt LevelWalk::buckets(std::size_t number, LevelPlace place, const Body& body) {
  const Level& level = operand_.weights.levels()[number];
  const Expr parent = parent_of(level, place);
  const Expr width = ir::load(operand_.arrays.at(level.width), {parent});
  const std::string name = loop_name(number, false);
  const Expr variable = ir::variable(name);
  const Expr position = ir::load(operand_.arrays.at(level.begin), {parent}) +
                        place.child.at(static_cast<std::size_t>(level.across)) * width + variable;
  const Expr coordinate =
      ir::select(ir::equal(width, ir::integer(level.extent)), variable, stored_number(level, position));
  place.position.push_back(position);
  place.child.push_back(variable);
  place.column = place.column + coordinate * ir::integer(level.stride);
  if (any_weights_ || operand_.weights.columns() % level.extent != 0)
    place.conditions.push_back(place.column < extent_of(Dimension::column));
  const DType type = operand_.algorithm.accumulator;
  const Expr value = ir::cast(type, ir::load(operand_.arrays.at("values"), {position}));
  place.conditions.push_back(ir::binary(ir::BinaryOperator::not_equal, value, ir::constant(type, 0)));
  return ir::for_loop({name, ir::integer(0), width, ir::LoopKind::serial, -1, body(place)});
}

/// The slot of a kept place, by its code.
Expr LevelWalk::kept_slot_of(const Level& level, const LevelPlace& place, const Expr& block,
                             const Expr& slot) const {
  const auto rows = static_cast<std::size_t>(operand_.weights.value_order().levels.at(1));
  const Expr& row = place.child.at(rows);
  const CodePlace<Expr> at = code_place(row, slot);
  return ir::call(std::string(kept_slot), DType::i64,
                  {ir::load(operand_.arrays.at(level.index), {block, at.tile, at.step, at.lane}), row, slot});
}

/// An element of the index array of a level, of which each byte may hold two.
Expr LevelWalk::stored_number(const Level& level, const Expr& position) const {
  const ir::BufferRef& index = operand_.arrays.at(level.index);
  if (level.index_bits == 8) return ir::load(index, {position});
  const Expr byte = ir::load(index, {position / ir::integer(2)});
  return ir::select(ir::equal(position % ir::integer(2), ir::integer(0)), byte % ir::integer(16),
                    byte / ir::integer(16));
}

Expr LevelWalk::extent_of(Dimension dimension) const {
  const bool row = dimension == Dimension::row;
  if (!any_weights_) return ir::integer(row ? operand_.weights.rows() : operand_.weights.columns());
  Expr product = ir::integer(1);
  for (const std::string& index : row ? operand_.rows : operand_.columns)
    product = product * size_of_extent(operand_.algorithm.index(index).extent);
  return product;
}

/// Whether blocks of that length, of which there may be more than the matrix asks for, reach beyond it.
bool LevelWalk::reaches_beyond(Dimension dimension, std::int64_t length) const {
  const SparseTensor& weights = operand_.weights;
  const std::int64_t extent = dimension == Dimension::row ? weights.rows() : weights.columns();
  return extent % length != 0 || std::ranges::any_of(weights.levels(), [&](const Level& level) {
           return level.kind == LevelKind::dense && level.dimension == dimension &&
                  level.extent * level.stride > extent;
         });
}

/// Whether the level is the innermost of a dimension whose last block reaches beyond the matrix.
bool LevelWalk::ends_blocks(std::size_t number) const {
  const auto& levels = operand_.weights.levels();
  const Level& level = levels[number];
  const auto of_block = [&](const Level& outer) {
    return outer.dimension == level.dimension && outer.stride > level.stride;
  };
  if (level.kind != LevelKind::dense && level.kind != LevelKind::n_of_m) return false;
  const std::int64_t length = level.kind == LevelKind::n_of_m ? 2 * level.extent : level.extent;
  return level.dimension != Dimension::none && level.stride == 1 &&
         (any_weights_ || reaches_beyond(level.dimension, length)) &&
         std::any_of(levels.begin(), levels.begin() + static_cast<std::ptrdiff_t>(number), of_block);
}

}  // namespace weft
