#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/formats/suggestion.h>
#include <weft/search/records/words.h>
#include <weft/search/tool/option_words.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace weft::tool {
namespace {

/// The validator of an option that says which words it takes.
constexpr const char* rule_name = "words";

/// The verb that was chosen, or the part of one: what the words after it are for.
const CLI::App& chosen_verb(const CLI::App& app) {
  const std::vector<const CLI::App*> chosen =
      app.get_subcommands([](const CLI::App* verb) { return verb->parsed() > 0; });
  return chosen.empty() ? app : chosen_verb(*chosen.front());
}

/// "weft db query"
std::string full_name(const CLI::App& verb) {
  const CLI::App* parent = verb.get_parent();
  return parent == nullptr ? verb.get_name() : full_name(*parent) + " " + verb.get_name();
}

/// Whether the message begins with the option: "--emitter: llwm", "--n is required", "--a requires --b".
bool names_option(std::string_view message, const std::string& option) {
  if (option.empty() || !message.starts_with(option)) return false;
  const std::string_view behind = message.substr(option.size());
  return behind.empty() || behind.front() == ' ' || behind.front() == ':';
}

const CLI::Option* option_of_message(const CLI::App& verb, std::string_view message) {
  const auto options = verb.get_options();
  const auto found = std::ranges::find_if(
      options, [&](const CLI::Option* option) { return names_option(message, option->get_name()); });
  return found == options.end() ? nullptr : *found;
}

/// "--n N: columns of a product"
std::string text_of(const CLI::Option& option) {
  const std::string takes = option.nonpositional() ? " " + option.get_type_name() : "";
  return fmt::format("{}{}: {}", option.get_name(), takes, option.get_description());
}

UserError missing_verb(const CLI::App& verb, const std::vector<std::string>& rest) {
  std::vector<std::string> names;
  for (const CLI::App* part : verb.get_subcommands(nullptr)) names.push_back(part->get_name());
  const std::string verbs = fmt::format("{}", fmt::join(names, ", "));
  for (const char* flag : {"--help", "--help-all", "--version"}) names.emplace_back(flag);
  if (rest.empty()) return {"no verb is given", full_name(verb), "nothing", verbs};
  return {"there is no such verb", full_name(verb), rest.front(),
          verbs + did_you_mean(rest.front(), std::vector<std::string_view>(names.begin(), names.end()))};
}

/// "; did you mean --weights in place of --wieghts?", for the first of the words that is near an option.
std::string nearest_option(const CLI::App& verb, const std::vector<std::string>& rest) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (const std::string& word : rest) {
    const std::size_t begin = word.find_first_not_of('-');
    if (begin == 0 || begin == std::string::npos) continue;
    const std::string_view near = nearest_name(std::string_view(word).substr(begin), known);
    if (!near.empty()) return fmt::format("; did you mean --{} in place of {}?", near, word);
  }
  return {};
}

UserError surplus_words(const CLI::App& verb, const std::vector<std::string>& rest) {
  std::vector<std::string> options;
  for (const CLI::Option* option : verb.get_options()) options.push_back(option->get_name());
  return {"the verb does not take a word", full_name(verb), fmt::format("{}", fmt::join(rest, " ")),
          fmt::format("{}{}", fmt::join(options, ", "), nearest_option(verb, rest))};
}

}  // namespace

CLI::Option* only(CLI::Option* option, const std::string& accepted,
                  std::function<bool(const std::string&)> takes) {
  const auto rule = [accepted, takes = std::move(takes)](std::string& word) {
    return takes(word) ? std::string() : accepted;
  };
  try {
    option->get_validator(rule_name)->operation(rule);
    return option;
  } catch (const CLI::OptionNotFound&) {
    return option->check(CLI::Validator(rule, std::string(), rule_name));
  }
}

CLI::Option* only(CLI::Option* option, std::vector<std::string> words) {
  const std::string accepted = fmt::format("{}", fmt::join(words, ", "));
  return only(option, accepted, [words = std::move(words)](const std::string& word) {
    return std::ranges::find(words, word) != words.end();
  });
}

CLI::Option* only_from(CLI::Option* option, std::int64_t least, std::int64_t most) {
  return only(option, fmt::format("a whole number from {} to {}", least, most), [=](const std::string& word) {
    const auto number = read_number<std::int64_t>(word);
    return number && least <= *number && *number <= most;
  });
}

CLI::Option* only_between(CLI::Option* option, double least, double most) {
  return only(option, fmt::format("a number from {} to {}", least, most), [=](const std::string& word) {
    const auto number = read_number<double>(word);
    return number && least <= *number && *number <= most;
  });
}

CLI::Option* only_above_zero(CLI::Option* option) {
  return only(option, "a number above 0", [](const std::string& word) {
    const auto number = read_number<double>(word);
    return number && 0 < *number && *number <= std::numeric_limits<double>::max();
  });
}

UserError asked_for_help(const CLI::App& app) {
  return {"help is asked for by an option", "weft", "help", full_name(chosen_verb(app)) + " --help"};
}

UserError mistake_of(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& verb = chosen_verb(app);
  const std::vector<std::string> rest = app.remaining(true);
  const std::string message = error.what();
  const CLI::Option* option = option_of_message(verb, message);
  if (!rest.empty() && rest.front() == "help") return asked_for_help(app);
  // The value behind an option that there is not may have been taken for the verb's word.
  const bool has_unknown_option =
      std::ranges::any_of(rest, [](const std::string& word) { return word.starts_with("-"); });
  if (has_unknown_option || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    return surplus_words(verb, rest);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    if (option == nullptr) return missing_verb(verb, rest);
    return {option->nonpositional() ? "an option is missing" : "a word is missing", full_name(verb),
            rest.empty() ? "nothing" : fmt::format("{}", fmt::join(rest, " ")),
            text_of(*option) + nearest_option(verb, rest)};
  }
  if (option == nullptr)
    return {"the command line cannot be read", full_name(verb), message, "what --help says"};
  const std::string given = fmt::format("{}", fmt::join(option->results(), ", "));
  if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr)
    return {"an option has no use without another", option->get_name(), given,
            "with it " + message.substr(message.rfind(' ') + 1)};
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (given.empty()) return {"an option has no value", option->get_name(), "nothing", text_of(*option)};
    return {"an option is given more than once", option->get_name(), given, "one of them"};
  }
  const std::string begin = option->get_name() + ": ";
  const std::string rule = message.starts_with(begin)
                               ? message.substr(begin.size()) + ": " + option->get_description()
                               : text_of(*option);
  return {"an option cannot be read", option->get_name(), given, rule};
}

}  // namespace weft::tool
