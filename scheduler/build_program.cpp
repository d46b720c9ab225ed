#include <weft/dsl/errors.h>
#include <weft/formats/kept_slots.h>
#include <weft/scheduler/build_program.h>
#include <weft/scheduler/check_weights.h>
#include <weft/scheduler/instructions.h>

#include <algorithm>
#include <functional>
#include <map>

namespace weft {
namespace {

using ir::Expr;
using ir::Stmt;

DType value_type(const Algorithm& algorithm) {
  return algorithm.accumulator;
}

std::string joined(const std::vector<std::string>& names) {
  std::string result;
  for (const std::string& name : names) result += (result.empty() ? "" : "_") + name;
  return result;
}

class Builder {
 public:
  Builder(const Algorithm& algorithm, const SparseTensor* weights)
      : algorithm_(algorithm), weights_(weights) {
    for (const IndexVariable& index : algorithm.indices) coordinate_[index.name] = ir::variable(index.name);
    any_weights_ = weights != nullptr && algorithm.takes_any_weights();
  }

  ir::Program build() {
    check_weights(algorithm_, weights_);
    make_arguments();
    split_sparse_indices();
    row_levels_ = weights_ == nullptr ? 0 : weights_->row_levels();
    program_.body = weights_ == nullptr || row_levels_ > 0 ? gather() : scatter();
    program_.name = algorithm_.name;
    return std::move(program_);
  }

 private:
  void make_arguments() {
    for (const Operand& operand : algorithm_.operands) {
      const bool output = &operand == &algorithm_.operands[algorithm_.output.operand];
      if (operand.storage == Storage::sparse) {
        make_sparse_arguments(operand);
        operands_.push_back(nullptr);
        continue;
      }
      auto buffer = std::make_shared<ir::Buffer>(
          *ir::make_buffer(operand.name, operand.dtype, ir::Scope::global,
                           !output                           ? ir::Access::read
                           : reads_output(algorithm_.result) ? ir::Access::read_write
                                                             : ir::Access::write,
                           extents_of(operand)));
      for (std::size_t i = 0; i < operand.strides.size(); ++i)
        buffer->strides[i] = ir::integer(operand.strides[i]);
      operands_.push_back(buffer);
      program_.buffers.push_back(buffer);
    }
    for (const std::string& scalar : algorithm_.scalars)
      program_.scalars.push_back({scalar, value_type(algorithm_)});
  }

  void make_sparse_arguments(const Operand& operand) {
    // Coordinates and positions are not below zero, save the mark of padding; a tensor's check has made sure.
    // Codes fill their words.
    const auto& levels = weights_->levels();
    for (const auto& [name, array] : weights_->arrays()) {
      const bool below_zero = std::any_of(levels.begin(), levels.end(), [&](const Level& level) {
        return (level.padded || any_weights_ || level.kind == LevelKind::n_of_m) && level.index == name;
      });
      std::vector<Expr> shape;
      for (const std::int64_t extent : array.shape()) shape.emplace_back(extent);
      if (any_weights_) {
        const std::string entries = entries_variable(operand.name, name);
        shape.front() = ir::variable(entries);
        program_.extents.push_back({entries, DType::i64});
      }
      auto buffer = std::make_shared<ir::Buffer>(
          *ir::make_buffer(array_buffer_name(operand.name, name), array.dtype(), ir::Scope::global,
                           ir::Access::read, shape, !is_float(array.dtype()) && !below_zero));
      if (name == "values") buffer->swizzle = weights_->value_order().swizzle;
      arrays_[name] = buffer;
      program_.buffers.push_back(buffer);
    }
    if (any_weights_ && levels.front().kind == LevelKind::dense)
      program_.extents.push_back({outermost_variable(operand.name), DType::i64});
    if (any_weights_) extents_of(operand);
  }

  std::vector<Expr> extents_of(const Operand& operand) {
    std::vector<Expr> shape;
    for (const Extent& extent : operand.shape) {
      shape.push_back(size_of_extent(extent));
      const auto known = [&](const ir::Variable& v) { return v.name == variable_of(extent); };
      if (!extent.is_static() && std::none_of(program_.extents.begin(), program_.extents.end(), known)) {
        program_.extents.push_back({variable_of(extent), DType::i64});
      }
    }
    return shape;
  }

  bool reads_output(const Term& term) const {
    if (term.kind == Term::Kind::access && term.access.operand == algorithm_.output.operand) return true;
    return std::any_of(term.arguments.begin(), term.arguments.end(),
                       [&](const Term& argument) { return reads_output(argument); });
  }

  /// The indices of the sparse operand's rows and columns, outermost first.
  void split_sparse_indices() {
    for (const TensorAccess& factor : algorithm_.factors) {
      if (algorithm_.operands[factor.operand].storage != Storage::sparse) continue;
      for (const AffineIndex& index : factor.indices) {
        const IndexVariable& variable = algorithm_.index(*index.plain());
        (variable.reduction ? columns_ : rows_).push_back(variable.name);
      }
    }
  }

  /// The index expressions that a row or column number stands for; the last index runs fastest.
  void bind_coordinate(const std::vector<std::string>& indices, const Expr& number) {
    Expr rest = number;
    for (std::size_t i = indices.size(); i-- > 0;) {
      if (i == 0) {
        coordinate_[indices[i]] = rest;
        break;
      }
      const Expr extent = size_of_extent(algorithm_.index(indices[i]).extent);
      coordinate_[indices[i]] = rest % extent;
      rest = rest / extent;
    }
  }

  // ---- walking the levels ----

  struct Walk {
    std::vector<Expr> position;  ///< of each level so far
    std::vector<Expr> child;     ///< its number among the children of a parent, of dense levels
    Expr row = ir::integer(0);
    Expr column = ir::integer(0);
    std::vector<Expr> of_row;      ///< conditions for a row to exist
    std::vector<Expr> conditions;  ///< for a place to hold an entry

    Expr parent_of(const Level& level) const {
      if (level.parent >= 0) return position[static_cast<std::size_t>(level.parent)];
      return position.empty() ? ir::integer(0) : position.back();
    }
  };

  std::string loop_name(std::size_t number, bool stored) {
    const Level& level = weights_->levels()[number];
    const bool of_row = number < row_levels_ || level.dimension == Dimension::row;
    const std::string base = joined(of_row ? rows_ : columns_);
    if (!level.loop.empty()) return base + "." + level.loop;
    const std::string name = of_row && stored ? base + ".stored" : base;
    const int count = ++used_names_[name];
    return count == 1 ? name : name + "." + std::to_string(count);
  }

  /// Loops over the levels from `first` on, around `body`.
  Stmt walk_levels(std::size_t first, std::size_t last, Walk walk,
                   const std::function<Stmt(const Walk&)>& body) {
    if (first == last) return body(walk);
    const Level& level = weights_->levels()[first];
    const bool of_row = first < row_levels_;
    const auto meet = [&](const Expr& coordinate) {
      Expr& sum = level.dimension == Dimension::row ? walk.row : walk.column;
      if (level.dimension != Dimension::none) sum = sum + coordinate * ir::integer(level.stride);
      const bool listed = !level.index.empty() && level.kind != LevelKind::n_of_m;
      if (level.padded || (any_weights_ && listed))
        (of_row ? walk.of_row : walk.conditions).push_back(ir::integer(0) <= coordinate);
      if (ends_blocks(first))
        (of_row ? walk.of_row : walk.conditions).push_back(sum < extent_of(level.dimension));
    };
    const Expr parent = walk.parent_of(level);
    if (level.kind == LevelKind::bucketed) return walk_buckets(first, std::move(walk), body);
    if (level.kind == LevelKind::singleton) {
      meet(ir::load(arrays_.at(level.index), {parent}));
      walk.position.push_back(parent);
      walk.child.emplace_back();
      return walk_levels(first + 1, last, walk, body);
    }
    const bool dense = level.kind == LevelKind::dense;
    const bool kept = level.kind == LevelKind::n_of_m;
    const std::string name = loop_name(first, !dense);
    const Expr variable = ir::variable(name);
    ir::For loop;
    loop.name = name;
    if (dense) {
      loop.begin = ir::integer(0);
      loop.extent = first == 0 && any_weights_
                        ? ir::variable(outermost_variable(algorithm_.sparse_operand()->name))
                        : ir::integer(level.extent);
      walk.position.push_back(parent * loop.extent + variable);
      walk.child.push_back(variable);
      meet(variable);
    } else if (kept) {
      loop.begin = ir::integer(0);
      loop.extent = ir::integer(level.extent);
      const Expr slot = kept_slot(level, walk, parent, variable);
      walk.position.push_back(parent * ir::integer(2 * level.extent) + slot);
      walk.child.push_back(variable);
      meet(slot);
    } else {
      loop.begin = ir::load(arrays_.at(level.begin), {parent});
      loop.extent = ir::load(arrays_.at(level.begin), {parent + 1}) - loop.begin;
      walk.position.push_back(variable);
      walk.child.emplace_back();
      if (!level.index.empty()) meet(ir::load(arrays_.at(level.index), {variable}));
    }
    loop.body = walk_levels(first + 1, last, walk, body);
    return ir::for_loop(std::move(loop));
  }

  /// The slot of a kept place, by its code.
  Expr kept_slot(const Level& level, const Walk& walk, const Expr& block, const Expr& place) const {
    const auto rows = static_cast<std::size_t>(weights_->value_order().levels.at(1));
    const Expr& row = walk.child.at(rows);
    const CodePlace<Expr> at = code_place(row, place);
    return ir::call(std::string(weft::kept_slot), DType::i64,
                    {ir::load(arrays_.at(level.index), {block, at.tile, at.step, at.lane}), row, place});
  }

  /// The last level: places whose value is zero take no part.
  Stmt walk_buckets(std::size_t number, Walk walk, const std::function<Stmt(const Walk&)>& body) {
    const Level& level = weights_->levels()[number];
    const Expr parent = walk.parent_of(level);
    const Expr width = ir::load(arrays_.at(level.width), {parent});
    const std::string name = loop_name(number, false);
    const Expr variable = ir::variable(name);
    const Expr position = ir::load(arrays_.at(level.begin), {parent}) +
                          walk.child.at(static_cast<std::size_t>(level.across)) * width + variable;
    const Expr coordinate =
        ir::select(ir::equal(width, ir::integer(level.extent)), variable, stored_number(level, position));
    walk.position.push_back(position);
    walk.child.push_back(variable);
    walk.column = walk.column + coordinate * ir::integer(level.stride);
    if (any_weights_ || weights_->columns() % level.extent != 0)
      walk.conditions.push_back(walk.column < extent_of(Dimension::column));
    const DType type = value_type(algorithm_);
    const Expr value = ir::cast(type, ir::load(arrays_.at("values"), {position}));
    walk.conditions.push_back(ir::binary(ir::BinaryOperator::not_equal, value, ir::constant(type, 0)));
    return ir::for_loop({name, ir::integer(0), width, ir::LoopKind::serial, -1, body(walk)});
  }

  /// An element of the index array of a level, of which each byte may hold two.
  Expr stored_number(const Level& level, const Expr& position) const {
    const ir::BufferRef& index = arrays_.at(level.index);
    if (level.index_bits == 8) return ir::load(index, {position});
    const Expr byte = ir::load(index, {position / ir::integer(2)});
    return ir::select(ir::equal(position % ir::integer(2), ir::integer(0)), byte % ir::integer(16),
                      byte / ir::integer(16));
  }

  Expr extent_of(Dimension dimension) const {
    const bool row = dimension == Dimension::row;
    if (!any_weights_) return ir::integer(row ? weights_->rows() : weights_->columns());
    Expr product = ir::integer(1);
    for (const std::string& index : row ? rows_ : columns_)
      product = product * size_of_extent(algorithm_.index(index).extent);
    return product;
  }

  /// Whether blocks of that length, of which there may be more than the matrix asks for, reach beyond it.
  bool reaches_beyond(Dimension dimension, std::int64_t length) const {
    const std::int64_t extent = dimension == Dimension::row ? weights_->rows() : weights_->columns();
    return extent % length != 0 || std::ranges::any_of(weights_->levels(), [&](const Level& level) {
             return level.kind == LevelKind::dense && level.dimension == dimension &&
                    level.extent * level.stride > extent;
           });
  }

  /// Whether the level is the innermost of a dimension whose last block reaches beyond the matrix.
  bool ends_blocks(std::size_t number) const {
    const auto& levels = weights_->levels();
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

  /// The indices of the value in "values".
  std::vector<Expr> value_place(const Walk& walk) const {
    const std::vector<int>& order = weights_->value_order().levels;
    if (order.empty()) return {walk.position.back()};
    std::vector<Expr> place{walk.position.at(static_cast<std::size_t>(order.front()))};
    for (std::size_t i = 1; i < order.size(); ++i)
      place.push_back(walk.child.at(static_cast<std::size_t>(order[i])));
    return place;
  }

  // ---- the two forms ----

  Stmt loop_over(const std::string& index, Stmt body) const {
    return ir::for_loop({index, ir::integer(0), size_of_extent(algorithm_.index(index).extent),
                         ir::LoopKind::serial, -1, std::move(body)});
  }

  bool is_row(const std::string& index) const {
    return std::find(rows_.begin(), rows_.end(), index) != rows_.end();
  }

  std::vector<std::string> output_indices() const {
    std::vector<std::string> result;
    for (const IndexVariable& index : algorithm_.indices) {
      if (!index.reduction) result.push_back(index.name);
    }
    return result;
  }

  /// Loops over output indices in the output's order; the format's row levels stand where the first row index
  /// stands.
  Stmt gather() {
    const auto sum =
        ir::make_buffer("sum", value_type(algorithm_), ir::Scope::registers, ir::Access::read_write, {});
    if (weights_ == nullptr) {
      Stmt body = around_sum(sum, dense_reduction(sum), {});
      const auto indices = output_indices();
      for (auto index = indices.rbegin(); index != indices.rend(); ++index) body = loop_over(*index, body);
      return body;
    }
    return gather_from(0, Walk{}, sum, false);
  }

  Stmt gather_from(std::size_t next, const Walk& walk, const ir::BufferRef& sum, bool rows_done) {
    const auto indices = output_indices();
    if (next == indices.size()) return sum_of_row(walk, sum);
    if (!is_row(indices[next])) return loop_over(indices[next], gather_from(next + 1, walk, sum, rows_done));
    if (rows_done) return gather_from(next + 1, walk, sum, true);
    return walk_levels(0, row_levels_, walk, [&](const Walk& inner) {
      bind_coordinate(rows_, inner.row);
      return gather_from(next + 1, inner, sum, true);
    });
  }

  Stmt sum_of_row(const Walk& row, const ir::BufferRef& sum) {
    Stmt update = walk_levels(row_levels_, weights_->levels().size(), row, [&](const Walk& walk) {
      bind_coordinate(columns_, walk.column);
      std::vector<Expr> conditions = walk.conditions;
      if (reads_rows()) conditions.insert(conditions.begin(), walk.of_row.begin(), walk.of_row.end());
      return guarded(conditions, ir::store(sum, {}, product(value_place(walk)), true));
    });
    return around_sum(sum, update, row.of_row);
  }

  /// Whether a dense operand is read by row of the sparse one, as groups of a convolution are.
  bool reads_rows() const {
    return std::any_of(algorithm_.factors.begin(), algorithm_.factors.end(), [&](const TensorAccess& factor) {
      if (algorithm_.operands[factor.operand].storage == Storage::sparse) return false;
      return std::any_of(factor.indices.begin(), factor.indices.end(), [&](const AffineIndex& index) {
        return std::any_of(index.terms.begin(), index.terms.end(),
                           [&](const auto& term) { return is_row(term.first); });
      });
    });
  }

  /// The result is there where all `conditions` hold; the sum of a row that is none is never looked at.
  Stmt around_sum(const ir::BufferRef& sum, Stmt update, const std::vector<Expr>& conditions) {
    Stmt first = ir::store(sum, {}, ir::constant(value_type(algorithm_), 0));
    Stmt last = ir::if_then(all_of(conditions), result(ir::load(sum, {})));
    return ir::allocate(sum, ir::block({first, std::move(update), last}));
  }

  static Expr all_of(const std::vector<Expr>& conditions) {
    Expr all = ir::boolean(true);
    for (const Expr& condition : conditions) all = all && condition;
    return all;
  }

  Stmt dense_reduction(const ir::BufferRef& sum) {
    Stmt body = guarded({}, ir::store(sum, {}, product({}), true));
    for (auto index = algorithm_.indices.rbegin(); index != algorithm_.indices.rend(); ++index) {
      if (index->reduction) body = loop_over(index->name, body);
    }
    return body;
  }

  /// Sums in a workspace: the format visits rows in an order of its own.
  Stmt scatter() {
    std::vector<Expr> shape;
    for (const std::string& index : output_indices())
      shape.push_back(size_of_extent(algorithm_.index(index).extent));
    const auto sum =
        ir::make_buffer("sum", value_type(algorithm_), ir::Scope::global, ir::Access::read_write, shape);
    program_.workspaces.push_back(sum);
    const auto place = [&] {
      std::vector<Expr> indices;
      for (const std::string& index : output_indices()) indices.push_back(coordinate_.at(index));
      return indices;
    };
    Stmt first = ir::store(sum, place(), ir::constant(value_type(algorithm_), 0));
    Stmt last = result(ir::load(sum, place()));
    for (auto row = rows_.rbegin(); row != rows_.rend(); ++row) {
      first = loop_over(*row, first);
      last = loop_over(*row, last);
    }
    Stmt update = walk_levels(0, weights_->levels().size(), Walk{}, [&](const Walk& walk) {
      bind_coordinate(rows_, walk.row);
      bind_coordinate(columns_, walk.column);
      return guarded(walk.conditions, ir::store(sum, place(), product(value_place(walk)), true));
    });
    Stmt body = ir::block({first, update, last});
    const auto indices = output_indices();
    for (auto index = indices.rbegin(); index != indices.rend(); ++index) {
      if (!is_row(*index)) body = loop_over(*index, body);
    }
    return body;
  }

  // ---- expressions ----

  Expr affine(const AffineIndex& index) const {
    Expr sum = ir::integer(0);
    for (const auto& [name, coefficient] : index.terms)
      sum = sum + coordinate_.at(name) * ir::integer(coefficient);
    return sum + ir::integer(index.constant);
  }

  Expr load_access(const TensorAccess& access) const {
    std::vector<Expr> indices;
    for (const AffineIndex& index : access.indices) indices.push_back(affine(index));
    return ir::cast(value_type(algorithm_), ir::load(operands_[access.operand], indices));
  }

  /// `place` in "values", of a sparse operand.
  Expr product(const std::vector<Expr>& place) const {
    Expr result;
    for (const TensorAccess& factor : algorithm_.factors) {
      const bool sparse = algorithm_.operands[factor.operand].storage == Storage::sparse;
      const Expr value = sparse ? ir::cast(value_type(algorithm_), ir::load(arrays_.at("values"), place))
                                : load_access(factor);
      result = result.defined() ? result * value : value;
    }
    return result;
  }

  /// `body` where every condition holds and every affine access is inside its operand.
  Stmt guarded(std::vector<Expr> conditions, Stmt body) const {
    for (const TensorAccess& factor : algorithm_.factors) {
      if (algorithm_.operands[factor.operand].storage == Storage::sparse) continue;
      for (std::size_t i = 0; i < factor.indices.size(); ++i) {
        if (factor.indices[i].plain() != nullptr) continue;
        const Expr index = affine(factor.indices[i]);
        conditions.push_back(ir::integer(0) <= index);
        conditions.push_back(index < operands_[factor.operand]->shape[i]);
      }
    }
    return ir::if_then(all_of(conditions), std::move(body));
  }

  Stmt result(const Expr& sum) {
    const Operand& output = algorithm_.operands[algorithm_.output.operand];
    std::vector<std::pair<std::string, Expr>> lets;
    const Expr value = ir::cast(output.dtype, epilogue(algorithm_.result, sum, lets));
    std::vector<Expr> indices;
    for (const AffineIndex& index : algorithm_.output.indices) indices.push_back(affine(index));
    Stmt stmt = ir::store(operands_[algorithm_.output.operand], indices, value);
    for (auto binding = lets.rbegin(); binding != lets.rend(); ++binding) {
      stmt = ir::let(binding->first, binding->second, stmt);
    }
    return stmt;
  }

  /// A value that is used more than once gets a name.
  Expr named(const Expr& value, std::vector<std::pair<std::string, Expr>>& lets) const {
    lets.emplace_back("value" + std::to_string(lets.size()), value);
    return ir::variable(lets.back().first, value.dtype());
  }

  Expr epilogue(const Term& term, const Expr& sum, std::vector<std::pair<std::string, Expr>>& lets) const {
    const DType type = value_type(algorithm_);
    const auto argument = [&](std::size_t i) { return epilogue(term.arguments[i], sum, lets); };
    switch (term.kind) {
      case Term::Kind::sum:
        return sum;
      case Term::Kind::number:
        return ir::constant(type, term.number);
      case Term::Kind::scalar:
        return ir::variable(term.scalar, type);
      case Term::Kind::access:
        return load_access(term.access);
      case Term::Kind::add:
        return argument(0) + argument(1);
      case Term::Kind::subtract:
        return argument(0) - argument(1);
      case Term::Kind::multiply:
        return argument(0) * argument(1);
      case Term::Kind::relu: {
        const Expr x = named(argument(0), lets);
        return ir::select(x < ir::constant(type, 0), ir::constant(type, 0), x);
      }
      case Term::Kind::gelu: {
        const Expr x = named(argument(0), lets);
        const Expr erf = ir::call(type == DType::f64 ? "erf_f64" : "erf_f32", type,
                                  {x * ir::constant(type, 0.70710678118654752440)});
        return ir::constant(type, 0.5) * x * (ir::constant(type, 1) + erf);
      }
    }
    throw InternalError("an epilogue term of an unknown kind");
  }

  const Algorithm& algorithm_;
  const SparseTensor* weights_;
  ir::Program program_;
  std::vector<ir::BufferRef> operands_;          ///< by operand; null for the sparse one
  std::map<std::string, ir::BufferRef> arrays_;  ///< of the sparse operand
  bool any_weights_ = false;                     ///< sizes and pattern are given at launch
  std::size_t row_levels_ = 0;                   ///< of the weight; 0 where it is not stored row by row
  std::vector<std::string> rows_;
  std::vector<std::string> columns_;
  std::map<std::string, Expr> coordinate_;  ///< of each index of the algorithm, where the builder stands
  std::map<std::string, int> used_names_;
};

}  // namespace

std::string row_loop_name(const Algorithm& algorithm) {
  std::vector<std::string> rows;
  for (const TensorAccess& factor : algorithm.factors) {
    if (algorithm.operands[factor.operand].storage != Storage::sparse) continue;
    for (const AffineIndex& index : factor.indices) {
      if (!algorithm.index(*index.plain()).reduction) rows.push_back(*index.plain());
    }
  }
  return joined(rows);
}

ir::Program build_program(const Algorithm& algorithm, const SparseTensor* weights) {
  return Builder(algorithm, weights).build();
}

}  // namespace weft
