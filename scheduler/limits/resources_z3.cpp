// Z3 is asked in a context of the request's own, which takes longer to make than most answers. What a knob
// may be and what a quotient is are always true; constraints and fixed values are assumptions, so a core
// names only those.
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/limits/resources_problem.h>

#if WEFT_WITH_Z3
#include <weft/dsl/errors.h>
#include <weft/scheduler/limits/resources_z3_expressions.h>
#include <weft/scheduler/limits/z3_context.h>
#include <z3++.h>
#endif

#include <algorithm>
#include <map>

namespace weft::resources {

#if WEFT_WITH_Z3
namespace {

/// Z3's own count of steps: about a second; and a tenth, of what is known already.
constexpr unsigned effort_of_problem = 1'000'000, effort_of_proof = 100'000;

class ResourceQuestion {
 public:
  /// Knobs of `held` are their numbers: what Z3 is not to question makes it faster.
  explicit ResourceQuestion(z3::context& context, const Problem& problem, unsigned steps = effort_of_problem,
                            const std::vector<std::string>& held = {})
      : problem_(problem), context_(context), solver_(context_, z3::solver::simple()) {
    z3::params parameters(context_);
    parameters.set("rlimit", steps);
    solver_.set(parameters);
    for (const std::string& name : held) knobs_.emplace(name, number(problem.fixed.at(name)));
    expressions_.choose_by([this](const ir::Expr& expr) { return cases_of(expr); });
    for (const ir::Knob& knob : problem.knobs) declare(knob.name);
    for (const auto& [name, value] : problem.fixed) {
      const z3::expr knob = declare(name);
      fixed_.emplace(name, assumption("fixed " + name, knob == number(value)));
    }
    for (std::size_t i = 0; i < problem.constraints.size(); ++i) {
      const Constraint& constraint = problem.constraints[i];
      rules_.push_back(assumption("rule " + std::to_string(i), expressions_.integer(constraint.left) <=
                                                                   expressions_.integer(constraint.limit)));
    }
  }

  Answer check(const std::vector<z3::expr>& assumptions) {
    z3::expr_vector list(context_);
    for (const z3::expr& assumed : assumptions) list.push_back(assumed);
    try {
      const z3::check_result result = solver_.check(list);
      if (result == z3::sat) return Answer::feasible;
      return result == z3::unsat ? Answer::infeasible : Answer::unknown;
    } catch (const z3::exception&) {
      return Answer::unknown;  // it stops with an exception when its budget ends in the wrong place
    }
  }

  KnobValues values() {
    const z3::model model = solver_.get_model();
    KnobValues result;
    for (const auto& [name, knob] : knobs_) {
      std::int64_t value = 0;
      if (!model.eval(knob, true).is_numeral_i64(value)) return {};
      result[name] = value;
    }
    return result;
  }

  std::vector<z3::expr> all_assumptions() const {
    std::vector<z3::expr> all = rules_;
    for (const auto& [name, assumed] : fixed_) all.push_back(assumed);
    return all;
  }

  /// Adds for good that at most `count` of the fixed knobs change.
  void allow_changes(unsigned count) {
    z3::expr_vector changes(context_);
    for (const auto& [name, assumed] : fixed_)
      changes.push_back(knobs_.at(name) != number(problem_.fixed.at(name)));
    solver_.add(z3::atmost(changes, count));
  }

  void push() { solver_.push(); }
  void pop() { solver_.pop(); }
  const std::vector<z3::expr>& rules() const { return rules_; }
  const std::map<std::string, z3::expr>& fixed() const { return fixed_; }

  /// The assumptions of the last answer "infeasible" that Z3 used.
  std::vector<z3::expr> used() {
    std::vector<z3::expr> result;
    for (const z3::expr& assumed : solver_.unsat_core()) result.push_back(assumed);
    return result;
  }

 private:
  z3::expr number(std::int64_t value) { return context_.int_val(value); }

  z3::expr assumption(const std::string& name, const z3::expr& meaning) {
    z3::expr literal = context_.bool_const(name.c_str());
    solver_.add(z3::implies(literal, meaning));
    return literal;
  }

  /// The variable of a knob. Listed values are all it can have; the fixed one may stand outside the list.
  z3::expr declare(const std::string& name) {
    if (const auto known = knobs_.find(name); known != knobs_.end()) return known->second;
    const z3::expr knob = context_.int_const(("knob " + name).c_str());
    knobs_.emplace(name, knob);
    const auto fixed = problem_.fixed.find(name);
    z3::expr domain =
        fixed == problem_.fixed.end() ? context_.bool_val(false) : knob == number(fixed->second);
    if (const ir::Knob* listed = problem_.listed(name)) {
      for (const std::int64_t value : listed->values) domain = domain || knob == number(value);
    } else {
      domain = domain || knob >= 1;
    }
    solver_.add(domain);
    return knob;
  }

  /// What a knob can be, where that is a list.
  std::vector<std::int64_t> values_of(const std::string& name) const {
    if (const auto held = knobs_.at(name); held.is_numeral()) return {held.get_numeral_int64()};
    const ir::Knob* listed = problem_.listed(name);
    if (listed == nullptr) return {};
    std::vector<std::int64_t> values = listed->values;
    const auto fixed = problem_.fixed.find(name);
    if (fixed != problem_.fixed.end() && std::ranges::find(values, fixed->second) == values.end())
      values.push_back(fixed->second);
    return values;
  }

  std::vector<Z3Expressions::Case> cases_of(const ir::Expr& expr) {
    constexpr std::size_t most = 12;
    std::vector<std::pair<z3::expr, KnobValues>> points{{context_.bool_val(true), {}}};
    for (const std::string& name : knobs_of({{}, {}, {}, expr, ir::integer(0), {}})) {
      std::vector<std::pair<z3::expr, KnobValues>> longer;
      for (const std::int64_t value : values_of(name)) {
        for (const auto& [condition, point] : points) {
          KnobValues more = point;
          more[name] = value;
          longer.emplace_back(condition && knobs_.at(name) == number(value), std::move(more));
        }
      }
      if (longer.empty() || longer.size() > most) return {};
      points = std::move(longer);
    }
    std::vector<Z3Expressions::Case> cases;
    for (const auto& [condition, point] : points) cases.push_back({condition, evaluate(expr, point)});
    return cases;
  }

  z3::expr variable(const std::string& name) const {
    const auto known = knobs_.find(name);
    internal_check(known != knobs_.end(), "a constraint uses " + name + ", which has no value");
    return known->second;
  }

  const Problem& problem_;
  z3::context& context_;
  z3::solver solver_;
  std::map<std::string, z3::expr> knobs_;
  std::map<std::string, z3::expr> fixed_;
  std::vector<z3::expr> rules_;
  Z3Expressions expressions_{context_, solver_, [this](const std::string& name) { return variable(name); }};
};

bool contains(const std::vector<z3::expr>& list, const z3::expr& e) {
  return std::ranges::any_of(list, [&](const z3::expr& other) { return z3::eq(e, other); });
}

}  // namespace

Solution solve_by_z3(const Problem& problem) {
  Z3Context context;
  ResourceQuestion question(*context, problem);
  Solution solution;
  solution.answer = question.check(question.all_assumptions());
  if (solution.answer != Answer::feasible) return solution;
  solution.witness = question.values();
  // Z3's numbers have no end; ours do.
  if (solution.witness.empty() || first_violation(problem.constraints, solution.witness) != nullptr)
    return {};
  return solution;
}

std::optional<Core> core_by_z3(const Problem& problem) {
  Z3Context context;
  ResourceQuestion question(*context, problem);
  if (question.check(question.all_assumptions()) != Answer::infeasible) return std::nullopt;
  std::vector<z3::expr> core = question.used();
  for (std::size_t i = 0; i < core.size();) {
    std::vector<z3::expr> fewer = core;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (question.check(fewer) == Answer::infeasible)
      core = fewer;
    else
      ++i;
  }
  Core result;
  for (std::size_t i = 0; i < question.rules().size(); ++i) {
    if (contains(core, question.rules()[i])) result.constraints.push_back(i);
  }
  for (const auto& [name, assumed] : question.fixed()) {
    if (contains(core, assumed)) result.fixed.push_back(name);
  }
  return result;
}

void prove_by_z3(const Problem& problem, std::vector<Clash>& clashes) {
  Z3Context context;
  for (Clash& clash : clashes) {
    if (clash.proved) continue;
    std::vector<std::string> held;
    for (const auto& [knob, value] : clash.fixed) held.push_back(knob);
    const Problem known{clash.core, problem.knobs, problem.fixed};
    ResourceQuestion question(*context, known, effort_of_proof, held);
    clash.proved = question.check(question.rules()) == Answer::infeasible;
  }
}

// The fewest changes by counting up. z3::optimize would do the same in one call, but ignores its budget of
// steps where products of knobs are involved.
KnobValues nearest_by_z3(const Problem& problem) {
  Z3Context context;
  ResourceQuestion question(*context, problem);
  for (unsigned count = 1; count <= problem.fixed.size(); ++count) {
    question.push();
    question.allow_changes(count);
    const Answer answer = question.check(question.rules());
    if (answer == Answer::unknown) return {};
    if (answer == Answer::infeasible) {
      question.pop();
      continue;
    }
    const KnobValues point = question.values();
    if (point.empty() || first_violation(problem.constraints, point) != nullptr) return {};
    KnobValues changes;
    for (const auto& [name, value] : problem.fixed) {
      if (point.at(name) != value) changes[name] = point.at(name);
    }
    return changes;
  }
  return {};
}

bool has_z3() {
  return true;
}

#else

Solution solve_by_z3(const Problem&) {
  return {};
}
std::optional<Core> core_by_z3(const Problem&) {
  return std::nullopt;
}
void prove_by_z3(const Problem&, std::vector<Clash>&) {}
KnobValues nearest_by_z3(const Problem&) {
  return {};
}
bool has_z3() {
  return false;
}

#endif

}  // namespace weft::resources
