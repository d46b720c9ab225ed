// Z3 is asked with a context of its own for each question. What a knob may be and what a quotient is are
// always true; constraints and fixed values are assumptions, so a core names only those.
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/resources_problem.h>

#if WEFT_WITH_Z3
#include <weft/dsl/errors.h>
#include <weft/scheduler/resources_z3_expressions.h>
#include <z3++.h>
#endif

#include <algorithm>
#include <functional>
#include <map>

namespace weft::resources {

#if WEFT_WITH_Z3
namespace {

/// Z3's own count of steps: about a second.
constexpr unsigned effort = 1'000'000;

class Question {
 public:
  explicit Question(const Problem& problem) : problem_(problem), solver_(context_) {
    z3::params parameters(context_);
    parameters.set("rlimit", effort);
    solver_.set(parameters);
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
    const auto listed = std::find_if(problem_.knobs.begin(), problem_.knobs.end(),
                                     [&](const ir::Knob& k) { return k.name == name; });
    if (listed == problem_.knobs.end()) {
      domain = domain || knob >= 1;
    } else {
      for (const std::int64_t value : listed->values) domain = domain || knob == number(value);
    }
    solver_.add(domain);
    return knob;
  }

  z3::expr variable(const std::string& name) const {
    const auto known = knobs_.find(name);
    internal_check(known != knobs_.end(), "a constraint uses " + name + ", which has no value");
    return known->second;
  }

  const Problem& problem_;
  z3::context context_;
  z3::solver solver_;
  std::map<std::string, z3::expr> knobs_;
  std::map<std::string, z3::expr> fixed_;
  std::vector<z3::expr> rules_;
  Z3Expressions expressions_{context_, solver_, [this](const std::string& name) { return variable(name); }};
};

bool contains(const std::vector<z3::expr>& list, const z3::expr& e) {
  return std::any_of(list.begin(), list.end(), [&](const z3::expr& other) { return z3::eq(e, other); });
}

}  // namespace

Solution solve_by_z3(const Problem& problem) {
  Question question(problem);
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
  Question question(problem);
  if (question.check(question.all_assumptions()) != Answer::infeasible) return std::nullopt;
  std::vector<z3::expr> core = question.used();
  for (std::size_t i = 0; i < core.size();) {
    std::vector<z3::expr> fewer = core;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (question.check(fewer) == Answer::infeasible) {
      core = fewer;
    } else {
      ++i;
    }
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

// The fewest changes by counting up. z3::optimize would do the same in one call, but ignores its budget of
// steps where products of knobs are involved.
KnobValues nearest_by_z3(const Problem& problem) {
  Question question(problem);
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
KnobValues nearest_by_z3(const Problem&) {
  return {};
}
bool has_z3() {
  return false;
}

#endif

}  // namespace weft::resources
