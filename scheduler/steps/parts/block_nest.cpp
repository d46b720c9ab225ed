#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>
#include <weft/scheduler/hardware/instructions/swmma.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/launch_sizes.h>
#include <weft/scheduler/steps/parts/block_nest.h>
#include <weft/scheduler/steps/parts/stored_nest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>

namespace weft::steps {
namespace {

constexpr std::size_t loops_of_nest = 3;

bool counts(const ir::For& loop, std::int64_t number) {
  const auto known = ir::constant_iterations(loop);
  return loop.kind == LoopKind::serial && known && known->begin == 0 && known->extent == number;
}

class BlockNest {
 public:
  BlockNest(const ir::Chain& chain, const ir::Store& store, const StepContext& context)
      : chain_(chain), store_(store), context_(context) {}

  std::variant<TensorNest, Reason> operator()() {
    if (auto refused = check_format()) return *refused;
    if (auto refused = take_factors()) return *refused;
    if (auto refused = take_loops()) return *refused;
    if (auto refused = check_right()) return *refused;
    if (auto refused = check_conditions()) return *refused;
    nest_.kept = kept_dimensions(store_, nest_.rows, nest_.columns);
    return std::move(nest_);
  }

 private:
  static Reason refused(std::string found, std::string accepted) {
    return Reason{10, std::move(found), std::move(accepted), {}};
  }

  std::optional<Reason> check_format() const {
    const SparseTensor* weights = context_.weights;
    if (weights != nullptr && weights->levels().back().kind == LevelKind::bucketed) {
      const Level& places = weights->levels().back();
      const Level& blocks = *std::prev(weights->levels().end(), 2);
      // Empty blocks, which a dense level of blocks stores, have no width that an instruction has.
      if (places.extent == swmma_block && places.width_step == 4 && blocks.kind == LevelKind::compressed)
        return std::nullopt;
    }
    return refused(weights == nullptr ? "no weights" : "weights in " + weights->format().text(),
                   "weights in hb_ell:step=4, blocks of 16 x 16, without every: pack(weights, "
                   "parse_format(\"hb_ell:step=4\"))");
  }

  std::optional<Reason> take_factors() {
    const auto factors = stored_factors_of(store_, context_);
    if (!factors)
      return refused(ir::print(chain_.core),
                     "a product of a stored value and one of a dense matrix: sum(k, A(m, k) * B(k, n))");
    nest_.sum = store_.buffer;
    nest_.left = factors->stored;
    nest_.right = factors->dense;
    stored_ = factors->value;
    return std::nullopt;
  }

  std::optional<Reason> take_loops() {
    const std::string found = names_of(chain_.loops);
    std::string accepted = "loops over the 16 rows, 16 columns and the places of a block, in this order";
    if (chain_.loops.size() != loops_of_nest)
      return refused(found,
                     accepted + ": .split(n = 16) and .reorder first, the other loops outside of these");
    if (take_loops_in_order({0, 1, 2})) return std::nullopt;
    std::array<std::size_t, loops_of_nest> order{0, 1, 2};
    while (std::ranges::next_permutation(order).found) {
      if (!take_loops_in_order(order)) continue;
      return refused(found, accepted + ": " +
                                written("reorder", {nest_.rows.name, nest_.columns.name, nest_.depth.name}) +
                                " first");
    }
    for (const ir::For& loop : chain_.loops) {
      if (ir::is_over_output(loop.role) && !counts(loop, swmma_block))
        accepted += fmt::format(": {} first, {}.outer outside of these", split_text(loop.name, swmma_block),
                                loop.name);
    }
    return refused(found, accepted);
  }

  /// Whether the loops of those numbers go over rows, columns and places of a block.
  bool take_loops_in_order(const std::array<std::size_t, loops_of_nest>& order) {
    nest_.rows = chain_.loops[order[0]];
    nest_.columns = chain_.loops[order[1]];
    nest_.depth = chain_.loops[order[2]];
    const auto uses = [](const ir::Load& load, const ir::For& loop) {
      return std::ranges::any_of(load.indices, [&](const Expr& index) { return ir::uses(index, loop.name); });
    };
    return counts(nest_.rows, swmma_block) && counts(nest_.columns, swmma_block) &&
           uses(nest_.left, nest_.rows) && !uses(nest_.left, nest_.columns) &&
           uses(nest_.left, nest_.depth) && uses(nest_.right, nest_.columns) &&
           uses(nest_.right, nest_.depth);
  }

  /// Neighbouring columns of the tile are neighbours in memory.
  std::optional<Reason> check_right() const {
    const ir::Load& right = nest_.right;
    const auto at = [&](std::int64_t column) {
      const Expr of_column = ir::rewrite<ir::Variable>(
          right.indices.back(),
          [&](const ir::Variable& variable) { return variable.name == nest_.columns.name ? column : 0; });
      const Expr simple = ir::simplify(of_column, {});
      const std::int64_t* value = ir::integer_value(simple);
      return value == nullptr ? -1 : *value;
    };
    const std::int64_t* stride = ir::integer_value(right.buffer->strides.back());
    const bool fits = right.buffer->scope == ir::Scope::global && right.indices.size() == 2 &&
                      stride != nullptr && *stride == 1 &&
                      !ir::uses(right.indices.front(), nest_.columns.name) &&
                      !ir::uses(right.indices.back(), nest_.depth.name) && at(0) == 0 && at(1) == 1;
    if (fits) return std::nullopt;
    return refused(fmt::format("{}[{}, {}]", right.buffer->name, ir::print(right.indices.front()),
                               ir::print(right.indices.back())),
                   right.buffer->scope == ir::Scope::global
                       ? fmt::format("a row-major matrix, Tensor<f16, 2>(\"{}\", {{K, N}}) read as {}(k, n)",
                                     right.buffer->name, right.buffer->name)
                       : "a row-major matrix in global memory: no .stage or .stitch of it");
  }

  std::optional<Reason> check_conditions() const {
    if (const auto other = other_condition(chain_, [&](const Expr& each) { return is_of_instruction(each); }))
      return refused("the sum asks " + ir::print(*other), conditions_of_formats);
    return std::nullopt;
  }

  bool is_of_instruction(const Expr& condition) const {
    const auto* test = condition.as<ir::Binary>();
    if (test == nullptr) return false;
    if (test->op == ir::BinaryOperator::not_equal)
      return ir::same(test->left, stored_) || ir::same(test->right, stored_);
    if (test->op != ir::BinaryOperator::less) return false;
    for (std::size_t i = 0; i < nest_.right.indices.size(); ++i) {
      if (ir::same(ir::simplify(test->left, {}), ir::simplify(nest_.right.indices[i], {})) &&
          ir::same(test->right, nest_.right.buffer->shape[i]))
        return true;
    }
    return false;
  }

  const ir::Chain& chain_;
  const ir::Store& store_;
  const StepContext& context_;
  TensorNest nest_;
  Expr stored_;  ///< the factor from the weights
};

}  // namespace

Stmt loops_of_block(const Stmt& nest) {
  return innermost_loops(nest, loops_of_nest);
}

std::variant<TensorNest, Reason> block_nest_of(const ir::Chain& chain, const ir::Store& store,
                                               const StepContext& context) {
  return BlockNest(chain, store, context)();
}

Stmt with_uniform_numbers(const Stmt& stmt, const StepContext& context) {
  const SparseTensor& weights = *context.weights;
  const Level& places = weights.levels().back();
  const Level& blocks = *std::prev(weights.levels().end(), 2);
  const auto widths = weights.array(places.width).as<std::int32_t>();
  // Offsets of four bits stay behind the question for the width.
  if (!places.one_width || widths.empty() || places.index_bits == 4) return stmt;
  const std::int64_t rows = weights.levels().front().extent;
  const std::int64_t in_row = std::ssize(widths) / rows;
  const std::int64_t pieces = in_row / ceil_divide(weights.columns(), swmma_block);
  const std::string& operand = context.algorithm.sparse_operand()->name;
  const std::map<std::string, std::function<Expr(const Expr&)>> numbers{
      {blocks.begin, [=](const Expr& row) { return row * in_row; }},
      {blocks.index, [=](const Expr& block) { return block % in_row / pieces; }},
      {places.width, [=](const Expr&) { return widths.front(); }},
      {places.begin, [=](const Expr& block) { return block * (swmma_block * widths.front()); }}};
  return ir::rewrite<ir::Load>(stmt, [&](const ir::Load& load, const Expr& e) {
    for (const auto& [array, number] : numbers) {
      if (load.buffer->name == array_buffer_name(operand, array)) return number(load.indices.front());
    }
    return e;
  });
}

}  // namespace weft::steps
