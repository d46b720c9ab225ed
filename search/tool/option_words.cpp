#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/formats/suggestion.h>
#include <weft/search/records/words.h>
#include <weft/search/tool/option_words.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
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

/// What one verb has in place of an option that others have.
struct Counterpart {
  std::string_view asked;
  std::string_view own;  ///< an option, or without dashes a word
  std::string_view use;
};
/// The first that a verb has counts.
constexpr std::array counterparts{
    Counterpart{"measure", "--device", "--device cpu, --device cuda or --device sim:sm_90a"},
    Counterpart{"measure", "--target", "--target cpu or --target sm_90a"},
    Counterpart{"device", "--measure", "--measure cpu, --measure gpu or --measure sim"},
    Counterpart{"device", "--target", "--target cpu or --target sm_90a, as nothing is run"},
    Counterpart{"device", "--archs", "--archs x86-64-v4 or --archs sm_90a, as nothing is run"},
    Counterpart{"target", "--archs", "--archs x86-64-v4 or --archs sm_90a"},
    Counterpart{"target", "--measure", "--measure cpu, --measure gpu or --measure sim"},
    Counterpart{"target", "--device", "--device cpu, --device cuda or --device sim:sm_90a"},
    Counterpart{"archs", "--target", "--target cpu or --target sm_90a"},
    Counterpart{"recipe", "--recipes", "--recipes NAME"},
    Counterpart{"recipes", "--recipe", "--recipe NAME"},
    Counterpart{"set", "--recipe", "--recipe NAME:KNOB=VALUE"},
    Counterpart{"trials", "--try", "--try 3"},
    Counterpart{"try", "--trials", "--trials 3"},
    Counterpart{"budget", "--time", "--time 90s"},
    Counterpart{"output", "--out", "--out FILE"},
    Counterpart{"weights", "weights", "the file by itself"},
    Counterpart{"weights", "path", "the path by itself"},
    Counterpart{"weights", "file", "the file by itself"},
    Counterpart{"db", "databases", "the files by themselves"},
    Counterpart{"format", "name", "the name by itself"},
    Counterpart{"recipe", "name", "the name by itself"},
    Counterpart{"target", "name", "the name by itself"}};

/// The verbs below `app`, and the parts of those, that have the option.
void find_verbs_with(const std::string& option, const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::App* verb : app.get_subcommands(nullptr)) {
    if (verb->get_option_no_throw(option) != nullptr) names.push_back(full_name(*verb));
    find_verbs_with(option, *verb, names);
  }
}

const CLI::App* part_named(const CLI::App& app, const std::string& name) {
  const auto parts = app.get_subcommands([&](const CLI::App* part) { return part->get_name() == name; });
  return parts.empty() ? nullptr : parts.front();
}

const CLI::App& whole_of(const CLI::App& verb) {
  return verb.get_parent() == nullptr ? verb : whole_of(*verb.get_parent());
}

/// What one word of an option that the verb lacks may mean: what it has in its place, one that is near, a
/// verb, an option of other verbs. Nothing for other words.
std::string meaning_of_option(const CLI::App& verb, const std::string& word) {
  const std::size_t begin = word.find_first_not_of('-');
  if (begin == 0 || begin == std::string::npos) return {};
  const bool is_short = begin == 1 && word.size() > 2;  // -n4
  const std::string name =
      word.substr(begin, word.find_first_of(is_short ? "=0123456789" : "=", begin) - begin);
  for (const auto& [asked, own, use] : counterparts) {
    if (name == asked && verb.get_option_no_throw(std::string(own)) != nullptr)
      return fmt::format("; in place of --{} {} has {}", name, full_name(verb), use);
  }
  std::vector<std::string> options, verbs;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& one : option->get_lnames()) options.push_back(one);
  }
  const std::vector<std::string_view> known(options.begin(), options.end());
  if (const std::string_view near = nearest_name(name, known); !near.empty())
    return fmt::format("; did you mean --{} in place of {}?", near, word);
  if (const CLI::App* part = part_named(verb, name))
    return fmt::format("; did you mean {} in place of {}?", full_name(*part), word);
  find_verbs_with("--" + name, whole_of(verb), verbs);
  return verbs.empty() ? std::string()
                       : fmt::format("; --{} is an option of {}", name, fmt::join(verbs, ", "));
}

/// The meaning of the first of the words that has one.
std::string meaning_of_options(const CLI::App& verb, const std::vector<std::string>& rest) {
  for (const std::string& word : rest) {
    if (std::string meaning = meaning_of_option(verb, word); !meaning.empty()) return meaning;
  }
  return {};
}

/// "; one verb a call: weft run, or weft check", or "; did you mean weft model tune?" for "weft modle tune",
/// where words that are no options name verbs.
std::string meaning_of_verbs(const CLI::App& verb, std::vector<std::string> words) {
  const CLI::App& whole = whole_of(verb);
  // Those with a part that is called as the verb is.
  std::vector<std::string> holder_names;
  for (const CLI::App* one : whole.get_subcommands(nullptr)) {
    if (part_named(*one, verb.get_name()) != nullptr) holder_names.push_back(one->get_name());
  }
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_positional() && !option->results().empty()) words.push_back(option->results().front());
  }
  const std::vector<std::string_view> holders(holder_names.begin(), holder_names.end());
  for (const std::string& word : words) {
    if (const std::string_view near = nearest_name(word, holders); !near.empty())
      return fmt::format("; did you mean weft {} {}?", near, verb.get_name());
    if (part_named(whole, word) != nullptr)
      return fmt::format("; one verb a call: {}, or weft {}", full_name(verb), word);
  }
  return {};
}

UserError surplus_words(const CLI::App& verb, const std::vector<std::string>& rest) {
  std::vector<std::string> options;
  for (const CLI::Option* option : verb.get_options()) options.push_back(option->get_name());
  const std::string meaning = meaning_of_options(verb, rest);
  const bool has_option = std::ranges::any_of(rest, [](const auto& word) { return word.starts_with("-"); });
  return {has_option ? "the verb has no such option" : "the verb does not take a word", full_name(verb),
          fmt::format("{}", fmt::join(rest, " ")),
          fmt::format("{}{}", fmt::join(options, ", "),
                      meaning.empty() ? meaning_of_verbs(verb, rest) : meaning)};
}

/// "; did you mean 1000 in place of 1e3?": a value of the same meaning that the option's rule takes.
std::string nearest_value(const CLI::Option& option, const std::string& given) {
  const auto takes = [&](std::string value) {
    try {
      return (*const_cast<CLI::Option&>(option).get_validator(rule_name))(value).empty();
    } catch (const CLI::OptionNotFound&) {
      return false;
    }
  };
  std::string value = given;
  std::erase_if(value, [](char c) { return c == ' ' || c == '\t'; });
  const bool is_share = value.ends_with('%');
  if (is_share) value.pop_back();
  if (const auto number = read_number<double>(value); number && !takes(value))
    value = fmt::format("{:.0f}", *number);
  else if (number && is_share)
    value = fmt::format("{}", *number / 100);
  const bool is_other = !value.empty() && value != given && takes(value);
  return is_other ? fmt::format("; did you mean {} in place of \"{}\"?", value, given) : std::string();
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
            text_of(*option) + meaning_of_options(verb, rest)};
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
  std::string nearest;
  for (const std::string& one : option->results()) {
    if (nearest.empty()) nearest = nearest_value(*option, one);
  }
  return {"an option cannot be read", option->get_name(), given, rule + nearest};
}

}  // namespace weft::tool
