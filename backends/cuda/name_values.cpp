#include <weft/backends/cuda/certainty.h>
#include <weft/backends/cuda/name_values.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weft::cuda {
namespace {

/// Every scope looks at all that is in it, so the work grows with depth times length.
constexpr std::size_t most_nodes = 20'000;

std::set<std::string> variables_of(const Expr& expr) {
  std::set<std::string> names;
  ir::visit(expr, [&](const Expr& e) {
    if (const auto* v = e.as<ir::Variable>()) names.insert(v->name);
  });
  return names;
}

/// "n.inner" of "n.inner.outer" and "n.inner.inner"; empty when they share no part.
std::string common_prefix(const std::set<std::string>& names) {
  const std::string& first = *names.begin();
  const std::string& last = *names.rbegin();
  std::size_t length = 0;
  for (std::size_t i = 0; i <= first.size() && i <= last.size(); ++i) {
    const bool first_ends = i == first.size() || first[i] == '.';
    const bool last_ends = i == last.size() || last[i] == '.';
    if (first_ends && last_ends) length = i;
    if (i == first.size() || i == last.size() || first[i] != last[i]) break;
  }
  return first.substr(0, length);
}

/// A sum of variables times constants, without a constant of its own.
bool is_sum_of_variables(const Expr& expr) {
  const auto* e = expr.as<ir::Binary>();
  if (e == nullptr || e->op != ir::BinaryOperator::add || is_float(e->left.dtype())) return false;
  const ir::Linear sum = ir::linear(expr);
  return sum.constant == 0 && sum.terms.size() >= 2 &&
         std::ranges::all_of(sum.terms, [](const ir::Linear::Term& term) {
           return term.coefficient > 0 && term.atom.as<ir::Variable>() != nullptr;
         });
}

/// The name that the value deserves, if it deserves one.
std::optional<std::string> name_for(const Expr& expr) {
  if (!is_steady(expr)) return {};
  if (const auto* load = expr.as<ir::Load>()) {
    const ir::Buffer& buffer = *load->buffer;
    if (is_float(buffer.dtype)) return {};
    return buffer.name.substr(buffer.name.rfind('.') + 1);
  }
  const auto* e = expr.as<ir::Binary>();
  if (e == nullptr || is_float(e->left.dtype())) return {};
  if (e->op == ir::BinaryOperator::divide) return "quotient";
  if (e->op == ir::BinaryOperator::remainder) return "rest";
  if (!is_sum_of_variables(expr)) return {};
  const std::string prefix = common_prefix(variables_of(expr));
  return prefix.empty() ? std::nullopt : std::optional(prefix);
}

/// Equal values have equal keys; sums in whatever order.
std::string key_of(const Expr& expr) {
  return is_sum_of_variables(expr) ? ir::print(ir::linear(expr).expr()) : ir::print(expr);
}

/// One value, and how it is used in a scope.
struct Candidate {
  Expr expr;
  int uses = 0;
  bool is_certain = false;  ///< whoever enters the scope computes it
};

/// The values of a scope by key, in the order in which they are met, parts before wholes.
class Candidates {
 public:
  explicit Candidates(const Stmt& scope) {
    add(scope, true);
    ir::visit(scope, [this](const Stmt& s) {
      if (const auto* loop = s.as<ir::For>()) bound_.insert(loop->name);
      if (const auto* let = s.as<ir::Let>()) bound_.insert(let->name);
    });
  }

  /// The first that is worth a name.
  const Candidate* best() const {
    for (const std::string& key : order_) {
      const Candidate& each = by_key_.at(key);
      if (each.uses < 2 && !is_sum_of_variables(each.expr)) continue;
      if (ir::reads_memory(each.expr) && !each.is_certain) continue;
      const auto names = variables_of(each.expr);
      const bool known =
          std::ranges::none_of(names, [this](const std::string& name) { return bound_.count(name) != 0; });
      if (known && unusable_.count(key) == 0) return &each;
    }
    return nullptr;
  }
  void give_up(const Candidate& candidate) { unusable_.insert(key_of(candidate.expr)); }

 private:
  void add(const Stmt& stmt, bool is_certain) {
    if (!stmt.defined() || stmt.as<ir::Copy>() != nullptr || stmt.as<ir::Execute>() != nullptr) return;
    if (const auto* loop = stmt.as<ir::For>()) {
      add(loop->begin, is_certain);
      add(loop->begin + loop->extent, is_certain);
      return add(loop->body, false);
    }
    const bool always_enters = stmt.as<ir::If>() == nullptr;
    each_child(stmt, ir::overloaded{[&](const Expr& child) { add(child, is_certain); },
                                    [&](const Stmt& child) { add(child, is_certain && always_enters); }});
  }

  void add(const Expr& expr, bool is_certain) {
    visit_with_certainty(expr, is_certain,
                         [this](const Expr& part, bool certain) { add_one(part, certain); });
  }

  void add_one(const Expr& expr, bool is_certain) {
    if (!name_for(expr)) return;
    const std::string key = key_of(expr);
    const auto [place, is_new] = by_key_.try_emplace(key, Candidate{expr, 0, false});
    if (is_new) order_.push_back(key);
    ++place->second.uses;
    place->second.is_certain = place->second.is_certain || is_certain;
  }

  std::map<std::string, Candidate> by_key_;
  std::vector<std::string> order_;
  std::set<std::string> bound_;
  std::set<std::string> unusable_;
};

/// Stores and nothing else.
bool is_plain(const Stmt& stmt) {
  bool plain = true;
  ir::visit(stmt, [&](const Stmt& s) {
    plain = plain && (s.as<ir::Store>() != nullptr || s.as<ir::Sequence>() != nullptr);
  });
  return plain;
}

class Namer {
 public:
  explicit Namer(const ir::Program& program) {
    for (const auto* list : {&program.scalars, &program.extents}) {
      for (const ir::Variable& variable : *list) taken_.insert(variable.name);
    }
    ir::visit(program.body, [this](const Stmt& s) {
      if (const auto* loop = s.as<ir::For>()) taken_.insert(loop->name);
      if (const auto* let = s.as<ir::Let>()) taken_.insert(let->name);
      if (const auto* allocation = s.as<ir::Allocate>()) taken_.insert(allocation->buffer->name);
    });
  }

  /// What becomes known where `stmt` begins is named there; what its parts make known, inside.
  Stmt scope(Stmt stmt) {
    std::vector<std::pair<std::string, Expr>> lets;
    while (stmt.defined()) {
      Candidates candidates(stmt);
      const Candidate* best = candidates.best();
      std::optional<std::string> name;
      while (best != nullptr && !(name = free_name(best->expr))) {
        candidates.give_up(*best);
        best = candidates.best();
      }
      if (best == nullptr) break;
      lets.emplace_back(*name, best->expr);
      taken_.insert(*name);
      stmt = replaced(stmt, key_of(best->expr), ir::variable(*name));
    }
    stmt = inside(stmt);
    for (auto each = lets.rbegin(); each != lets.rend(); ++each) {
      stmt = ir::let(each->first, each->second, stmt);
      taken_.erase(each->first);
    }
    return stmt;
  }

 private:
  /// The pieces of a loop have its name or none: another one would mislead.
  std::optional<std::string> free_name(const Expr& expr) const {
    std::string name = *name_for(expr);
    if (taken_.count(name) == 0) return name;
    if (is_sum_of_variables(expr)) return {};
    for (int i = 2;; ++i) {
      std::string numbered = name + std::to_string(i);
      if (taken_.count(numbered) == 0) return numbered;
    }
  }

  static Stmt replaced(const Stmt& stmt, const std::string& key, const Expr& by) {
    ir::Rewriter rewriter;
    rewriter.on_expr = [&](const Expr& e) { return name_for(e) && key_of(e) == key ? by : e; };
    return rewriter(stmt);
  }

  Stmt inside(const Stmt& stmt) {
    const auto* loop = stmt.as<ir::For>();
    // A vectorized loop over plain stores moves elements together as long as it holds nothing else.
    if (loop != nullptr && loop->kind == LoopKind::vectorized && is_plain(loop->body)) return stmt;
    const bool is_same_scope = stmt.as<ir::Sequence>() != nullptr || stmt.as<ir::Allocate>() != nullptr;
    return with_children(stmt,
                         [&](const Stmt& child) { return is_same_scope ? inside(child) : scope(child); });
  }

  std::set<std::string> taken_;
};

std::size_t size_of_program(const ir::Program& program) {
  std::size_t nodes = 0;
  ir::visit(program.body, [&](const Stmt&) { ++nodes; }, [&](const Expr&) { ++nodes; });
  return nodes;
}

}  // namespace

ir::Program name_values(ir::Program program) {
  if (size_of_program(program) > most_nodes) return program;
  program.body = Namer(program).scope(program.body);
  return program;
}

}  // namespace weft::cuda
