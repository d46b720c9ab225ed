#include <weft/dsl/errors.h>
#include <weft/formats/level_kind.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/program/build_program.h>
#include <weft/scheduler/program/check_weights.h>
#include <weft/scheduler/program/own_names.h>
#include <weft/scheduler/program/walk_levels.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>

namespace weft {
namespace {

DType value_type(const Algorithm& algorithm) {
  return algorithm.accumulator;
}

/// Sizes at launch for which it is not worth computing with more than 32 bits.
constexpr double usual_extent = 1 << 24;

/// How large sizes that are given at launch may be while 32 bits hold sums of indices, such as 3 * p + r;
/// below 0 where they never do. An index alone always fits, which the launch checks.
double largest_extent(const Algorithm& algorithm, const AffineIndex& index) {
  double known = std::abs(static_cast<double>(index.constant));
  double at_launch = 0;
  for (const auto& [name, coefficient] : index.terms) {
    const Extent& extent = algorithm.index(name).extent;
    const double times = std::abs(static_cast<double>(coefficient));
    (extent.is_static() ? known : at_launch) += extent.is_static() ? times * double(extent.value) : times;
  }
  if (known + at_launch > INT32_MAX) return -1;
  const bool alone = at_launch == 1 && known <= INT32_MAX - ir::largest_32_bit_extent;
  if (at_launch == 0 || alone) return ir::largest_32_bit_extent;
  return std::floor((ir::largest_32_bit_extent - known) / at_launch);
}

double largest_extent(const Algorithm& algorithm, const TensorAccess& access) {
  double largest = ir::largest_32_bit_extent;
  for (const AffineIndex& index : access.indices)
    largest = std::min(largest, largest_extent(algorithm, index));
  return largest;
}

double largest_extent(const Algorithm& algorithm, const Term& term) {
  double largest = ir::largest_32_bit_extent;
  if (term.kind == Term::Kind::access) largest = largest_extent(algorithm, term.access);
  for (const Term& argument : term.arguments)
    largest = std::min(largest, largest_extent(algorithm, argument));
  return largest;
}

class Builder {
 public:
  Builder(const Algorithm& algorithm, const SparseTensor* weights)
      : algorithm_(algorithm), weights_(weights), sparse_(sparse_indices(algorithm)) {
    for (const IndexVariable& index : algorithm.indices) coordinate_[index.name] = ir::variable(index.name);
    any_weights_ = weights != nullptr && algorithm.takes_any_weights();
  }

  ir::Program build() {
    check_weights(algorithm_, weights_);
    make_arguments();
    if (weights_ != nullptr) levels_.emplace(LevelWalk::Operand{algorithm_, *weights_, arrays_, sparse_});
    program_.body = weights_ == nullptr || weights_->row_levels() > 0 ? gather() : scatter();
    program_.name = algorithm_.name;
    double largest = largest_extent(algorithm_, algorithm_.result);
    for (const TensorAccess& factor : algorithm_.factors)
      largest = std::min(largest, largest_extent(algorithm_, factor));
    if (largest < usual_extent)
      program_.index_bits = 64;
    else
      program_.largest_extent = static_cast<std::int64_t>(largest);
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
      auto buffer =
          std::make_shared<ir::Buffer>(*ir::make_buffer(operand.name, operand.dtype, ir::Scope::global,
                                                        !output                     ? ir::Access::read
                                                        : algorithm_.reads_output() ? ir::Access::read_write
                                                                                    : ir::Access::write,
                                                        extents_of(operand)));
      for (std::size_t i = 0; i < operand.strides.size(); ++i) buffer->strides[i] = operand.strides[i];
      buffer->tensor = operand.name;
      operands_.push_back(buffer);
      program_.buffers.push_back(buffer);
    }
    for (const std::string& scalar : algorithm_.scalars)
      program_.scalars.push_back({scalar, value_type(algorithm_)});
  }

  void make_sparse_arguments(const Operand& operand) {
    // Coordinates and positions are not below zero, save the mark of padding; a tensor's check has made sure.
    // What is no list of coordinates fills its words.
    const auto& levels = weights_->levels();
    for (const auto& [name, array] : weights_->arrays()) {
      const bool below_zero = std::ranges::any_of(levels, [&](const Level& level) {
        return (level.padded || any_weights_ || !level_kind(level.kind).listed) && level.index == name;
      });
      std::vector<Expr> shape;
      for (const std::int64_t extent : array.shape()) shape.emplace_back(extent);
      if (any_weights_) {
        const std::string entries = entries_variable(operand.name, name);
        shape.front() = ir::variable(entries);
        program_.extents.push_back({entries, DType::i64});
      }
      auto buffer = std::make_shared<ir::Buffer>(*ir::make_buffer(
          array_buffer_name(operand.name, name), array.dtype(), ir::Scope::global, ir::Access::read, shape,
          !is_float(array.dtype()) && !below_zero && name != "values"));
      buffer->tensor = operand.name;
      if (name == "values") buffer->swizzle = weights_->value_order().swizzle;
      arrays_[name] = buffer;
      program_.buffers.push_back(buffer);
    }
    if (any_weights_ && level_kind(levels.front().kind).counted)
      program_.extents.push_back({outermost_variable(operand.name), DType::i64});
    if (any_weights_) extents_of(operand);
  }

  std::vector<Expr> extents_of(const Operand& operand) {
    std::vector<Expr> shape;
    for (const Extent& extent : operand.shape) {
      shape.push_back(size_of_extent(extent));
      const auto known = [&](const ir::Variable& v) { return v.name == variable_of(extent); };
      if (!extent.is_static() && std::ranges::none_of(program_.extents, known))
        program_.extents.push_back({variable_of(extent), DType::i64});
    }
    return shape;
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

  // ---- the two forms ----

  Stmt loop_over(const std::string& index, Stmt body) const {
    return ir::for_range(ir::variable(index), size_of_extent(algorithm_.index(index).extent),
                         LoopKind::serial, -1, std::move(body), role_of_index(index));
  }

  ir::LoopRole role_of_index(const std::string& index) const {
    if (algorithm_.index(index).reduction) return ir::LoopRole::sum;
    return sparse_.rows == std::vector{index} ? ir::LoopRole::rows : ir::LoopRole::output;
  }

  bool is_row(const std::string& index) const {
    return std::ranges::find(sparse_.rows, index) != sparse_.rows.end();
  }

  std::string name_of_sum() const { return own_name(algorithm_, "sum"); }

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
    const auto sum = ir::make_buffer(name_of_sum(), value_type(algorithm_), ir::Scope::registers,
                                     ir::Access::read_write, {});
    if (weights_ == nullptr) {
      Stmt body = around_sum(sum, dense_reduction(sum), {});
      for (const std::string& index : std::views::reverse(output_indices())) body = loop_over(index, body);
      return body;
    }
    return gather_from(0, LevelPlace{}, sum, false);
  }

  Stmt gather_from(std::size_t next, const LevelPlace& place, const ir::BufferRef& sum, bool rows_done) {
    const auto indices = output_indices();
    if (next == indices.size()) return sum_of_row(place, sum);
    if (!is_row(indices[next])) return loop_over(indices[next], gather_from(next + 1, place, sum, rows_done));
    if (rows_done) return gather_from(next + 1, place, sum, true);
    return levels_->loops(0, weights_->row_levels(), place, [&](const LevelPlace& inner) {
      bind_coordinate(sparse_.rows, inner.row);
      return gather_from(next + 1, inner, sum, true);
    });
  }

  Stmt sum_of_row(const LevelPlace& row, const ir::BufferRef& sum) {
    Stmt update =
        levels_->loops(weights_->row_levels(), weights_->levels().size(), row, [&](const LevelPlace& place) {
          bind_coordinate(sparse_.columns, place.column);
          std::vector<Expr> conditions = place.conditions;
          if (reads_rows()) conditions.insert(conditions.begin(), place.of_row.begin(), place.of_row.end());
          return guarded(conditions, ir::store(sum, {}, product(levels_->value_place(place)), true));
        });
    return around_sum(sum, update, row.of_row);
  }

  /// Whether a dense operand is read by row of the sparse one, as groups of a convolution are.
  bool reads_rows() const {
    return std::ranges::any_of(algorithm_.factors, [&](const TensorAccess& factor) {
      if (algorithm_.operands[factor.operand].storage == Storage::sparse) return false;
      return std::ranges::any_of(factor.indices, [&](const AffineIndex& index) {
        return std::ranges::any_of(index.terms, [&](const auto& term) { return is_row(term.first); });
      });
    });
  }

  /// The result is there where all `conditions` hold; the sum of a row that is none is never looked at.
  Stmt around_sum(const ir::BufferRef& sum, Stmt update, const std::vector<Expr>& conditions) {
    Stmt first = ir::store(sum, {}, ir::constant(value_type(algorithm_), 0));
    Stmt last = ir::if_then(ir::all_of(conditions), result(ir::load(sum, {})));
    return ir::allocate(sum, ir::block({first, std::move(update), last}));
  }

  Stmt dense_reduction(const ir::BufferRef& sum) {
    Stmt body = guarded({}, ir::store(sum, {}, product({}), true));
    for (const IndexVariable& index : std::views::reverse(algorithm_.indices)) {
      if (index.reduction) body = loop_over(index.name, body);
    }
    return body;
  }

  /// Sums in a workspace: the format visits rows in an order of its own.
  Stmt scatter() {
    std::vector<Expr> shape;
    for (const std::string& index : output_indices())
      shape.push_back(size_of_extent(algorithm_.index(index).extent));
    const auto sum = ir::make_buffer(name_of_sum(), value_type(algorithm_), ir::Scope::global,
                                     ir::Access::read_write, shape);
    program_.workspaces.push_back(sum);
    const auto result_place = [&] {
      std::vector<Expr> indices;
      for (const std::string& index : output_indices()) indices.push_back(coordinate_.at(index));
      return indices;
    };
    Stmt first = ir::store(sum, result_place(), ir::constant(value_type(algorithm_), 0));
    Stmt last = result(ir::load(sum, result_place()));
    for (const std::string& row : std::views::reverse(sparse_.rows)) {
      first = loop_over(row, first);
      last = loop_over(row, last);
    }
    Stmt update = levels_->loops(0, weights_->levels().size(), LevelPlace{}, [&](const LevelPlace& place) {
      bind_coordinate(sparse_.rows, place.row);
      bind_coordinate(sparse_.columns, place.column);
      return guarded(place.conditions,
                     ir::store(sum, result_place(), product(levels_->value_place(place)), true));
    });
    Stmt body = ir::block({first, update, last});
    for (const std::string& index : std::views::reverse(output_indices())) {
      if (!is_row(index)) body = loop_over(index, body);
    }
    return body;
  }

  // ---- expressions ----

  Expr affine(const AffineIndex& index) const {
    Expr sum = 0;
    for (const auto& [name, coefficient] : index.terms) sum = sum + coordinate_.at(name) * coefficient;
    return sum + index.constant;
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
      add_bounds(factor, conditions);
    }
    return ir::if_then(ir::all_of(conditions), std::move(body));
  }

  /// That sums of indices stay inside of the operand; an index that stands alone does.
  void add_bounds(const TensorAccess& access, std::vector<Expr>& conditions) const {
    for (std::size_t i = 0; i < access.indices.size(); ++i) {
      if (access.indices[i].plain() != nullptr) continue;
      const Expr index = affine(access.indices[i]);
      conditions.push_back(0 <= index);
      conditions.push_back(index < operands_[access.operand]->shape[i]);
    }
  }

  /// What the epilogue reads, which is zero outside of the operand.
  Expr load_or_zero(const TensorAccess& access) const {
    std::vector<Expr> conditions;
    add_bounds(access, conditions);
    const Expr value = load_access(access);
    return conditions.empty()
               ? value
               : ir::select(ir::all_of(conditions), value, ir::constant(value_type(algorithm_), 0));
  }

  Stmt result(const Expr& sum) {
    const Operand& output = algorithm_.operands[algorithm_.output.operand];
    std::vector<std::pair<std::string, Expr>> lets;
    const Expr value = ir::cast(output.dtype, epilogue(algorithm_.result, sum, lets));
    std::vector<Expr> indices;
    for (const AffineIndex& index : algorithm_.output.indices) indices.push_back(affine(index));
    Stmt stmt = ir::store(operands_[algorithm_.output.operand], indices, value);
    for (const auto& [name, named] : std::views::reverse(lets)) stmt = ir::let(name, named, stmt);
    return stmt;
  }

  /// A value that is used more than once gets a name.
  Expr named(const Expr& value, std::vector<std::pair<std::string, Expr>>& lets) const {
    if (value.as<ir::Constant>() != nullptr) return value;
    lets.emplace_back(own_name(algorithm_, "value" + std::to_string(lets.size())), value);
    return ir::variable(lets.back().first, value.dtype());
  }

  Expr number(double value) const { return ir::constant(value_type(algorithm_), value); }

  /// "erf": erf_f32 or erf_f64 of the instructions.
  Expr of_library(const std::string& function, const Expr& x) const {
    const DType type = value_type(algorithm_);
    return ir::call(function + "_" + std::string(name_of(type)), type, {x});
  }

  /// 1 / (1 + exp(-x)), by which it is 0 or 1 where tanh is -1 or 1.
  Expr logistic(const Expr& x) const {
    return number(0.5) + number(0.5) * of_library("tanh", number(0.5) * x);
  }

  Expr epilogue(const Term& term, const Expr& sum, std::vector<std::pair<std::string, Expr>>& lets) const {
    const DType type = value_type(algorithm_);
    const auto argument = [&](std::size_t i) { return epilogue(term.arguments[i], sum, lets); };
    switch (term.kind) {
      case Term::Kind::sum: return sum;
      case Term::Kind::number: return number(term.number);
      case Term::Kind::scalar: return ir::variable(term.scalar, type);
      case Term::Kind::access: return load_or_zero(term.access);
      case Term::Kind::add: return argument(0) + argument(1);
      case Term::Kind::subtract: return argument(0) - argument(1);
      case Term::Kind::multiply: return argument(0) * argument(1);
      case Term::Kind::divide: return argument(0) / argument(1);
      case Term::Kind::maximum: {
        const Expr x = named(argument(0), lets), y = named(argument(1), lets);
        return ir::select(x < y, y, x);
      }
      case Term::Kind::minimum: {
        const Expr x = named(argument(0), lets), y = named(argument(1), lets);
        return ir::select(y < x, y, x);
      }
      case Term::Kind::relu: {
        const Expr x = named(argument(0), lets);
        return ir::select(x < number(0), number(0), x);
      }
      case Term::Kind::gelu: {
        const Expr x = named(argument(0), lets);
        return number(0.5) * x * (number(1) + of_library("erf", x * number(0.70710678118654752440)));
      }
      case Term::Kind::tanh: return of_library("tanh", named(argument(0), lets));
      case Term::Kind::sigmoid: return logistic(named(argument(0), lets));
      case Term::Kind::silu: {
        const Expr x = named(argument(0), lets);
        return x * logistic(x);
      }
    }
    throw InternalError("an epilogue term of an unknown kind");
  }

  const Algorithm& algorithm_;
  const SparseTensor* weights_;
  ir::Program program_;
  std::vector<ir::BufferRef> operands_;          ///< by operand; null for the sparse one
  std::map<std::string, ir::BufferRef> arrays_;  ///< arrays of the sparse operand
  bool any_weights_ = false;                     ///< sizes and pattern are given at launch
  std::optional<LevelWalk> levels_;              ///< walk over the levels of the sparse operand
  SparseIndices sparse_;
  std::map<std::string, Expr> coordinate_;  ///< value of each index, where the builder stands
};

}  // namespace

std::string row_loop_name(const Algorithm& algorithm) {
  return joined_indices(algorithm, sparse_indices(algorithm).rows);
}

ir::Program build_program(const Algorithm& algorithm, const SparseTensor* weights) {
  return Builder(algorithm, weights).build();
}

}  // namespace weft
