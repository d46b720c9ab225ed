#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/baked_nest.h>
#include <weft/scheduler/steps/parts/loops.h>

#include <algorithm>
#include <functional>

namespace weft::steps {
namespace {

constexpr std::int64_t most_blocks = 1 << 16;  ///< blocks of rows: leaves of the tree of conditions

/// The loops around the only one of that name, outermost first.
std::vector<ir::For> loops_around(const Stmt& body, const std::string& name) {
  std::vector<ir::For> around;
  ir::each<ir::For>(body, [&](const ir::For& loop) {
    if (find_loop(loop.body, name) != nullptr) around.push_back(loop);
  });
  return around;
}

class NestFinder {
 public:
  NestFinder(const ir::Program& program, const KnownWeights& weights, const StepContext& context,
             std::string loop)
      : program_(program),
        weights_(weights),
        target_(context.target),
        loop_(std::move(loop)),
        scattered_(context.weights->row_levels() == 0) {}

  std::variant<BakedNest, Reason> operator()() {
    if (auto refused = find_rows()) return *refused;
    if (auto refused = take_apart()) return *refused;
    if (auto refused = find_selectors()) return *refused;
    return std::move(nest_);
  }

 private:
  Reason other_shape(const std::string& found) const { return other_shape_than_baked(found, loop_); }

  /// What to write instead: the loop over rows that stands inside, where one does.
  std::string rows_of_a_block() const {
    const std::string accepted = "one serial loop over the rows of a block, around their sums: ";
    for (const std::string& name : loop_names(program_.body)) {
      const auto loops = find_loops(program_.body, name);
      if (name == loop_ || loops.size() != 1 || !stands_inside(program_.body, name, loop_)) continue;
      if (loops.front()->role == ir::LoopRole::rows && ir::constant_iterations(*loops.front()))
        return accepted + Step{"bake_values", {{{}, name}}, {}}.cpp();
    }
    return accepted + "split the rows first";
  }

  /// Preconditions 1, 2 and 6.
  std::optional<Reason> find_rows() {
    if (auto missing = require_loop(program_, loop_)) return missing;
    const auto refuse = [&](std::string found) {
      const bool balanced = ir::any<ir::For>(program_.body, [](const ir::For& loop) {
        return loop.role == ir::LoopRole::rows && ir::any<ir::Load>(loop.begin);
      });
      return Reason{2, std::move(found),
                    scattered_
                        ? "weights that are stored row by row, as pack(weights, formats::csr()) makes them"
                    : balanced ? "blocks of as many rows each: weights packed with a row order "
                                 "(csr:order=dealt,rows=64) and split instead of balance"
                               : rows_of_a_block(),
                    loop_};
    };
    if (ir::role_of(program_.body, loop_) == ir::LoopRole::groups)
      return Reason{2, fmt::format("{} goes over groups that share a sum", loop_),
                    fmt::format("a loop over results, around the groups: one of {}",
                                fmt::join(serial_loops(program_, true), ", ")),
                    loop_};
    const auto loops = find_loops(program_.body, loop_);
    if (loops.size() > 1) return refuse(fmt::format("{} stands in {} places", loop_, loops.size()));
    nest_.rows = *loops.front();
    nest_.rows.body = {};
    const LoopKind kind = nest_.rows.kind;
    if (kind != LoopKind::serial && kind != LoopKind::unrolled)
      return refuse(fmt::format("{} is {}", loop_, ir::name_of(kind)));
    const auto known = ir::constant_iterations(nest_.rows);
    if (!known)
      return refuse(fmt::format("{} has {} iterations, which is not known when its rows are written out",
                                loop_, ir::print(nest_.rows.extent)));
    nest_.begin = known->begin;
    nest_.extent = known->extent;
    path_ = loops_around(program_.body, loop_);
    for (const ir::For& loop : path_) {
      if (loop.kind != LoopKind::vectorized) continue;
      return Reason{6, fmt::format("{} around it is vectorized", loop.name),
                    fmt::format("{} vectorized after this step", loop.name), loop.name};
    }
    return std::nullopt;
  }

  /// Precondition 4: the loop's body is first values, one sum over stored entries in registers, results.
  std::optional<Reason> take_apart() {
    ir::Chain chain = chain_of(find_loop(program_.body, loop_)->body);
    if (!chain.loops.empty() && chain.loops.back().role == ir::LoopRole::groups) {
      chain.core = ir::for_loop(chain.loops.back(), chain.core);
      chain.loops.pop_back();
    }
    for (ir::For& loop : chain.loops) {
      if (!ir::is_over_output(loop.role) || ir::uses(loop.begin, loop_) || ir::uses(loop.extent, loop_))
        return other_shape(fmt::format("{} directly inside {}", loop.name, loop_));
      if (loop.kind == LoopKind::vectorized)
        return Reason{6, fmt::format("{} stands outside the sum and is vectorized", loop.name),
                      fmt::format("{} vectorized after this step", loop.name), loop.name};
      nest_.around.push_back(std::move(loop));
    }
    for (Expr& condition : chain.conditions)
      (ir::uses(condition, loop_) ? nest_.of_row : nest_.outside).push_back(std::move(condition));
    nest_.groups = grouped_sum_of(chain.core);
    if (nest_.groups) {
      if (auto refused = find_first_row()) return refused;
      if (auto refused = enter_groups(chain)) return refused;
    }
    const auto* allocation = chain.core.as<ir::Allocate>();
    if (allocation == nullptr || allocation->buffer->scope != ir::Scope::registers)
      return other_shape("the sums are not in registers");
    nest_.sum = allocation->buffer;
    const auto* block = allocation->body.as<ir::Sequence>();
    if (block == nullptr) return other_shape("no result after the sum");
    bool found = false;
    for (const Stmt& stmt : block->statements) {
      if (!weights_.are_read_by(stmt)) {
        (found ? nest_.last : nest_.first).push_back(stmt);
        continue;
      }
      if (found) return other_shape("two statements read the weights");
      found = true;
      if (auto refused = take_sum_apart(stmt)) return refused;
    }
    if (!found) return other_shape(fmt::format("nothing inside {} reads the weights", loop_));
    return std::nullopt;
  }

  /// Groups that are blocks meet once for all rows: where there is the first, as rows that are missing are
  /// the last.
  std::optional<Reason> find_first_row() {
    if (!nest_.groups->arrival.defined()) return std::nullopt;
    for (const Expr& condition : nest_.of_row) {
      const auto* less = condition.as<ir::Binary>();
      const bool ends_rows = less != nullptr && less->op == ir::BinaryOperator::less &&
                             !ir::uses(less->right, loop_) && grows_with_row(less->left);
      if (!ends_rows)
        return other_shape("rows that are missing between others, where " + ir::print(condition));
      nest_.of_first_row.push_back(ir::substitute(condition, {{loop_, nest_.begin}}));
    }
    return std::nullopt;
  }

  bool grows_with_row(const Expr& expr) const {
    return std::ranges::all_of(ir::linear(expr).terms, [&](const ir::Linear::Term& term) {
      return !ir::uses(term.atom, loop_) || (term.atom.as<ir::Variable>() != nullptr && term.coefficient > 0);
    });
  }

  /// The chain goes on to the sum of one group.
  std::optional<Reason> enter_groups(ir::Chain& chain) {
    GroupedSum& groups = *nest_.groups;
    if (ir::integer_value(groups.group.extent) == nullptr)
      return other_shape(
          fmt::format("{} has {} iterations", groups.group.name, ir::print(groups.group.extent)));
    chain = chain_of(groups.own);
    const ir::Chain result = chain_of(groups.result);
    if (!chain.loops.empty() || !result.loops.empty())
      return other_shape(fmt::format("a loop directly inside {}", groups.group.name));
    for (const Expr& condition : chain.conditions)
      (ir::uses(condition, loop_) ? nest_.of_row : nest_.of_thread).push_back(condition);
    nest_.result = result.core;
    groups.own = {};
    groups.result = {};
    return std::nullopt;
  }

  std::optional<Reason> take_sum_apart(const Stmt& stmt) {
    ir::Chain chain = chain_of(stmt);
    const auto* update = chain.core.as<ir::Store>();
    if (update == nullptr || update->buffer != nest_.sum || !update->accumulate)
      return other_shape("what stands in the sum is not one addition to it (a staged operand, for example)");
    nest_.value = update->value;
    nest_.place = update->indices;
    nest_.position = weights_.position(update->value);
    if (!nest_.position.defined()) return other_shape("the sum does not read one value an entry");
    // A loop chooses the entry when its range is known from the weights alone or the position depends on it.
    for (ir::For& loop : chain.loops) {
      const bool output = ir::is_over_output(loop.role);
      if (output && ir::integer_value(loop.extent) != nullptr) {
        nest_.columns.push_back(std::move(loop));
      } else if (!output && (loop.kind == LoopKind::serial || loop.kind == LoopKind::unrolled)) {
        nest_.entries.push_back(std::move(loop));
      } else {
        return other_shape(fmt::format("{} inside the sum is {} with {} iterations", loop.name,
                                       ir::name_of(loop.kind), ir::print(loop.extent)));
      }
    }
    nest_.conditions = std::move(chain.conditions);
    return std::nullopt;
  }

  /// Precondition 5: the loops that choose the block of rows have constant ranges.
  std::optional<Reason> find_selectors() {
    const auto reads =
        ir::find_all<ir::Load>(find_loop(program_.body, loop_)->body,
                               [&](const ir::Load& load) { return weights_.holds(load.buffer); });
    std::int64_t blocks = 1;
    for (const ir::For& loop : path_) {
      const bool chooses = std::ranges::any_of(reads, [&](const ir::Load* load) {
        return std::ranges::any_of(load->indices, [&](const Expr& e) { return ir::uses(e, loop.name); });
      });
      const std::int64_t* extent = ir::integer_value(loop.extent);
      if (!chooses && loop.kind == LoopKind::unrolled && extent != nullptr) nest_.copies *= *extent;
      if (!chooses) continue;
      if (extent == nullptr || ir::integer_value(loop.begin) == nullptr)
        return Reason{5, fmt::format("{} has {} iterations", loop.name, ir::print(loop.extent)),
                      "blocks of rows of a constant number", loop.name};
      if (__builtin_mul_overflow(blocks, std::max<std::int64_t>(*extent, 1), &blocks) || blocks > most_blocks)
        return Reason{5, fmt::format("{} or more blocks of rows", blocks),
                      fmt::format("at most {}", most_blocks), loop.name};
      nest_.selectors.push_back(loop);
    }
    for (const ir::For& loop : nest_.columns) nest_.copies *= written_out(loop);
    return std::nullopt;
  }

  /// Times that an entry is written out for the loop: a CPU multiplies a vector at a time.
  std::int64_t written_out(const ir::For& loop) const {
    const std::int64_t extent = *ir::integer_value(loop.extent);
    const bool of_vectors = !target_.is_gpu() && loop.kind == LoopKind::vectorized;
    const auto bytes = static_cast<std::int64_t>(size_of(nest_.sum->dtype));
    return of_vectors ? ceil_divide(extent * bytes, target_.vector_bytes) : extent;
  }

  const ir::Program& program_;
  const KnownWeights& weights_;
  const Target& target_;
  std::string loop_;
  bool scattered_;  ///< the weights are stored by column or by entry
  BakedNest nest_;
  std::vector<ir::For> path_;  ///< loops around the row loop, outermost first
};

}  // namespace

bool differ_in_values(const BakedNest& nest, const KnownWeights& weights,
                      const std::vector<Expr>& conditions) {
  const auto chooses = [&](const std::string& name) {
    const auto is_it = [&](const ir::For& loop) { return loop.name == name; };
    return name == nest.rows.name || std::ranges::any_of(nest.selectors, is_it) ||
           std::ranges::any_of(nest.entries, is_it);
  };
  const std::function<bool(const Expr&)> depends = [&](const Expr& expr) {
    // What arrays say is of the entry's column, or its value, but for which row is meant.
    const auto* load = expr.as<ir::Load>();
    if (load != nullptr && weights.holds(load->buffer) && !weights.is_row_order(load->buffer)) return false;
    if (const auto* variable = expr.as<ir::Variable>()) return chooses(variable->name);
    return ir::any_child(expr, depends);
  };
  return weights.position(nest.value).defined() && !depends(nest.value) &&
         std::ranges::none_of(conditions, depends);
}

Reason other_shape_than_baked(const std::string& found, const std::string& loop) {
  return {
      4, found,
      fmt::format("inside {}: first values, the loop over stored entries, results, as in the program of a "
                  "format whose outermost level is its rows (csr, ell)",
                  loop),
      loop};
}

std::variant<BakedNest, Reason> baked_nest(const ir::Program& program, const KnownWeights& weights,
                                           const StepContext& context, const std::string& loop) {
  return NestFinder(program, weights, context, loop)();
}

}  // namespace weft::steps
