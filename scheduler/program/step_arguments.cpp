#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/step_arguments.h>

#include <algorithm>
#include <array>

namespace weft {
namespace {

bool is_numeric(const Parameter& parameter) {
  return parameter.kind == ParameterKind::number || parameter.kind == ParameterKind::factor;
}

std::string value_of(const Argument& argument) {
  if (const auto* word = std::get_if<std::string>(&argument.value)) return *word;
  if (const auto* number = std::get_if<std::int64_t>(&argument.value)) return std::to_string(*number);
  return "knob " + std::get<KnobChoice>(argument.value).name;
}

/// "depth = 4", or the value alone.
std::string text_of(const Argument& argument) {
  return argument.name.empty() ? value_of(argument) : argument.name + " = " + value_of(argument);
}

/// "a number from 1 to 8"
std::string range_of(const Parameter& parameter) {
  if (parameter.least == parameter.most) return std::to_string(parameter.least);
  if (parameter.most == INT64_MAX) return fmt::format("a number of at least {}", parameter.least);
  return fmt::format("a number from {} to {}", parameter.least, parameter.most);
}

/// Of a knob: the same values wherever it stands, and a name that nothing else has.
std::optional<Reason> require_knob_name(const ir::Program& program, const std::vector<ir::Knob>& knobs,
                                        const KnobChoice& choice, const Reason& otherwise) {
  const auto known = std::ranges::find(knobs, choice.name, &ir::Knob::name);
  if (known != knobs.end()) {
    if (known->values == choice.values) return std::nullopt;
    return Reason{otherwise.precondition,
                  fmt::format("the knob {} of {}, and before of {}", choice.name,
                              fmt::join(choice.values, ", "), fmt::join(known->values, ", ")),
                  fmt::format("the same values wherever {} stands, or a knob of another name", choice.name),
                  otherwise.marked};
  }
  const std::string taken = variable_called(program, choice.name);
  if (taken.empty()) return std::nullopt;
  return Reason{otherwise.precondition,
                fmt::format("a knob called {}, as {} of the program is", choice.name, taken),
                fmt::format("another name for the knob, as {}_choice", choice.name), otherwise.marked};
}

std::optional<Reason> check_word(const Parameter& parameter, const Step& step, std::size_t index,
                                 const std::string& marked, bool for_gpu) {
  const std::string word = value_of(step.arguments[index]);
  if (std::ranges::find(parameter.words, word) != parameter.words.end()) return std::nullopt;
  // What no step of a GPU can do with any program is not proposed for one.
  constexpr std::string_view of_cpus = "shifted";
  std::vector<std::string_view> fitting(parameter.words.begin(), parameter.words.end());
  if (for_gpu) std::erase(fitting, of_cpus);
  std::string words;
  for (const std::string_view& each : fitting) {
    words += words.empty() ? "" : &each == &fitting.back() ? " or " : ", ";
    words += each;
  }
  Step right = step;
  right.arguments[index].value = std::string(parameter.words.front());
  const bool vowel = std::string_view("aeiou").find(parameter.name.front()) != std::string_view::npos;
  const std::string name(parameter.name);
  return Reason{parameter.precondition,
                parameter.named ? text_of(step.arguments[index])
                                : fmt::format("{} {} called {}", vowel ? "an" : "a", name, word),
                fmt::format("{}{}, as in {}", parameter.named ? name + " = " : "", words, right.cpp()),
                marked};
}

/// A parameter's example as a file has it, `["depth", 2]` or `["", "B"]`.
std::string argument_in_file(const Parameter& parameter) {
  std::string name(parameter.named ? parameter.name : "");
  std::string value(parameter.example);
  if (parameter.kind == ParameterKind::factor) {
    const std::size_t sign = value.find(" = ");
    name = value.substr(0, sign);
    value = value.substr(sign + 3);
  }
  if (!is_numeric(parameter) && !value.starts_with('"')) value = '"' + value + '"';
  return fmt::format("[\"{}\", {}]", name, value);
}

/// The step as it is written where it was read: in C++, or in a file.
std::string usage_for(const StepKind& kind, const Step& step) {
  if (step.file.empty()) return kind.usage();
  std::vector<std::string> arguments;
  for (const Parameter& parameter : kind.parameters) {
    if (!parameter.example.empty()) arguments.push_back(argument_in_file(parameter));
  }
  return fmt::format(R"({{"step": "{}", "arguments": [{}]}})", kind.name, fmt::join(arguments, ", "));
}

/// What a number in quotes should have been.
std::string without_quotes(const StepKind& kind, const Step& step, const Argument& argument) {
  const std::string text = value_of(argument);
  const bool is_number = !text.empty() && text.size() < 10 &&
                         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number || step.file.empty()) return usage_for(kind, step);
  return fmt::format(R"(["{}", {}], a number without quotes)", argument.name, text);
}

}  // namespace

std::string_view name_of(ParameterKind kind) {
  constexpr std::array<std::string_view, 6> names{"loop", "loop = number", "tensor",
                                                  "word", "number",        "instruction"};
  return names[static_cast<std::size_t>(kind)];
}

std::string StepKind::usage() const {
  std::string text;
  for (const Parameter& parameter : parameters) {
    if (parameter.example.empty()) continue;
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", parameter.named ? parameter.name : "",
                        parameter.named ? " = " : "", parameter.example);
  }
  return fmt::format(".{}({})", name, text);
}

ir::Expr symbol_of(const Argument& argument) {
  if (const auto* choice = std::get_if<KnobChoice>(&argument.value)) return ir::variable(choice->name);
  return std::get<std::int64_t>(argument.value);
}

const Parameter* parameter_of(const StepKind& kind, const Step& step, std::size_t index) {
  const std::string& name = step.arguments[index].name;
  auto place = std::ranges::count_if(step.arguments.begin(),
                                     step.arguments.begin() + static_cast<std::ptrdiff_t>(index),
                                     [](const Argument& argument) { return argument.name.empty(); });
  for (const Parameter& parameter : kind.parameters) {
    const bool has_name = parameter.named || parameter.kind == ParameterKind::factor;
    if (has_name == name.empty()) continue;
    if (parameter.named ? parameter.name == name : has_name || parameter.repeated || place-- == 0)
      return &parameter;
  }
  return nullptr;
}

const Parameter& StepArguments::parameter(std::string_view name) const {
  const auto found = std::ranges::find(kind_->parameters, name, &Parameter::name);
  internal_check(found != kind_->parameters.end(), fmt::format("{} has no {}", kind_->name, name));
  return *found;
}

const Argument* StepArguments::find(std::string_view name) const {
  const Parameter& wanted = parameter(name);
  for (std::size_t i = 0; i < step_->arguments.size(); ++i) {
    if (parameter_of(*kind_, *step_, i) == &wanted) return &step_->arguments[i];
  }
  return nullptr;
}

std::string StepArguments::text(std::string_view name) const {
  if (const Argument* argument = find(name)) return value_of(*argument);
  const Parameter& missing = parameter(name);
  internal_check(!missing.words.empty(), fmt::format("{} has no {}", step_->cpp(), name));
  return std::string(missing.words.front());
}

std::vector<std::string> StepArguments::texts(std::string_view name) const {
  const Parameter& wanted = parameter(name);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < step_->arguments.size(); ++i) {
    if (parameter_of(*kind_, *step_, i) == &wanted) result.push_back(value_of(step_->arguments[i]));
  }
  return result;
}

std::int64_t StepArguments::number(std::string_view name) const {
  const Argument* argument = find(name);
  return argument == nullptr ? parameter(name).otherwise : std::get<std::int64_t>(argument->value);
}

ir::Expr StepArguments::symbol(std::string_view name) const {
  const Argument* argument = find(name);
  return argument == nullptr ? parameter(name).otherwise : symbol_of(*argument);
}

std::optional<UserError::Report> malformed(const StepKind& kind, const Step& step) {
  const auto wrong = [&](std::string_view what, std::string found) {
    return UserError::Report{
        fmt::format("{} {}", step.cpp(), what), {}, std::move(found), usage_for(kind, step)};
  };
  const auto required =
      static_cast<std::size_t>(std::ranges::count_if(kind.parameters, &Parameter::required));
  const bool repeats = std::ranges::any_of(kind.parameters, &Parameter::repeated);
  const std::size_t given = step.arguments.size();
  if (given < required || (!repeats && given > kind.parameters.size()))
    return wrong("has the wrong number of arguments",
                 fmt::format("{} argument{}", given, given == 1 ? "" : "s"));
  std::vector<const Parameter*> found;
  for (std::size_t i = 0; i < given; ++i) {
    const Argument& argument = step.arguments[i];
    const Parameter* parameter = parameter_of(kind, step, i);
    if (parameter == nullptr) return wrong("has an argument that it does not take", text_of(argument));
    const auto* word = std::get_if<std::string>(&argument.value);
    if (is_numeric(*parameter) && word != nullptr) {
      auto report =
          wrong("has a text where a number stands", fmt::format("{} = \"{}\"", argument.name, *word));
      report.accepted = without_quotes(kind, step, argument);
      return report;
    }
    if (!is_numeric(*parameter) && word == nullptr)
      return wrong("has a number where a name stands",
                   fmt::format("{}, where {} stands", text_of(argument), name_of(parameter->kind)));
    if (!parameter->repeated && std::ranges::find(found, parameter) != found.end())
      return wrong("has an argument twice", text_of(argument));
    found.push_back(parameter);
  }
  for (const Parameter& parameter : kind.parameters) {
    // At which loop, the program can answer: steps propose the places where they apply.
    const bool asked_later = parameter.kind == ParameterKind::loop && parameter.named;
    if (parameter.required && !asked_later && std::ranges::find(found, &parameter) == found.end())
      return wrong("lacks an argument", fmt::format("no {}", parameter.name));
  }
  return std::nullopt;
}

std::optional<Reason> require_range(const Argument& argument, std::int64_t least, std::int64_t most,
                                    const Reason& otherwise) {
  const auto refuse = [&](std::string found) {
    return Reason{otherwise.precondition, std::move(found), otherwise.accepted, otherwise.marked};
  };
  if (const auto* number = std::get_if<std::int64_t>(&argument.value)) {
    if (*number >= least && *number <= most) return std::nullopt;
    return refuse(text_of(argument));
  }
  for (const std::int64_t value : std::get<KnobChoice>(argument.value).values) {
    if (value < least || value > most)
      return refuse(fmt::format("{}, which may be {}", text_of(argument), value));
  }
  return std::nullopt;
}

std::optional<Reason> check_values(const StepKind& kind, const Step& step, const ir::Program& program,
                                   bool for_gpu) {
  std::vector<ir::Knob> knobs = program.knobs;
  std::string loop;
  for (std::size_t i = 0; i < step.arguments.size(); ++i) {
    const Argument& argument = step.arguments[i];
    const Parameter& parameter = *parameter_of(kind, step, i);
    if (parameter.kind == ParameterKind::loop && loop.empty()) loop = value_of(argument);
    if (parameter.kind == ParameterKind::word) {
      if (auto refused = check_word(parameter, step, i, loop, for_gpu)) return refused;
    }
    const Reason otherwise{parameter.precondition,
                           {},
                           fmt::format("{} = {}", parameter.name, range_of(parameter)),
                           parameter.kind == ParameterKind::factor ? argument.name : loop};
    if (parameter.kind == ParameterKind::number) {
      if (auto refused = require_range(argument, parameter.least, parameter.most, otherwise)) return refused;
    }
    if (const auto* choice = std::get_if<KnobChoice>(&argument.value)) {
      if (auto refused = require_knob_name(program, knobs, *choice, otherwise)) return refused;
      knobs.push_back({choice->name, choice->values});
    }
  }
  return std::nullopt;
}

std::vector<std::string> replayed_knobs(const Step& step) {
  const StepKind& kind = step_kind(step.name);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < step.arguments.size(); ++i) {
    const auto* choice = std::get_if<KnobChoice>(&step.arguments[i].value);
    if (choice == nullptr || parameter_of(kind, step, i)->symbolic) continue;
    if (std::ranges::find(names, choice->name) == names.end()) names.push_back(choice->name);
  }
  return names;
}

Step with_values(Step step, const std::map<std::string, std::int64_t>& values) {
  for (Argument& argument : step.arguments) {
    const auto* choice = std::get_if<KnobChoice>(&argument.value);
    const auto found = choice == nullptr ? values.end() : values.find(choice->name);
    if (found == values.end()) continue;
    const std::int64_t value = found->second;
    argument.value = value;
  }
  return step;
}

ir::Program with_knobs(ir::Program program, const Step& step) {
  for (const Argument& argument : step.arguments) {
    const auto* choice = std::get_if<KnobChoice>(&argument.value);
    if (choice == nullptr ||
        std::ranges::find(program.knobs, choice->name, &ir::Knob::name) != program.knobs.end())
      continue;
    program.knobs.push_back({choice->name, choice->values});
  }
  return program;
}

std::string variable_called(const ir::Program& program, const std::string& name) {
  const auto is_it = [&](const auto& variable) { return variable.name == name; };
  if (std::ranges::any_of(program.scalars, is_it)) return "a scalar";
  if (std::ranges::any_of(program.extents, is_it)) return "a size";
  if (std::ranges::any_of(program.knobs, is_it)) return "a knob";
  if (ir::any<ir::For>(program.body, is_it)) return "a loop";
  return ir::any<ir::Let>(program.body, is_it) ? "a value" : "";
}

}  // namespace weft
