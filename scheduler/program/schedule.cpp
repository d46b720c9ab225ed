#include <fmt/format.h>
#include <weft/dsl/names.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/verify.h>
#include <weft/scheduler/program/build_program.h>
#include <weft/scheduler/program/other_steps.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/scheduler/program/step_arguments.h>

#include <ostream>

namespace weft {
namespace {

/// What a schedule prints and stores has to be read back: words of C++, and knobs that have values.
void require_writable(const Argument& argument, const std::string& where) {
  const auto is_plain = [](const std::string& word) {
    return std::ranges::all_of(word, [](char c) { return c > ' ' && c < 127 && c != '"' && c != '\\'; });
  };
  const auto* knob = std::get_if<KnobChoice>(&argument.value);
  const auto* word = std::get_if<std::string>(&argument.value);
  if (knob != nullptr && (knob->values.empty() || !is_identifier(knob->name)))
    throw UserError(
        "a knob of a step cannot be used", where,
        fmt::format("\"{}\" with {} values", knob->name, knob->values.size()),
        "knob(\"rows\", {4, 8}): a name of " + std::string(identifier_rule) + ", and one value or more");
  if (!is_plain(argument.name) || (word != nullptr && !is_plain(*word)))
    throw UserError("a step has a word that no program has", where,
                    fmt::format("an argument \"{}\"", is_plain(argument.name) ? *word : argument.name),
                    "names of loops, tensors and instructions, as the program prints them");
}

/// Whether the user wrote the step, in a program or a file. The order of a recipe's steps is none that its
/// caller could change.
bool is_of_user(const Step& step, const SourcePlace& place) {
  return !step.file.empty() || detail::UserCall::outermost()->text() == place.text();
}

}  // namespace

Schedule::Schedule(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, Target target,
                   CallPlace place)
    : algorithm_(std::move(algorithm)), weights_(std::move(weights)), target_(std::move(target)) {
  user_call(place, [&] {
    if (algorithm_.operands.empty())
      throw UserError("a schedule has no algorithm", "an Algorithm without operands",
                      R"(algorithm("spmm", C(m, n) = sum(k, A(m, k) * B(k, n))))");
    algorithm_.check();
    if (target_.name.empty())
      throw UserError("a schedule has no target", algorithm_.name, "a Target that names none",
                      R"(target_named("cpu"), target_named("sm_90a") or another one)");
    history_.push_back(ir::simplify(build_program(algorithm_, weights_.get()), ir::ShortLoops::keep));
    ir::verify(history_.back());
  });
}

Argument Schedule::argument(const LoopFactor& factor) {
  Argument result{factor.loop.text(), std::int64_t{0}};
  std::visit([&](const auto& value) { result.value = value; }, factor.factor);
  return result;
}

const ir::Program& Schedule::program(CallPlace place) const {
  return user_call(place, [&]() -> const ir::Program& {
    if (history_.empty())
      throw UserError("a schedule has no program", "a schedule that was moved from",
                      "the schedule that it was moved to, or one made by schedule(algorithm, …)");
    return history_.back();
  });
}

std::optional<Reason> Schedule::tried(Step step) {
  const StepKind& kind = step_kind(step.name);
  for (const Argument& argument : step.arguments) require_writable(argument, where_of(step));
  if (auto wrong = malformed(kind, step)) {
    wrong->where = where_of(step);
    throw UserError(*std::move(wrong));
  }
  const StepContext context{algorithm_, weights_.get(), target_, static_cast<int>(steps_.size())};
  StepResult result = applied(program(), step, context);
  if (auto* reason = std::get_if<Reason>(&result)) return std::move(*reason);
  if (auto reason = breaks_earlier(step, std::get<ir::Program>(result))) return reason;
  steps_.push_back(std::move(step));
  history_.push_back(std::get<ir::Program>(std::move(result)));
  return std::nullopt;
}

std::optional<Reason> Schedule::breaks_earlier(const Step& step, const ir::Program& next) const {
  const StepContext context{algorithm_, weights_.get(), target_, static_cast<int>(steps_.size())};
  for (const Step& earlier : steps_) {
    const StepKind& kind = step_kind(earlier.name);
    auto reason = kind.broken == nullptr ? std::nullopt : kind.broken(next, context);
    if (!reason) continue;
    reason->found = fmt::format("{} after {}, whose precondition {} it would break: {}", step.cpp(),
                                earlier.cpp(), reason->precondition, reason->found);
    reason->accepted = fmt::format("this step before {}; or {}", earlier.cpp(), reason->accepted);
    reason->precondition = 0;
    return reason;
  }
  return std::nullopt;
}

Schedule& Schedule::step(const char* name, std::vector<Argument> arguments, CallPlace place) {
  // A recipe's steps are its caller's, whose line apply() gives them: the user has no other one.
  return apply({name, std::move(arguments), {}, {}}, place);
}

Schedule& Schedule::copied(const char* name, Placed<std::string> tensor, Word scope,
                           std::vector<Argument> rest) {
  rest.insert(rest.begin(), {{{}, std::move(tensor.value)}, {{}, std::string(scope.text)}});
  return step(name, std::move(rest), tensor.place);
}

std::vector<Argument> Schedule::arguments_of(const std::vector<LoopName>& loops) {
  std::vector<Argument> arguments;
  for (const LoopName& loop : loops) arguments.push_back(argument(loop));
  return arguments;
}

OneLoop Schedule::fuse(const std::vector<LoopName>& loops, CallPlace place) {
  return loops_of(step("fuse", arguments_of(loops), place)).front();
}

std::vector<LoopName> Schedule::loops_of(const Schedule& schedule) {
  const Step& last = schedule.steps_.back();
  const StepKind& kind = step_kind(last.name);
  const std::vector<std::string> names = kind.loops(StepArguments(kind, last), schedule.algorithm_);
  return {names.begin(), names.end()};
}

Schedule& Schedule::apply(const Step& step, CallPlace place) {
  return user_call(place, [&]() -> Schedule& {
    auto reason = try_apply(step, place);
    if (!reason) return *this;
    const std::string other = is_of_user(step, place) ? steps_that_apply(*this, step, *reason) : "";
    if (!other.empty()) reason->accepted += "; tried, and legal: " + other;
    throw error_of(step, *reason);
  });
}

std::optional<Reason> Schedule::try_apply(const Step& step, CallPlace place) {
  return user_call(place, [&] {
    Step placed = step;
    if (placed.place.line == 0) placed.place = *detail::UserCall::outermost();
    return tried(std::move(placed));
  });
}

std::string Schedule::where_of(const Step& step) const {
  std::string where = step.file;
  if (const std::string place = step.place.text(); !place.empty())
    where += (where.empty() ? "" : ", ") + place;
  return where + fmt::format("{}step {} of the schedule", where.empty() ? "" : ", ", steps_.size() + 1);
}

UserError Schedule::error_of(const Step& step, const Reason& reason) const {
  const bool has_number = reason.precondition > 0;
  const std::string number = has_number ? fmt::format(" (precondition {})", reason.precondition) : "";
  // Who wrote the file had them applied.
  const std::string made_for =
      step.file.empty()
          ? ""
          : fmt::format("; or the algorithm, format and target that {} was made for", step.file);
  return UserError(fmt::format("{} does not apply{}", step.cpp(), number), where_of(step), reason.found,
                   reason.accepted + made_for + "\n" + ir::print(program(), reason.marked));
}

Schedule schedule(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                  CallPlace place) {
  return {std::move(algorithm), std::move(weights), target, place};
}

Schedule schedule(Algorithm algorithm, SparseTensor weights, const Target& target, CallPlace place) {
  return {std::move(algorithm), std::make_shared<const SparseTensor>(std::move(weights)), target, place};
}

Schedule schedule(Algorithm algorithm, const Target& target, CallPlace place) {
  return {std::move(algorithm), nullptr, target, place};
}

std::string print(const Schedule& schedule, CallPlace place) {
  return ir::print(schedule.program(place));
}

std::ostream& operator<<(std::ostream& stream, const Schedule& schedule) {
  return stream << print(schedule);
}

}  // namespace weft
