// The message of a clash: numbers of each constraint, and what would fit.
#include <fmt/format.h>
#include <weft/scheduler/limits/resources.h>
#include <weft/scheduler/limits/resources_problem.h>

#include <set>

namespace weft {
namespace {

void collect_factors(const Expr& expr, std::vector<Expr>& factors) {
  const auto* binary = expr.as<ir::Binary>();
  if (binary != nullptr && binary->op == ir::BinaryOperator::multiply) {
    collect_factors(binary->left, factors);
    collect_factors(binary->right, factors);
  } else {
    factors.push_back(expr);
  }
}

/// "16384 x 6 stages": what is no knob is one number, in front. Knobs that are printed join `printed`.
std::string product_text(const Expr& expr, const KnobValues& values, std::set<std::string>& printed) {
  std::vector<Expr> factors;
  collect_factors(expr, factors);
  Expr number = 1;
  std::string knobs;
  for (const Expr& factor : factors) {
    if (const auto* variable = factor.as<ir::Variable>()) {
      knobs += fmt::format(" x {} {}", values.at(variable->name), variable->name);
      printed.insert(variable->name);
    } else {
      number = number * factor;
    }
  }
  const std::int64_t value = evaluate(number, values);
  return value == 1 && !knobs.empty() ? knobs.substr(3) : std::to_string(value) + knobs;
}

std::string with_unit(std::int64_t value, const std::string& unit) {
  return unit.empty() ? std::to_string(value) : fmt::format("{} {}", value, unit);
}

/// "shared memory A 32768 + B 16384 x 6 stages = 131072 B > 101376 B"
std::string clash_text(const Constraint& constraint, const KnobValues& values,
                       std::set<std::string>& printed) {
  std::string sum;
  for (const auto& [name, expr] : constraint.parts) {
    if (evaluate(expr, values) == 0) continue;
    sum += fmt::format("{}{} {}", sum.empty() ? "" : " + ", name, product_text(expr, values, printed));
  }
  if (sum.empty()) sum = product_text(constraint.left, values, printed);
  const std::int64_t left = evaluate(constraint.left, values);
  const std::int64_t limit = evaluate(constraint.limit, values);
  const std::string total = with_unit(left, constraint.unit);
  const std::string number = std::to_string(left);
  const bool plain = sum == number || sum == total;
  const bool ends_in_it = constraint.parts.size() == 1 && sum.ends_with(" " + number);
  const std::string equation = plain        ? total
                               : ends_in_it ? sum.substr(0, sum.size() - number.size()) + total
                                            : fmt::format("{} = {}", sum, total);
  // A rest where there may be none: the short name is of the part that should divide the whole.
  const bool is_rest = left > limit && limit == 0 && !constraint.text.empty();
  const std::string counted = is_rest ? fmt::format(" ({})", constraint.text) : std::string();
  return fmt::format("{}{} {} {} {}", constraint.name, counted, equation,
                     left > limit ? ">" : "<=", with_unit(limit, constraint.unit));
}

std::string word_of(const KnobWords& words, const std::string& knob, std::int64_t value) {
  return words ? words(knob, value) : std::to_string(value);
}

std::string assignments(const KnobValues& values, const char* between, const KnobWords& words) {
  std::string text;
  for (const auto& [name, value] : values)
    text += fmt::format("{}{} = {}", text.empty() ? "" : between, name, word_of(words, name, value));
  return text;
}

std::string remedy_text(const Remedy& remedy, const KnobWords& words) {
  // Names have no order.
  const bool named = word_of(words, remedy.knob, remedy.value) != std::to_string(remedy.value);
  const char* sign = named                                   ? "="
                     : remedy.kind == Remedy::Kind::at_most  ? "<="
                     : remedy.kind == Remedy::Kind::at_least ? ">="
                                                             : "=";
  return fmt::format("{} {} {}", remedy.knob, sign, word_of(words, remedy.knob, remedy.value));
}

std::string found_text(const Feasibility& feasibility, const KnobWords& words) {
  std::string text;
  for (const Clash& clash : feasibility.clashes)
    text += (text.empty() ? "" : "; also ") + explain(clash, words);
  return text;
}

std::string accepted_text(const Feasibility& feasibility, const KnobWords& words) {
  std::string text;
  for (const Remedy& remedy : feasibility.remedies)
    text += (text.empty() ? "" : " or ") + remedy_text(remedy, words);
  if (text.empty()) text = assignments(feasibility.nearest, " and ", words);
  return text;
}

/// What a reader should know about how the answer was found.
std::string reservation(const Feasibility& feasibility) {
  bool proved = true;
  for (const Clash& clash : feasibility.clashes) proved = proved && clash.proved;
  if (proved) return {};
  return resources::has_z3() ? " (found by trying values; Z3 gave no proof)"
                             : " (found by trying values; weft was built without Z3)";
}

constexpr const char* undecided =
    "whether the open knobs can be chosen so that everything fits was not decided; fix some of them";

}  // namespace

std::string explain(const Clash& clash, const KnobWords& words) {
  std::string text;
  std::set<std::string> printed;
  for (const Constraint& constraint : clash.core)
    text += (text.empty() ? "" : ", and ") + clash_text(constraint, clash.numbers, printed);
  KnobValues unseen;
  for (const auto& [name, value] : clash.fixed) {
    if (printed.count(name) == 0) unseen[name] = value;
  }
  if (!unseen.empty()) text += fmt::format(" (with {})", assignments(unseen, ", ", words));
  return text;
}

std::string explain(const Feasibility& feasibility, const std::string& target, const KnobWords& words) {
  if (feasibility.answer == Answer::feasible) {
    const std::string knobs = assignments(feasibility.witness, ", ", words);
    return fmt::format("feasible on {}{}", target, knobs.empty() ? "" : ": " + knobs);
  }
  if (feasibility.answer == Answer::unknown) return fmt::format("unknown on {}: {}", target, undecided);
  const std::string accepted = accepted_text(feasibility, words);
  return fmt::format("infeasible on {}: {}{}{}", target, found_text(feasibility, words),
                     accepted.empty() ? "" : "; feasible with " + accepted, reservation(feasibility));
}

InfeasibleError infeasible_error(const Feasibility& feasibility, const std::string& target,
                                 const std::string& where) {
  if (feasibility.answer == Answer::unknown)
    return InfeasibleError("nothing shows that the schedule fits " + target, where, undecided, {});
  return InfeasibleError("infeasible on " + target, where,
                         found_text(feasibility, {}) + reservation(feasibility),
                         accepted_text(feasibility, {}));
}

}  // namespace weft
