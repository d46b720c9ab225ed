// Steps as the C++ that makes them, and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/formats/io/bytes.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/scheduler/program/step_arguments.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr std::string_view example = R"([{"step": "split", "arguments": [["n", 64]]}])";

/// Pieces of a loop that an index variable has as members.
constexpr std::array<std::string_view, 7> pieces_of_index{
    "", ".outer", ".inner", ".outer.outer", ".outer.inner", ".inner.outer", ".inner.inner"};

/// Names that mean something else where steps are written.
const std::set<std::string_view>& words_of_steps() {
  static const std::set<std::string_view> words = [] {
    std::set<std::string_view> result{"knob", "s", "schedule"};
    for (const StepKind& kind : step_kinds()) {
      for (const Parameter& parameter : kind.parameters) {
        if (parameter.named) result.insert(parameter.name);
        result.insert(parameter.words.begin(), parameter.words.end());
      }
    }
    return result;
  }();
  return words;
}

/// Whether the loop can be written as the index variable of an algorithm. Loops that several indices count
/// are called "p_q"; names of arguments and words of steps mean those.
bool is_index_variable(std::string_view loop) {
  const std::size_t dot = std::min(loop.find('.'), loop.size());
  const std::string_view name = loop.substr(0, dot);
  return name.find('_') == std::string_view::npos && !words_of_steps().contains(name) &&
         std::ranges::find(pieces_of_index, loop.substr(dot)) != pieces_of_index.end();
}

/// Argument number `index` of the step, as its row spells it.
std::string argument_text(const StepKind* kind, const Step& step, std::size_t index) {
  const Argument& argument = step.arguments[index];
  const Parameter* parameter = kind == nullptr ? nullptr : parameter_of(*kind, step, index);
  const ParameterKind is = parameter == nullptr ? ParameterKind::loop : parameter->kind;
  std::string value;
  if (const auto* choice = std::get_if<KnobChoice>(&argument.value)) {
    value = fmt::format("knob(\"{}\", {{{}}})", choice->name, fmt::join(choice->values, ", "));
  } else if (const auto* number = std::get_if<std::int64_t>(&argument.value)) {
    value = std::to_string(*number);
  } else {
    const auto& word = std::get<std::string>(argument.value);
    const bool quoted = is == ParameterKind::tensor || is == ParameterKind::instruction;
    value = quoted ? fmt::format("\"{}\"", word) : is == ParameterKind::loop ? loop_text(word) : word;
  }
  if (argument.name.empty()) return value;
  const bool is_plain = is != ParameterKind::factor || is_index_variable(argument.name);
  return is_plain ? fmt::format("{} = {}", argument.name, value)
                  : fmt::format("LoopName(\"{}\") = {}", argument.name, value);
}

/// "an object", "a list of 3", "\"text\"", as a person would say what stands there.
std::string description(const Json& json) {
  if (json.is_null()) return "null";
  if (json.is_object()) return json.empty() ? "an empty object" : "an object";
  if (json.is_array()) return json.empty() ? "an empty list" : fmt::format("a list of {}", json.size());
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 60) + "…" : text;
}

/// Reads a list of steps and says, of what is none, where it stands.
class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  std::vector<Step> steps(std::string_view text) {
    const Json json = parsed(text);
    if (!json.is_array()) refuse("a schedule is no list of steps", description(json), std::string(example));
    std::vector<Step> result;
    for (const Json& entry : json) {
      part_ = fmt::format("step {}", result.size() + 1);
      result.push_back(step(entry));
    }
    return result;
  }

 private:
  [[noreturn]] void refuse(std::string what, std::string found, std::string accepted) const {
    std::string where = file_;
    if (!part_.empty()) where += (where.empty() ? "" : ", ") + part_;
    throw UserError(std::move(what), std::move(where), std::move(found), std::move(accepted));
  }

  Json parsed(std::string_view text) const {
    try {
      return Json::parse(text);
    } catch (const Json::parse_error& error) {
      const std::size_t byte = std::min<std::size_t>(error.byte == 0 ? 0 : error.byte - 1, text.size());
      const std::string_view before = text.substr(0, byte);
      const auto line = std::ranges::count(before, '\n') + 1;
      const std::size_t column = byte - (before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1) + 1;
      const std::string place = fmt::format("line {}, column {}", line, column);
      if (const std::string end = io::end_after_comma(text, byte); !end.empty())
        refuse("a schedule is no JSON", fmt::format("{}, at {}", end, place),
               "another step or argument, or no comma");
      if (text.ends_with(".json"))
        refuse("a schedule is no JSON", "a path: " + std::string(text.substr(0, 200)),
               "the text of that file, or its steps: weft run --schedule reads the file");
      refuse("a schedule is no JSON",
             byte == text.size() ? "the end of the text at " + place
                                 : fmt::format("{} at {}", io::in_quotes(text.substr(byte, 12)), place),
             std::string(example));
    } catch (const Json::out_of_range&) {
      refuse("a schedule has a number that no double holds",
             fmt::format("a text of {} characters", text.size()),
             "whole numbers, as the schedule of a kernel has them");
    }
  }

  Step step(const Json& entry) {
    const auto wrong = [&](std::string found) {
      refuse("a step of a schedule cannot be read", std::move(found),
             R"(a step such as {"step": "split", "arguments": [["n", 64]], "place": "program.cpp:12"})");
    };
    if (!entry.is_object()) wrong(description(entry));
    for (const auto& [key, value] : entry.items()) {
      if (key != "step" && key != "arguments" && key != "place") wrong(fmt::format("a field \"{}\"", key));
    }
    Step result;
    result.file = file_;
    if (!entry.contains("step")) wrong("no field \"step\"");
    if (!entry.at("step").is_string()) wrong(R"("step": )" + description(entry.at("step")));
    result.name = entry.at("step").get<std::string>();
    known(result.name);
    if (!entry.contains("arguments")) wrong("no field \"arguments\"");
    if (!entry.at("arguments").is_array()) wrong(R"("arguments": )" + description(entry.at("arguments")));
    part_ += ", " + result.name;
    const std::string part = part_;
    for (const Json& each : entry.at("arguments")) {
      part_ = fmt::format("{}, argument {}", part, result.arguments.size() + 1);
      result.arguments.push_back(argument(each));
    }
    part_ = part;
    if (entry.contains("place")) result.place = place(entry.at("place"));
    return result;
  }

  void known(const std::string& name) const {
    std::vector<std::string_view> names;
    for (const StepKind& kind : step_kinds()) names.push_back(kind.name);
    if (std::ranges::find(names, name) != names.end()) return;
    refuse("there is no such step", '"' + name.substr(0, 60) + '"',
           fmt::format("{}{}", fmt::join(names, ", "), did_you_mean(name, names)));
  }

  SourcePlace place(const Json& json) const {
    const std::string text = json.is_string() ? json.get<std::string>() : std::string();
    const std::size_t colon = text.rfind(':');
    SourcePlace result;
    if (colon != std::string::npos && colon > 0) {
      result.file = text.substr(0, colon);
      const auto [end, error] =
          std::from_chars(text.data() + colon + 1, text.data() + text.size(), result.line);
      if (error == std::errc() && end == text.data() + text.size() && result.line > 0) return result;
    }
    refuse("the place of a step cannot be read", description(json), R"("program.cpp:12")");
  }

  Argument argument(const Json& entry) const {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string())
      refuse("an argument of a step cannot be read", description(entry),
             R"(a name, which may be empty, and a value: ["n", 64], ["", "block_x"])");
    Argument result{entry[0].get<std::string>(), std::int64_t{0}};
    const Json& value = entry[1];
    if (value.is_object()) {
      result.value = choice(value);
    } else if (value.is_string()) {
      result.value = value.get<std::string>();
    } else {
      result.value = number(value);
    }
    return result;
  }

  std::int64_t number(const Json& value) const {
    const bool is_too_large =
        value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
    if (!value.is_number_integer() || is_too_large)
      refuse("the value of an argument cannot be read", description(value),
             fmt::format("a whole number up to {}, a name such as \"block_x\", or an open number such as {}",
                         INT64_MAX, R"({"knob": "tile_n", "values": [32, 64]})"));
    return value.get<std::int64_t>();
  }

  KnobChoice choice(const Json& value) const {
    const std::string accepted = R"({"knob": "tile_n", "values": [32, 64]}, with different numbers from 1)";
    const auto wrong = [&](std::string found) {
      refuse("an open number of a step cannot be read", std::move(found), accepted);
    };
    if (!value.contains("knob") || !value.at("knob").is_string()) wrong("no text \"knob\"");
    if (!value.contains("values") || !value.at("values").is_array()) wrong("no list \"values\"");
    std::vector<std::int64_t> numbers;
    for (const Json& each : value.at("values")) numbers.push_back(number(each));
    try {
      return knob(value.at("knob").get<std::string>(), std::move(numbers), std::source_location());
    } catch (const UserError& error) {
      wrong(error.report().found);
      throw;
    }
  }

  std::string file_;
  std::string part_;  ///< "step 3, split, argument 1"
};

}  // namespace

std::string loop_text(const std::string& loop) {
  return is_index_variable(loop) ? loop : fmt::format("\"{}\"", loop);
}

std::string split_text(const std::string& loop, std::int64_t factor) {
  return Step{"split", {{loop, factor}}, {}}.cpp();
}

std::string Step::cpp() const {
  const auto kinds = step_kinds();
  const auto kind = std::ranges::find(kinds, name, &StepKind::name);
  std::string text;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    text += (i == 0 ? "" : ", ") + argument_text(kind == kinds.end() ? nullptr : &*kind, *this, i);
  return fmt::format(".{}({})", name, text);
}

std::string Schedule::cpp() const {
  std::string text;
  for (const Step& step : steps_) text += (text.empty() ? "" : "\n") + step.cpp();
  return text;
}

std::string Schedule::cpp_file() const {
  std::set<std::string> indices;
  for (const IndexVariable& index : algorithm_.indices) {
    if (is_index_variable(index.name)) indices.insert(index.name);
  }
  std::string text = fmt::format(
      "// The schedule of {} for {}, to be applied to a schedule without steps:\n"
      "//     schedule_{}(s)\n"
      "#include <weft/weft.h>\n\n"
      "weft::Schedule& schedule_{}(weft::Schedule& schedule) {{\n"
      "  using namespace weft;\n",
      algorithm_.name, target_.name, algorithm_.name, algorithm_.name);
  for (const std::string& index : indices) text += fmt::format("  WEFT_INDEX({});\n", index);
  if (steps_.empty()) return text + "  return schedule;\n}\n";
  text += "  return schedule";
  for (const Step& step : steps_) text += "\n      " + step.cpp();
  return text + ";\n}\n";
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

std::vector<Step> steps_of_json(std::string_view json, std::string_view file, CallPlace place) {
  return user_call(place, [&] { return Reader(file).steps(json); });
}

}  // namespace weft
