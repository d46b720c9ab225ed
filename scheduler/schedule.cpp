#include <fmt/format.h>
#include <weft/scheduler/build_program.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/verify.h>
#include <weft/scheduler/schedule.h>

#include <nlohmann/json.hpp>

namespace weft {

Schedule::Schedule(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, Target target)
    : algorithm_(std::move(algorithm)), weights_(std::move(weights)), target_(std::move(target)) {
  history_.push_back(ir::simplify(build_program(algorithm_, weights_.get()), ir::ShortLoops::keep));
  ir::verify(history_.back());
}

Argument Schedule::argument(const LoopFactor& factor) {
  Argument result{factor.loop.text(), std::int64_t{0}};
  std::visit([&](const auto& value) { result.value = value; }, factor.factor);
  return result;
}

std::optional<Reason> Schedule::try_apply(const Step& step) {
  const StepContext context{algorithm_, weights_.get(), target_, static_cast<int>(steps_.size())};
  const StepKind& kind = step_kind(step.name);
  if (step.arguments.size() < kind.least_arguments || step.arguments.size() > kind.most_arguments) {
    throw UserError({step.cpp() + " has the wrong number of arguments", step.place.text(),
                     std::to_string(step.arguments.size()), std::string(kind.usage)});
  }
  StepResult result = kind.apply(program(), step, context);
  if (auto* reason = std::get_if<Reason>(&result)) return std::move(*reason);
  ir::Program next = ir::simplify(std::get<ir::Program>(std::move(result)), ir::ShortLoops::keep);
  ir::verify(next);
  steps_.push_back(step);
  history_.push_back(std::move(next));
  return std::nullopt;
}

Schedule& Schedule::apply(const Step& step) {
  if (const auto reason = try_apply(step)) throw error_of(step, *reason);
  return *this;
}

UserError Schedule::error_of(const Step& step, const Reason& reason) const {
  std::string where = step.place.text();
  if (!where.empty()) where += ", ";
  where += fmt::format("step {} of the schedule", steps_.size() + 1);
  return UserError({fmt::format("{} does not apply (precondition {})", step.cpp(), reason.precondition),
                    where, reason.found, reason.accepted + "\n" + ir::print(program(), reason.marked)});
}

std::string Schedule::cpp() const {
  std::string text;
  for (const Step& step : steps_) text += (text.empty() ? "" : "\n") + step.cpp();
  return text;
}

std::string Step::cpp() const {
  std::string text;
  for (const Argument& argument : arguments) {
    const std::string value = std::visit(
        [](const auto& v) -> std::string {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, KnobChoice>) {
            return fmt::format("knob(\"{}\", {{{}}})", v.name, fmt::join(v.values, ", "));
          } else {
            return fmt::format("{}", v);
          }
        },
        argument.value);
    text += (text.empty() ? "" : ", ") + (argument.name.empty() ? value : argument.name + " = " + value);
  }
  return "." + name + "(" + text + ")";
}

std::string Schedule::json() const {
  auto list = nlohmann::ordered_json::array();
  for (const Step& step : steps_) {
    auto arguments = nlohmann::ordered_json::array();
    for (const Argument& argument : step.arguments) {
      nlohmann::ordered_json value;
      if (const auto* choice = std::get_if<KnobChoice>(&argument.value)) {
        value = {{"knob", choice->name}, {"values", choice->values}};
      } else if (const auto* number = std::get_if<std::int64_t>(&argument.value)) {
        value = *number;
      } else {
        value = std::get<std::string>(argument.value);
      }
      arguments.push_back(nlohmann::ordered_json::array({argument.name, value}));
    }
    nlohmann::ordered_json entry{{"step", step.name}, {"arguments", arguments}};
    if (step.place.line != 0) entry["place"] = step.place.text();
    list.push_back(std::move(entry));
  }
  return list.dump();
}

namespace {

Argument argument_of_json(const nlohmann::json& entry) {
  Argument argument{entry.at(0).get<std::string>(), std::int64_t{0}};
  const nlohmann::json& value = entry.at(1);
  if (value.is_object()) {
    argument.value =
        KnobChoice{value.at("knob").get<std::string>(), value.at("values").get<std::vector<std::int64_t>>()};
  } else if (value.is_string()) {
    argument.value = value.get<std::string>();
  } else {
    argument.value = value.get<std::int64_t>();
  }
  return argument;
}

}  // namespace

std::vector<Step> steps_of_json(std::string_view json) {
  std::vector<Step> steps;
  try {
    for (const nlohmann::json& entry : nlohmann::json::parse(json)) {
      Step step;
      step.name = entry.at("step").get<std::string>();
      for (const nlohmann::json& argument : entry.at("arguments"))
        step.arguments.push_back(argument_of_json(argument));
      steps.push_back(std::move(step));
    }
  } catch (const nlohmann::json::exception& error) {
    throw UserError({"a schedule could not be read", fmt::format("step {}", steps.size() + 1), error.what(),
                     R"(a list such as [{"step": "split", "arguments": [["n", 64]]}])"});
  }
  return steps;
}

Schedule schedule(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target) {
  return {std::move(algorithm), std::move(weights), target};
}

Schedule schedule(Algorithm algorithm, SparseTensor weights, const Target& target) {
  return {std::move(algorithm), std::make_shared<const SparseTensor>(std::move(weights)), target};
}

Schedule schedule(Algorithm algorithm, const Target& target) {
  return {std::move(algorithm), nullptr, target};
}

}  // namespace weft
