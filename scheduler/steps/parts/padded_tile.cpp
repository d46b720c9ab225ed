#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/build_program.h>
#include <weft/scheduler/steps/parts/padded_tile.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

namespace weft::steps {
namespace {

/// Whether the copy counts the elements of its tile, and fills them all.
bool counts_elements(const ir::Copy& copy) {
  if (copy.coordinates.size() != copy.destination_begin.size() || copy.inside.defined()) return false;
  return std::ranges::all_of(copy.coordinates, [&](const std::string& name) {
    return std::ranges::count_if(copy.destination_begin, [&](const Expr& place) {
             const auto* variable = place.as<ir::Variable>();
             return variable != nullptr && variable->name == name;
           }) == 1;
  });
}

/// The only copy into the tile, where nothing else writes there.
std::optional<ir::Copy> only_copy_into(const ir::Program& program, const ir::BufferRef& tile) {
  const auto copies =
      ir::find_all<ir::Copy>(program.body, [&](const ir::Copy& copy) { return copy.destination == tile; });
  if (copies.size() != 1 || ir::stores_to(program.body, tile)) return std::nullopt;
  const ir::Copy& copy = *copies.front();
  if (counts_elements(copy)) return copy.asynchronous ? std::nullopt : std::optional(copy);
  const bool as_it_is = copy.coordinates.empty() && copy.destination_begin.size() == copy.source_begin.size();
  return as_it_is ? std::optional(copy) : std::nullopt;
}

/// An element of a tile, and where in the operand it comes from.
class PaddedElement {
 public:
  PaddedElement(const ir::Copy& copy, const ir::Load& load, const Coordinates& coordinates, ir::Ranges ranges)
      : copy_(copy), coordinates_(coordinates), ranges_(std::move(ranges)) {
    if (copy.coordinates.empty())
      take(load);
    else
      take_counted(load);
  }

  /// Whether the copy filled the place, whatever the loops and coordinates are.
  bool is_copied() const { return copied_; }

  /// Whether the element lies outside of the operand where the comparison does not hold.
  bool is_bound(const Expr& comparison) const {
    const auto bound = ir::bound_of(comparison);
    if (!bound) return false;
    const Expr index = ir::linear(bound->index).expr();
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const ir::Bound own{sources_[i], copy_.source->shape[i]};
      const auto is_of = [&](const ir::Bound& other) {
        return ir::same(index, ir::linear(other.index).expr()) &&
               (!bound->end.defined() || ir::same(bound->end, other.end));
      };
      if (is_of(own) || is_of(ir::undivided(own))) return true;
    }
    return false;
  }

 private:
  void take(const ir::Load& load) {
    for (std::size_t i = 0; i < copy_.source_begin.size(); ++i) {
      const Expr place = load.indices[i] - copy_.destination_begin[i];
      copied_ = copied_ && holds(0 <= place) && holds(place < copy_.extents[i]);
      sources_.push_back(ir::linear(place + copy_.source_begin[i]).expr());
    }
  }

  void take_counted(const ir::Load& load) {
    ir::Substitution own;
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
      const std::string& name = copy_.destination_begin[i].as<ir::Variable>()->name;
      const auto coordinate = std::ranges::find(copy_.coordinates, name) - copy_.coordinates.begin();
      copied_ = copied_ && holds(0 <= load.indices[i]) && holds(load.indices[i] < copy_.extents[coordinate]);
      own[name] = load.indices[i];
    }
    for (const Expr& source : copy_.source_begin)
      sources_.push_back(ir::linear(ir::substitute(source, own)).expr());
  }

  bool holds(const Expr& condition) {
    const Expr named = coordinates_.named(condition, ranges_);
    return ir::always(named, ranges_);
  }

  const ir::Copy& copy_;
  const Coordinates& coordinates_;
  ir::Ranges ranges_;
  std::vector<Expr> sources_;
  bool copied_ = true;
};

/// Of a nest that holds nothing else: the addition to a sum; else null. Not of loops whose ends are read,
/// which conditions around them may protect.
const ir::Store* only_addition(const Stmt& stmt) {
  if (const auto* loop = stmt.as<ir::For>())
    return ir::reads_memory(loop->begin) || ir::reads_memory(loop->extent) ? nullptr
                                                                           : only_addition(loop->body);
  const auto* branch = stmt.as<ir::If>();
  if (branch != nullptr) return branch->otherwise.defined() ? nullptr : only_addition(branch->then);
  const auto* store = stmt.as<ir::Store>();
  return store != nullptr && store->accumulate ? store : nullptr;
}

/// The weight, where the value is one times an element of a tile of the operand; else null.
const ir::Load* weight_of(const Expr& value, const std::string& operand, const std::string& weights) {
  const auto* product = ir::as_binary(value, ir::BinaryOperator::multiply);
  if (product == nullptr) return nullptr;
  const ir::Load* const left = ir::loaded(product->left);
  const ir::Load* const right = ir::loaded(product->right);
  if (left == nullptr || right == nullptr) return nullptr;
  const auto is_tile = [&](const ir::Load& load) {
    return load.buffer->tensor == operand && load.buffer->scope == ir::Scope::shared;
  };
  if (left->buffer->name == weights && is_tile(*right)) return left;
  return right->buffer->name == weights && is_tile(*left) ? right : nullptr;
}

/// Whether an element is read wherever the loops are: what a row keeps is as long as they say, but rows of
/// dense weights end, the last one with the array, where a condition has them end.
bool is_there(const ir::Load& load, const ir::Ranges& ranges) {
  for (std::size_t i = 0; i < load.indices.size(); ++i) {
    const std::int64_t* const extent = ir::integer_value(load.buffer->shape[i]);
    const auto last = ir::range_of(load.indices[i], ranges).maximum;
    if (extent != nullptr && last && *last >= *extent) return false;
  }
  return true;
}

bool all_finite(const Array& values) {
  for (std::int64_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values.get(i))) return false;
  }
  return true;
}

}  // namespace

ir::Program without_conditions_of_padding(ir::Program program, const std::string& operand,
                                          const StepContext& context) {
  const Operand* const sparse = context.algorithm.sparse_operand();
  const bool known =
      sparse != nullptr && context.weights != nullptr && !context.algorithm.takes_any_weights();
  if (!known || !all_finite(context.weights->array("values"))) return program;
  const std::string weights = array_buffer_name(sparse->name, "values");
  const Coordinates coordinates(context);
  // Those about the result alone say how long its vectors are.
  std::vector<std::string> sums = ir::loop_names(program.body);
  std::erase_if(sums,
                [&](const std::string& name) { return ir::is_over_output(ir::role_of(program.body, name)); });
  const auto is_of_sum = [&](const Expr& condition) {
    return std::ranges::any_of(sums, [&](const std::string& name) { return ir::uses(condition, name); });
  };
  const ir::Ranges ranges = ir::loop_ranges(program.body);
  program.body = ir::rewrite<ir::If>(program.body, [&](const ir::If& branch, const Stmt& s) {
    const ir::Store* const addition = only_addition(s);
    const ir::Load* const weight =
        addition == nullptr ? nullptr : weight_of(addition->value, operand, weights);
    if (weight == nullptr || !is_there(*weight, ranges)) return s;
    NeededConditions conditions =
        needed_conditions(program, coordinates, {branch.condition}, addition->value);
    if (std::ranges::none_of(conditions.of_padding, is_of_sum)) return s;
    std::ranges::remove_copy_if(conditions.of_padding, std::back_inserter(conditions.needed), is_of_sum);
    return ir::if_all(conditions.needed, branch.then);
  });
  return program;
}

NeededConditions needed_conditions(const ir::Program& program, const Coordinates& coordinates,
                                   const std::vector<Expr>& conditions, const Expr& value) {
  const NeededConditions all{conditions, {}};
  const auto loads = ir::find_all<ir::Load>(
      value, [](const ir::Load& load) { return load.buffer->scope == ir::Scope::shared; });
  if (loads.size() != 1) return all;
  const auto copy = only_copy_into(program, loads.front()->buffer);
  if (!copy) return all;
  const PaddedElement element(*copy, *loads.front(), coordinates, ir::loop_ranges(program.body));
  if (!element.is_copied()) return all;
  NeededConditions result;
  for (const Expr& condition : conditions) {
    for (const Expr& part : ir::conjuncts_of(condition))
      (element.is_bound(part) ? result.of_padding : result.needed).push_back(part);
  }
  return result;
}

}  // namespace weft::steps
