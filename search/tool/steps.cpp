// weft steps: what a schedule can be made of.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/scheduler/program/step.h>
#include <weft/search/tool/pages.h>
#include <weft/search/tool/table.h>

#include <nlohmann/json.hpp>

namespace weft::tool {
namespace {

bool is_numeric_parameter(const Parameter& parameter) {
  return parameter.kind == ParameterKind::number || parameter.kind == ParameterKind::factor;
}

/// Lines of at most 100 characters, those after the first one indented.
std::string wrapped(std::string_view text, std::size_t indent = 0) {
  constexpr std::size_t most = 100;
  std::string result;
  while (text.size() + (result.empty() ? 0 : indent) > most) {
    const std::size_t room = most - (result.empty() ? 0 : indent);
    const std::size_t blank = text.rfind(' ', room);
    result += fmt::format("{}\n{:{}}", text.substr(0, blank), "", indent);
    text.remove_prefix(blank + 1);
  }
  return result.append(text);
}

std::string table_of_steps() {
  constexpr std::size_t column = 20;  // where sentences begin
  std::string text;
  for (const StepKind& step : step_kinds())
    text += wrapped(fmt::format("{:<{}}{}", step.name, column, step.sentence), column) + "\n";
  return text;
}

/// What stands there if nothing is given; "needed" where something has to be.
std::string left_out(const Parameter& parameter) {
  if (parameter.required) return "needed";
  return parameter.words.empty() ? std::to_string(parameter.otherwise) : std::string(parameter.words.front());
}

std::string page_of_step(std::string_view name) {
  const StepKind& step = step_kind(name);
  std::string text = fmt::format("{}: {}\n", step.name, step.sentence);
  if (!step.more.empty()) text += fmt::format("{}\n", wrapped(step.more));
  Table table({"parameter", "kind", "least", "most", "left out", "what it says"});
  for (const Parameter& parameter : step.parameters) {
    std::string kind(name_of(parameter.kind));
    if (!parameter.words.empty()) kind = fmt::format("{}", fmt::join(parameter.words, ", "));
    if (parameter.repeated) kind += ", ...";
    const bool has_most = is_numeric_parameter(parameter) && parameter.most != INT64_MAX;
    table.row({std::string(parameter.name), kind,
               is_numeric_parameter(parameter) ? std::to_string(parameter.least) : "",
               has_most ? std::to_string(parameter.most) : "", left_out(parameter),
               std::string(parameter.sentence)});
  }
  text += fmt::format("\n{}\nIt applies if:\n", table.text());
  for (const Precondition& each : step.preconditions)
    text += wrapped(fmt::format("{:>4}  {}", each.number, each.text), 6) + "\n";
  return text + fmt::format("\nExample: {}\n", step.usage());
}

nlohmann::ordered_json json_of_step(std::string_view name) {
  const StepKind& step = step_kind(name);
  nlohmann::ordered_json document{
      {"name", step.name}, {"usage", step.usage()}, {"sentence", step.sentence}, {"more", step.more}};
  for (const Parameter& parameter : step.parameters) {
    nlohmann::ordered_json entry{{"name", parameter.name},         {"kind", name_of(parameter.kind)},
                                 {"named", parameter.named},       {"required", parameter.required},
                                 {"repeated", parameter.repeated}, {"knob", is_numeric_parameter(parameter)}};
    if (is_numeric_parameter(parameter)) entry["least"] = parameter.least;
    if (is_numeric_parameter(parameter) && parameter.most != INT64_MAX) entry["most"] = parameter.most;
    if (!parameter.words.empty()) entry["words"] = parameter.words;
    if (!parameter.required) entry["left_out"] = left_out(parameter);
    entry["sentence"] = parameter.sentence;
    document["parameters"].push_back(std::move(entry));
  }
  for (const Precondition& each : step.preconditions)
    document["preconditions"].push_back({{"number", each.number}, {"text", each.text}});
  return document;
}

}  // namespace

void add_steps(CLI::App& app, Action& action) {
  add_pages(app, action,
            {.verb = "steps",
             .one = "step",
             .summary = "what a schedule can be made of",
             .example = "tile",
             .names = [] { return names_of(step_kinds()); },
             .table = table_of_steps,
             .page = page_of_step,
             .json = json_of_step});
}

}  // namespace weft::tool
