// How a verb is declared: its name, its page of help, and the options that it takes.
#pragma once

#include <weft/search/records/words.h>
#include <weft/search/tool/help.h>
#include <weft/search/tool/option_words.h>
#include <weft/search/tool/verbs.h>

#include <CLI/CLI.hpp>
#include <concepts>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace weft::tool {

/// A verb, and what its options are read into, which lives as long as the verb.
template <class Options>
struct NewVerb {
  CLI::App& verb;
  Options& options;
};

/// Adds a verb that does `run` with its options; `footer` ends its page of help.
template <class Options>
NewVerb<Options> new_verb(CLI::App& app, Action& action, const std::string& name, const std::string& summary,
                          const std::string& footer, int (*run)(const Options&)) {
  const auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(name, summary);
  verb->footer(footer);
  verb->callback([options, run, &action] { action = [options, run] { return run(*options); }; });
  return {*verb, *options};
}

/// The numbers that a value is made of.
template <class Value>
struct NumberIn {
  using Type = Value;
};
template <class Value>
struct NumberIn<std::optional<Value>> : NumberIn<Value> {};
template <class Value>
struct NumberIn<std::vector<Value>> : NumberIn<Value> {};

/// The option takes numbers that its value can hold.
template <class Number>
void only_numbers(CLI::Option* option) {
  using Limits = std::numeric_limits<Number>;
  const std::string whole = std::is_signed_v<Number> ? "a whole number up to " : "a whole number from 0 to ";
  only(option, std::integral<Number> ? whole + std::to_string(Limits::max()) : "a number",
       [](const std::string& word) { return read_number<Number>(word).has_value(); });
}

/// An option. Its help shows what it is where it is left out, unless that is nothing, and else what it takes.
template <std::equality_comparable Value>
CLI::Option* add_option(CLI::App& verb, const std::string& name, Value& value, const std::string& text,
                        const char* takes = nullptr) {
  CLI::Option* option = verb.add_option(name, value, text);
  if (takes != nullptr) option->type_name(takes);
  if (value != Value{}) option->capture_default_str();
  // Nothing would be written, and nobody told: a variable of the shell was empty.
  if (std::same_as<Value, std::string> && name.ends_with("--out"))
    only(option, "a path", [](const std::string& word) { return !word.empty(); });
  using Number = typename NumberIn<Value>::Type;
  if constexpr (std::is_arithmetic_v<Number> && !std::same_as<Number, bool>) only_numbers<Number>(option);
  return option;
}

/// Several words, given one by one or joined by commas.
template <std::equality_comparable Value>
CLI::Option* add_list(CLI::App& verb, const std::string& name, Value& values, const std::string& text,
                      const char* takes = nullptr) {
  return add_option(verb, name, values, text, takes)->delimiter(',');
}

inline void add_json_flag(CLI::App& verb, bool& json, const char* text = "one JSON document") {
  verb.add_flag("--json", json, text);
}

}  // namespace weft::tool
