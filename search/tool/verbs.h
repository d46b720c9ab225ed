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

using AddVerb = void(CLI::App& app, Action& action);
AddVerb add_bench, add_db, add_devices, add_inspect, add_prune, add_check, add_compile, add_tune, add_export,
    add_measure, add_replay, add_run, add_verify, add_demo, add_train, add_predict, add_report, add_plot,
    add_formats, add_recipes, add_targets, add_steps, add_model;

/// Exit codes of the command, by the kind of the error: RuntimeError is exit_failed, UserError exit_usage, so
/// that a file which cannot be opened is one of usage whatever option names it.
enum ExitCode : int {
  exit_ok = 0,
  exit_failed = 1,
  exit_usage = 2,
  exit_infeasible = 3,
  exit_mismatch = 4,
  exit_no_device = 5,
  exit_no_gain = 6,
  exit_interrupted = 130,
};

}  // namespace weft::tool
