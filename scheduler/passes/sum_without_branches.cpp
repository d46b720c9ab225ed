#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/clamped_read.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>

#include <algorithm>
#include <map>
#include <set>

namespace weft::passes {
namespace {

std::vector<const ir::Load*> loads_of(const Expr& expr) {
  return ir::find_all<ir::Load>(expr, [](const ir::Load&) { return true; });
}

/// What the expression depends on: variables, and data.
std::set<std::string> inputs_of(const Expr& expr) {
  std::set<std::string> names;
  ir::each<ir::Variable>(expr, [&](const ir::Variable& variable) { names.insert(variable.name); });
  ir::each<ir::Load>(expr, [&](const ir::Load& load) { names.insert(load.buffer->name); });
  return names;
}

/// column[p] >= 0 and value[p]: what the condition reads anyway may be read without asking.
bool is_read_by(const Expr& condition, const ir::Load& load) {
  return ir::any<ir::Load>(condition, [&](const ir::Load& other) {
    return ir::same(load.indices, other.indices) && ir::same(load.buffer->shape, other.buffer->shape);
  });
}

bool shares_inputs(const Expr& index, const std::set<std::string>& names) {
  const std::set<std::string> used = inputs_of(index);
  return std::ranges::any_of(used, [&](const std::string& name) { return names.count(name) != 0; });
}

bool stays_inside(const Expr& index, const Expr& extent, const ir::Ranges& loops) {
  const ir::Range range = ir::range_of(index, loops);
  const std::int64_t* size = ir::integer_value(extent);
  return size != nullptr && range.minimum && *range.minimum >= 0 && range.maximum && *range.maximum < *size;
}

/// True when the reads of `factor` stay inside their buffers whether or not the condition holds, which tells
/// something of what depends on `asked`; indices are clamped for that.
bool made_safe(const Expr& condition, const std::set<std::string>& asked, const ir::Ranges& loops,
               Expr& factor) {
  if (ir::clamp_reads(condition, factor)) return true;
  const auto loads = loads_of(factor);
  return std::ranges::all_of(loads, [&](const ir::Load* load) {
    if (is_read_by(condition, *load)) return true;
    for (std::size_t i = 0; i < load->indices.size(); ++i) {
      const Expr& index = load->indices[i];
      if (shares_inputs(index, asked) && !stays_inside(index, load->buffer->shape[i], loops)) return false;
    }
    return true;
  });
}

/// Names of loops whose iterations are lanes of a vector.
std::set<std::string> vector_loops(const Stmt& body) {
  std::set<std::string> names;
  ir::each<ir::For>(body, [&](const ir::For& loop) {
    if (loop.kind == LoopKind::vectorized) names.insert(loop.name);
  });
  return names;
}

class Removal {
 public:
  explicit Removal(BranchesOf which) : which_(which) {}

  Stmt operator()(const Stmt& body) {
    lanes_ = vector_loops(body);
    loops_ = ir::loop_ranges(body);
    note_results(body, {});
    // First values first: what is added to where one of them has its condition still, keeps its own.
    const Stmt begun = ir::rewrite<ir::If>(body, [&](const ir::If& branch, const Stmt& s) {
      return adds_up(branch.then) ? s : freed(branch, s);
    });
    results_.clear();
    writes_.clear();
    note_results(begun, {});
    ir::Rewriter rewriter;
    rewriter.on_stmt = [&](const Stmt& s) {
      if (repeats_a_sum(s)) return leave_parts(s);
      const auto* branch = s.as<ir::If>();
      return branch == nullptr ? s : freed(*branch, s);
    };
    return rewriter(begun);
  }

 private:
  static bool adds_up(const Stmt& stmt) {
    return ir::any<ir::Store>(stmt, [](const ir::Store& store) { return store.accumulate; });
  }

  /// What the branch holds, where it can do without; else `s`, the branch.
  Stmt freed(const ir::If& branch, const Stmt& s) const {
    if (branch.otherwise.defined() || (which_ == BranchesOf::lanes && !reads_by_lane(branch.condition)))
      return s;
    const Stmt sums = without(branch.then, ir::conjuncts_of(branch.condition));
    return sums.defined() ? sums : s;
  }

  /// Whether each lane has read for itself what the condition asks.
  bool reads_by_lane(const Expr& condition) const {
    return std::ranges::any_of(loads_of(condition), [&](const ir::Load* load) {
      return std::ranges::any_of(load->indices,
                                 [&](const Expr& index) { return shares_inputs(index, lanes_); });
    });
  }

  /// What the condition says something of. What a lane has read says nothing of what all lanes read.
  std::set<std::string> asked_by(const Expr& condition) const {
    std::set<std::string> names = inputs_of(condition);
    if (which_ == BranchesOf::all) return names;
    std::set<std::string> of_lanes = lanes_;
    for (const ir::Load* load : loads_of(condition)) of_lanes.insert(load->buffer->name);
    std::erase_if(names, [&](const std::string& name) { return !of_lanes.contains(name); });
    return names;
  }

  /// Which conditions stand around the reads of each sum's result.
  void note_results(const Stmt& stmt, const std::vector<Expr>& conditions) {
    if (!stmt.defined()) return;
    if (const auto* store = stmt.as<ir::Store>()) {
      for (const Expr* expr : exprs_of(*store)) note_loads(*expr, conditions);
      if (store->buffer->scope == ir::Scope::registers)
        writes_[store->buffer.get()].push_back({store->accumulate, conditions});
      return;
    }
    if (const auto* s = stmt.as<ir::Let>()) note_loads(s->value, conditions);
    if (const auto* s = stmt.as<ir::If>()) {
      note_loads(s->condition, conditions);
      std::vector<Expr> inside = conditions;
      for (const Expr& part : ir::conjuncts_of(s->condition)) inside.push_back(part);
      note_results(s->then, inside);
      note_results(s->otherwise, conditions);
      return;
    }
    each_child(stmt, [&](const Stmt& child) { note_results(child, conditions); });
  }

  static std::vector<const Expr*> exprs_of(const ir::Store& store) {
    std::vector<const Expr*> exprs{&store.value};
    for (const Expr& index : store.indices) exprs.push_back(&index);
    return exprs;
  }

  void note_loads(const Expr& expr, const std::vector<Expr>& conditions) {
    for (const ir::Load* load : loads_of(expr)) results_[load->buffer.get()].push_back(conditions);
  }

  /// Where the condition does not hold, nobody looks at the sum.
  bool guards_result(const ir::BufferRef& sum, const Expr& condition) const {
    const auto found = results_.find(sum.get());
    return found != results_.end() && std::ranges::all_of(found->second, [&](const auto& around) {
             return ir::contains(around, condition);
           });
  }

  /// Whether the expression reads registers that nobody writes where the condition does not hold.
  bool reads_unwritten(const Expr& expr, const Expr& condition) const {
    const auto loads = loads_of(expr);
    return std::ranges::any_of(loads, [&](const ir::Load* load) {
      const auto found = writes_.find(load->buffer.get());
      return found != writes_.end() && std::ranges::any_of(found->second, [&](const Write& write) {
               return ir::contains(write.conditions, condition);
             });
    });
  }

  /// Whether the sum has no first value where the condition does not hold.
  bool begins_under(const ir::BufferRef& sum, const Expr& condition) const {
    const auto found = writes_.find(sum.get());
    return found != writes_.end() && std::ranges::any_of(found->second, [&](const Write& write) {
             return !write.accumulates && ir::contains(write.conditions, condition);
           });
  }

  /// Whether the sum has its place whether or not the condition holds.
  bool keeps_place(const Expr& condition, const ir::Store& sum) const {
    const std::set<std::string> asked = inputs_of(condition);
    for (std::size_t i = 0; i < sum.indices.size(); ++i) {
      if (shares_inputs(sum.indices[i], asked) && !stays_inside(sum.indices[i], sum.buffer->shape[i], loops_))
        return false;
    }
    return true;
  }

  /// The sums without the conditions, undefined where they need them.
  Stmt without(const Stmt& stmt, const std::vector<Expr>& conditions) const {
    if (const auto* loop = stmt.as<ir::For>()) {
      const bool together = loop->kind == LoopKind::unrolled || loop->kind == LoopKind::vectorized;
      const bool first_value_of_each = ir::is_bound(loop->kind) && !adds_up(loop->body);
      return ir::for_loop(*loop, together || first_value_of_each ? without(loop->body, conditions) : Stmt());
    }
    const auto* store = stmt.as<ir::Store>();
    if (store != nullptr && begins_for_nothing(*store, conditions)) return stmt;
    if (store == nullptr || !store->accumulate || store->buffer->scope != ir::Scope::registers) return {};
    const auto* product = ir::as_binary(store->value, ir::BinaryOperator::multiply);
    if (product == nullptr || !is_float(store->value.dtype())) return {};
    return without(*store, *product, conditions);
  }

  static bool repeats_a_sum(const Stmt& stmt) {
    const auto* loop = stmt.as<ir::For>();
    return loop != nullptr && loop->kind == LoopKind::unrolled && ir::any<ir::Allocate>(loop->body);
  }

  /// Parts of sums go to shared memory whether or not somebody reads them there: a branch around the store
  /// would take the sum along, and its loads would wait for those of the sum before.
  Stmt leave_parts(const Stmt& stmt) const {
    return ir::rewrite<ir::If>(stmt, [&](const ir::If& branch, const Stmt& s) {
      const auto* store = branch.then.as<ir::Store>();
      const auto* value = store == nullptr ? nullptr : store->value.as<ir::Load>();
      const bool part = value != nullptr && value->buffer->scope == ir::Scope::registers &&
                        store->buffer->scope == ir::Scope::shared && !store->accumulate &&
                        !branch.otherwise.defined();
      return part && nobody_asks(*store, ir::conjuncts_of(branch.condition)) ? branch.then : s;
    });
  }

  /// Whether the first value of a sum may be set where the conditions do not hold, as additions to it are
  /// made there.
  bool begins_for_nothing(const ir::Store& store, const std::vector<Expr>& conditions) const {
    if (store.accumulate || store.buffer->scope != ir::Scope::registers ||
        store.value.as<ir::Constant>() == nullptr)
      return false;
    return nobody_asks(store, conditions);
  }

  /// Whether the place exists, and nobody reads it, where the conditions do not hold.
  bool nobody_asks(const ir::Store& store, const std::vector<Expr>& conditions) const {
    return std::ranges::all_of(conditions, [&](const Expr& condition) {
      return guards_result(store.buffer, condition) && keeps_place(condition, store);
    });
  }

  Stmt without(const ir::Store& store, const ir::Binary& product, const std::vector<Expr>& conditions) const {
    Expr left = product.left;
    Expr right = product.right;
    Expr counts;
    for (const Expr& condition : conditions) {
      if (!keeps_place(condition, store) || begins_under(store.buffer, condition)) return {};
      if (reads_unwritten(product.left, condition) || reads_unwritten(product.right, condition)) return {};
      const std::set<std::string> asked = asked_by(condition);
      if (!made_safe(condition, asked, loops_, left) || !made_safe(condition, asked, loops_, right))
        return {};
      if (guards_result(store.buffer, condition)) continue;
      counts = counts.defined() ? counts && condition : condition;
    }
    if (!counts.defined()) return ir::store(store.buffer, store.indices, left * right, true);
    // Zero times zero, whatever was read: an infinity or NaN must not reach the sum.
    const Expr zero = ir::constant(store.value.dtype(), 0);
    const std::string name = store.buffer->name;
    const Expr taken = ir::variable(name + ".counts", counts.dtype());
    const auto chosen = [&](const std::string& factor) {
      return ir::select(taken, ir::variable(factor, store.value.dtype()), zero);
    };
    const Stmt sum =
        ir::store(store.buffer, store.indices, chosen(name + ".left") * chosen(name + ".right"), true);
    return ir::let(taken.as<ir::Variable>()->name, counts,
                   ir::let(name + ".left", left, ir::let(name + ".right", right, sum)));
  }

  struct Write {
    bool accumulates = false;
    std::vector<Expr> conditions;  ///< around it
  };

  BranchesOf which_;
  std::set<std::string> lanes_;  ///< vectorized loops
  ir::Ranges loops_;             ///< loops of constant begin and extent
  /// The conditions around each read of a sum's result.
  std::map<const ir::Buffer*, std::vector<std::vector<Expr>>> results_;
  std::map<const ir::Buffer*, std::vector<Write>> writes_;  ///< to registers
};

}  // namespace

ir::Program sum_without_branches(ir::Program program, BranchesOf which) {
  program.body = Removal(which)(program.body);
  return program;
}

}  // namespace weft::passes
