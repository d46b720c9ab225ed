#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/limits/balance.h>
#include <weft/scheduler/steps/parts/known_weights.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace weft {
namespace {

constexpr std::int64_t most_visits = 4'000'000;  ///< visits of statements: less than two seconds

/// Runs the loops that choose entries, and counts additions by block and by group of threads.
class Counting {
 public:
  Counting(const ir::Program& program, const Algorithm& algorithm, const SparseTensor& weights)
      : weights_(program, algorithm.sparse_operand()->name, weights) {
    ir::each<ir::For>(program.body, [&](const ir::For& loop) {
      if (may_share(loop)) sharing_.insert(loop.name);
    });
    find_choosers(program.body);
    walk(program.body, 1);
  }

  std::optional<Balance> result() const {
    if (!known_ || visits_ > most_visits || (blocks_.empty() && groups_.empty())) return std::nullopt;
    Balance balance;
    for (const auto& [name, extent] : blocks_) balance.blocks *= extent;
    for (const auto& [name, extent] : groups_) balance.groups *= extent;
    std::int64_t all = 0, fullest_block = 0, fullest_groups = 0;
    for (const auto& [block, groups] : entries_) {
      std::int64_t of_block = 0, fullest = 0;
      for (const auto& [group, entries] : groups) {
        of_block += entries;
        fullest = std::max(fullest, entries);
      }
      all += of_block;
      fullest_block = std::max(fullest_block, of_block);
      fullest_groups += fullest;
    }
    if (all == 0) return balance;
    const auto whole = static_cast<double>(all);
    balance.of_blocks = static_cast<double>(fullest_block * balance.blocks) / whole;
    balance.of_groups = static_cast<double>(fullest_groups * balance.groups) / whole;
    return balance;
  }

 private:
  /// Whether it is a loop over rows or groups: not over columns, which all have the same entries.
  static bool may_share(const ir::For& loop) {
    using enum ir::LoopRole;
    return loop.role == rows || loop.role == stored_rows || loop.role == fragment_rows || loop.role == groups;
  }

  static bool shares(const ir::For& loop) {
    return may_share(loop) && (ir::is_bound(loop.kind) || loop.role == ir::LoopRole::groups);
  }

  void add_variables(const Expr& expr) {
    ir::each<ir::Variable>(expr, [&](const ir::Variable& variable) { choosers_.insert(variable.name); });
  }

  /// Loops that the ranges of others depend on, that choose what is read of the weights, or, of rows and
  /// groups, that conditions compare with a number, as those around baked entries do.
  void find_choosers(const Stmt& body) {
    ir::each<ir::For>(body, [&](const ir::For& loop) {
      add_variables(loop.begin);
      add_variables(loop.extent);
    });
    ir::each<ir::If>(body, [&](const ir::If& branch) {
      const auto* compared = branch.condition.as<ir::Binary>();
      if (compared == nullptr) return;
      for (const auto& [one, other] :
           {std::pair(compared->left, compared->right), std::pair(compared->right, compared->left)}) {
        const auto* variable = one.as<ir::Variable>();
        if (variable != nullptr && ir::integer_value(other) != nullptr && sharing_.contains(variable->name))
          choosers_.insert(variable->name);
      }
    });
    ir::each<ir::Load>(body, [&](const ir::Load& load) {
      if (weights_.holds(load.buffer)) add_variables(load.indices[0]);
    });
  }

  void walk(const Stmt& stmt, std::int64_t times) {
    if (!stmt.defined() || !known_ || ++visits_ > most_visits) return;
    if (const auto* loop = stmt.as<ir::For>()) {
      run(*loop, times);
    } else if (const auto* condition = stmt.as<ir::If>()) {
      // What only the launch decides may hold.
      const Expr folded = weights_.fold(condition->condition, variables_);
      const std::int64_t* value = ir::integer_value(folded);
      walk(value == nullptr || *value != 0 ? condition->then : condition->otherwise, times);
    } else if (const auto* store = stmt.as<ir::Store>()) {
      // Parts of sums that are put together are loads, entries are products.
      if (store->accumulate && store->value.as<ir::Load>() == nullptr) entries_[block_][group_] += times;
    } else if (stmt.as<ir::TensorOperation>() == nullptr) {
      each_child(stmt, [&](const Stmt& child) { walk(child, times); });
    }
  }

  void run(const ir::For& loop, std::int64_t times) {
    if (choosers_.count(loop.name) == 0) return walk(loop.body, times);
    const auto begin = weights_.integer(loop.begin, variables_);
    const auto extent = weights_.integer(loop.extent, variables_);
    // Sizes that only the launch decides are those of columns.
    if (!begin || !extent) {
      known_ = known_ && !weights_.are_read_by(loop.body);
      return;
    }
    const bool shared = shares(loop);
    const bool is_block = ir::is_block(loop.kind);
    auto& around = is_block ? block_ : group_;
    if (shared) (is_block ? blocks_ : groups_)[loop.name] = *extent;
    if (*extent > 0 && !shared && is_even(loop)) {
      variables_[loop.name] = *begin;
      walk(loop.body, times * *extent);
    } else {
      for (std::int64_t i = *begin; i < *begin + *extent; ++i) {
        variables_[loop.name] = i;
        if (shared) around.push_back(i);
        walk(loop.body, times);
        if (shared) around.pop_back();
      }
    }
    variables_.erase(loop.name);
  }

  /// True when every iteration does the same number of additions.
  bool is_even(const ir::For& loop) {
    const auto [found, is_new] = even_.try_emplace(&loop, true);
    if (!is_new) return found->second;
    const auto depends = [&](const Expr& expr) { return ir::uses(expr, loop.name); };
    return even_[&loop] = !ir::any<ir::For>(loop.body, [&](const ir::For& inner) {
             return depends(inner.begin) || depends(inner.extent);
           }) && !ir::any<ir::If>(loop.body, [&](const ir::If& branch) { return depends(branch.condition); });
  }

  steps::KnownWeights weights_;
  std::set<std::string> sharing_;  ///< loops over rows or groups
  std::set<std::string> choosers_;
  steps::KnownWeights::Variables variables_;
  std::vector<std::int64_t> block_, group_;              ///< where the walk is
  std::map<std::string, std::int64_t> blocks_, groups_;  ///< extents of the loops that share out
  std::map<std::vector<std::int64_t>, std::map<std::vector<std::int64_t>, std::int64_t>> entries_;
  std::map<const ir::For*, bool> even_;
  std::int64_t visits_ = 0;
  bool known_ = true;
};

}  // namespace

std::optional<Balance> balance_of(const Schedule& schedule) {
  const Operand* sparse = schedule.algorithm().sparse_operand();
  if (sparse == nullptr || schedule.weights() == nullptr || schedule.algorithm().takes_any_weights())
    return std::nullopt;
  return Counting(schedule.program(), schedule.algorithm(), *schedule.weights()).result();
}

}  // namespace weft
