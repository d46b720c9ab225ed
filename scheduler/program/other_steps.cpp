#include <fmt/format.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/sparse_product.h>
#include <weft/scheduler/ir/verify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/other_steps.h>
#include <weft/scheduler/program/step_arguments.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <vector>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

/// Who made a mistake waits no longer than this for a way out of it; only large layers that are baked need
/// more.
constexpr std::chrono::milliseconds longest_search{500};

class OtherSteps {
 public:
  OtherSteps(const Schedule& schedule, const Step& refused) : schedule_(schedule), refused_(refused) {}

  std::string operator()() {
    const std::vector<Step>& steps = schedule_.steps();
    for (std::size_t place = steps.size(); place-- > 0;) {
      if (fits(place, &refused_, place, nullptr))
        return fmt::format("this step in front of {}", with_place(steps[place]));
    }
    for (std::size_t place = steps.size(); place-- > 0;) {
      if (fits(place, nullptr, place + 1, &refused_))
        return fmt::format("a schedule without {}", with_place(steps[place]));
    }
    return {};
  }

 private:
  /// Whether the first `kept` steps, `between`, those from number `next` on, and `last` apply one after the
  /// other.
  bool fits(std::size_t kept, const Step* between, std::size_t next, const Step* last) {
    // Whatever becomes of other orders, the user is told of the one that was asked for.
    try {
      return all_apply(kept, between, next, last);
    } catch (const std::exception&) {
      return false;
    }
  }

  bool all_apply(std::size_t kept, const Step* between, std::size_t next, const Step* last) {
    ir::Program program = schedule_.history()[kept];
    auto number = static_cast<int>(kept);
    const auto takes = [&](const Step& step) {
      if (Clock::now() > end_) return false;
      const StepContext context{schedule_.algorithm(), schedule_.weights(), schedule_.target(), number++};
      StepResult result = applied(program, step, context);
      if (std::holds_alternative<Reason>(result)) return false;
      program = std::get<ir::Program>(std::move(result));
      return true;
    };
    if (between != nullptr && !takes(*between)) return false;
    for (std::size_t i = next; i < schedule_.steps().size(); ++i) {
      if (!takes(schedule_.steps()[i])) return false;
    }
    return last == nullptr || takes(*last);
  }

  const Schedule& schedule_;
  const Step& refused_;
  Clock::time_point end_ = Clock::now() + longest_search;
};

/// The step at the first values of its knobs at which it applies; those that the rewrite takes as symbols
/// stay open.
StepResult at_first_values(const StepKind& kind, const ir::Program& given, const Step& step,
                           const StepContext& context) {
  // Steps look at what is read and added entry by entry, of which bake_values has made tables.
  if (ir::any<ir::SparseProduct>(given.body)) {
    ir::Program program = given;
    program.body = ir::written_out(given.body);
    StepResult result = at_first_values(kind, program, step, context);
    if (auto* changed = std::get_if<ir::Program>(&result)) changed->body = ir::with_products(changed->body);
    return result;
  }
  const std::vector<std::string> names = replayed_knobs(step);
  if (names.empty()) return kind.apply(given, StepArguments(kind, step), context);
  const auto is_it = [&](const Argument& argument) {
    const auto* choice = std::get_if<KnobChoice>(&argument.value);
    return choice != nullptr && choice->name == names.front();
  };
  const auto open = std::ranges::find_if(step.arguments, is_it);
  std::optional<StepResult> first;
  for (const std::int64_t value : std::get<KnobChoice>(open->value).values) {
    StepResult result = at_first_values(kind, given, with_values(step, {{names.front(), value}}), context);
    if (std::holds_alternative<ir::Program>(result)) return result;
    if (!first) first = std::move(result);
  }
  return *first;
}

}  // namespace

std::string with_place(const Step& step) {
  const std::string place = step.place.text();
  return place.empty() ? step.cpp() : fmt::format("{} ({})", step.cpp(), place);
}

StepResult applied(const ir::Program& program, const Step& step, const StepContext& context) {
  const StepKind& kind = step_kind(step.name);
  if (auto refused = check_values(kind, step, program, context.target.is_gpu())) return *refused;
  StepResult result = at_first_values(kind, with_knobs(program, step), step, context);
  if (std::holds_alternative<Reason>(result)) return result;
  ir::Program next = ir::simplify(std::get<ir::Program>(std::move(result)), ir::ShortLoops::keep);
  ir::verify(next);
  return next;
}

std::string steps_that_apply(const Schedule& schedule, const Step& refused, const Reason& reason) {
  constexpr int loop_exists = 1;
  return reason.precondition == loop_exists ? std::string() : OtherSteps(schedule, refused)();
}

std::string asked_before(const ir::Program& program, const Step& proposed, const StepContext& context) {
  const StepResult result = applied(program, proposed, context);
  const auto* reason = std::get_if<Reason>(&result);
  if (reason == nullptr) return {};
  // To leave out what has not been asked for yet is no advice.
  const std::size_t end = reason->accepted.find(", or leave out ." + proposed.name);
  return "; that step asks for " + reason->accepted.substr(0, end);
}

}  // namespace weft
