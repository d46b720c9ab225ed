#include <fmt/format.h>
#include <weft/backends/runtime/device.h>
#include <weft/backends/version.h>
#include <weft/dsl/errors.h>
#include <weft/search/tool/command_line.h>
#include <weft/search/tool/command_words.h>
#include <weft/search/tool/help.h>
#include <weft/search/tool/option_words.h>
#include <weft/search/tool/verbs.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace weft {
namespace {

using tool::Action;

/// In the order of the help.
constexpr std::array verbs{tool::add_devices, tool::add_formats, tool::add_recipes, tool::add_steps,
                           tool::add_targets, tool::add_inspect, tool::add_prune,   tool::add_check,
                           tool::add_compile, tool::add_export,  tool::add_run,     tool::add_verify,
                           tool::add_bench,   tool::add_tune,    tool::add_measure, tool::add_db,
                           tool::add_replay,  tool::add_demo,    tool::add_train,   tool::add_predict,
                           tool::add_report,  tool::add_plot,    tool::add_model};

int exit_code_of_runtime_error(const std::string& text) {
  return text.find("CUDA device") != std::string::npos ? tool::exit_no_device : tool::exit_failed;
}

/// Says what went wrong, in lines or, beside --json, as one JSON document on a line. Returns the exit code.
class Complaint {
 public:
  explicit Complaint(bool json) : json_(json) {}

  int operator()(const UserError& error, int code) const {
    const UserError told(tool::in_words_of_command(error.report()));
    const UserError::Report& report = told.report();
    return say(told,
               {{"what", report.what},
                {"where", report.where},
                {"found", report.found},
                {"accepted", report.accepted}},
               code);
  }
  int operator()(const std::exception& error, int code) const {
    return say(error, {{"what", error.what()}}, code);
  }

 private:
  int say(const std::exception& error, nlohmann::ordered_json fields, int code) const {
    if (json_) {
      fields["exit_code"] = code;
      // Names of files need not be UTF-8.
      fmt::print(stderr, "{}\n",
                 nlohmann::ordered_json{{"error", fields}}.dump(
                     -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    } else {
      fmt::print(stderr, "weft: {}\n", error.what());
    }
    return code;
  }

  bool json_;
};

/// Whether the answer is one JSON document; the --json of weft bench names a file beside a table.
bool wants_json(const CLI::App& app, const std::vector<std::string>& words) {
  if (std::ranges::find(words, "--json") == words.end()) return false;
  const CLI::App* verb = &app;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto inner =
        verb->get_subcommands([&](const CLI::App* one) { return one->get_name() == words[i]; });
    if (inner.empty()) break;
    verb = inner.front();
  }
  const CLI::Option* option = verb->get_option_no_throw("--json");
  return option == nullptr || option->get_expected_max() == 0;
}

int run(const Action& action, const Complaint& complain) {
  try {
    // Whoever types a command has no line of a program: nested calls name none.
    return user_call(SourcePlace(), action);
  } catch (const InfeasibleError& error) {
    return complain(error, tool::exit_infeasible);
  } catch (const UserError& error) {
    return complain(error, tool::exit_usage);
  } catch (const RuntimeError& error) {
    return complain(error, exit_code_of_runtime_error(error.what()));
  } catch (const std::exception& error) {
    return complain(error, tool::exit_failed);
  }
}

}  // namespace

int command_line(int argc, char** argv) {
  CLI::App app("weft: kernels for pruned weights. Data goes to stdout, messages to stderr.", "weft");
  app.formatter(tool::help_formatter());
  app.set_help_all_flag("--help-all", "every option with its explanation");
  app.footer(
      "Exit codes: 0 ok; 1 a device, a compiler or the disk failed; 2 what was given cannot be used, such\n"
      "as an option, or a file that cannot be opened, read or written; 3 infeasible schedule; 4 mismatch;\n"
      "5 no suitable device; 130 interrupted. weft VERB --help says what a verb takes.\n"
      "Example: weft demo");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("weft ") + weft_version());
  Action action;
  for (const auto add : verbs) add(app, action);
  const std::vector<std::string> words(argv, argv + argc);
  const Complaint complain(wants_json(app, words));
  try {
    app.parse(argc, argv);
    // What a verb would take for a file.
    const bool has_options =
        std::ranges::any_of(words, [](const std::string& word) { return word.starts_with("-"); });
    if (words.back() == "help" && !has_options) return complain(tool::asked_for_help(app), tool::exit_usage);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return complain(tool::mistake_of(app, error), tool::exit_usage);
  }
  const int code = run(action, complain);
  if (std::fflush(stdout) != 0) {
    fmt::print(stderr, "weft: stdout cannot be written\n");
    return tool::exit_failed;
  }
  return code;
}

}  // namespace weft
