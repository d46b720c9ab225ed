#include <fmt/format.h>
#include <weft/backends/runtime/device.h>
#include <weft/dsl/errors.h>
#include <weft/formats/suggestion.h>
#include <weft/search/tool/command_line.h>
#include <weft/search/tool/help.h>
#include <weft/search/tool/verbs.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <exception>
#include <string>

namespace weft {
namespace {

using tool::Action;

/// In the order of the help.
constexpr std::array verbs{tool::add_devices, tool::add_formats, tool::add_recipes, tool::add_steps,
                           tool::add_targets, tool::add_inspect, tool::add_prune,   tool::add_check,
                           tool::add_compile, tool::add_export,  tool::add_run,     tool::add_verify,
                           tool::add_bench,   tool::add_tune,    tool::add_measure, tool::add_db,
                           tool::add_replay,  tool::add_demo,    tool::add_train,   tool::add_predict,
                           tool::add_report,  tool::add_plot};

/// "did you mean --weights?" for the word of the command line that is nearest to a flag or verb.
std::string suggestion(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> known;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(verb->get_name());
    if (!verb->parsed()) continue;
    for (const CLI::Option* option : verb->get_options()) known.push_back("--" + option->get_single_name());
  }
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  for (int i = 1; i < argc; ++i) {
    const std::string_view word(argv[i]);
    const bool verb_or_flag = i == 1 || word.starts_with("--");
    if (!verb_or_flag || std::find(candidates.begin(), candidates.end(), word) != candidates.end()) continue;
    const std::string_view near = nearest_name(word, candidates);
    if (!near.empty()) return fmt::format("did you mean {} in place of {}?\n", near, word);
  }
  return {};
}

/// Whether the message is about the option: "--alpha = two", "--emitter: llwm not in {llvm,cuda}".
bool names_option(const std::string& message, const std::string& option) {
  const std::size_t at = message.find(option);
  if (option.empty() || at == std::string::npos) return false;
  const std::string_view behind = std::string_view(message).substr(at + option.size());
  return behind.empty() || behind.front() == ' ' || behind.front() == ':';
}

/// What an option takes whose value could not be read, as its help says; where a word is none of the verb's,
/// what options that has.
std::string accepted_words(const CLI::App& app, const CLI::ParseError& error) {
  std::string options;
  for (const CLI::App* verb : app.get_subcommands()) {
    for (const CLI::Option* option : verb->get_options()) {
      const std::string name = option->get_name();
      options += (options.empty() ? "" : ", ") + name;
      if (names_option(error.what(), name))
        return fmt::format("accepted: {} {}: {}\n", name, option->get_type_name(), option->get_description());
    }
  }
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  return is_extra && !options.empty() ? "accepted: " + options + "\n" : std::string();
}

int exit_code_of_runtime_error(const std::string& text) {
  return text.find("CUDA device") != std::string::npos ? tool::exit_no_device : tool::exit_failed;
}

int run(const Action& action) {
  try {
    // Whoever types a command has no line of a program: nested calls name none.
    return user_call(SourcePlace(), action);
  } catch (const InfeasibleError& error) {
    fmt::print(stderr, "weft: {}\n", error.what());
    return tool::exit_infeasible;
  } catch (const UserError& error) {
    fmt::print(stderr, "weft: {}\n", error.what());
    return tool::exit_usage;
  } catch (const RuntimeError& error) {
    fmt::print(stderr, "weft: {}\n", error.what());
    return exit_code_of_runtime_error(error.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft: {}\n", error.what());
    return tool::exit_failed;
  }
}

}  // namespace

int command_line(int argc, char** argv) {
  CLI::App app("weft: kernels for pruned weights. Data goes to stdout, messages to stderr.", "weft");
  app.formatter(tool::help_formatter());
  app.set_help_all_flag("--help-all", "every option with its explanation");
  app.footer(
      "Exit codes: 0 ok; 1 a device, a compiler or the disk failed; 2 what was given cannot be used, such\n"
      "as an option, or a file that cannot be opened or read; 3 infeasible schedule; 4 mismatch; 5 no\n"
      "suitable device; 130 interrupted. weft VERB --help says what a verb takes.\n"
      "Example: weft demo");
  app.require_subcommand(1);
  app.set_version_flag("--version", "weft 0.1.0");
  Action action;
  for (const auto add : verbs) add(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    if (code == 0) return tool::exit_ok;
    fmt::print(stderr, "{}{}", accepted_words(app, error), suggestion(app, argc, argv));
    return tool::exit_usage;
  }
  const int code = run(action);
  if (std::fflush(stdout) != 0) {
    fmt::print(stderr, "weft: stdout cannot be written\n");
    return tool::exit_failed;
  }
  return code;
}

}  // namespace weft
