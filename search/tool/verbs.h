// The verbs of the command, one file each. Each adds its flags and its action to the command; the action
// returns the exit code.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace weft::tool {

/// What a verb leaves behind when it was chosen on the command line.
using Action = std::function<int()>;

void add_bench(CLI::App& app, Action& action);
void add_db(CLI::App& app, Action& action);
void add_devices(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_prune(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_compile(CLI::App& app, Action& action);
void add_tune(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_measure(CLI::App& app, Action& action);
void add_replay(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_demo(CLI::App& app, Action& action);
void add_train(CLI::App& app, Action& action);
void add_predict(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_plot(CLI::App& app, Action& action);
void add_formats(CLI::App& app, Action& action);
void add_recipes(CLI::App& app, Action& action);
void add_targets(CLI::App& app, Action& action);
void add_steps(CLI::App& app, Action& action);

/// Exit codes of the command, by the kind of the error: RuntimeError is exit_failed, UserError exit_usage, so
/// that a file which cannot be opened is one of usage whatever option names it.
enum ExitCode : int {
  exit_ok = 0,
  exit_failed = 1,
  exit_usage = 2,
  exit_infeasible = 3,
  exit_mismatch = 4,
  exit_no_device = 5,
  exit_interrupted = 130,
};

}  // namespace weft::tool
