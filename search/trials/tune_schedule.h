// The search of a schedule of the user's own, whose numbers were left open with knob().
//
//   Schedule s = schedule(linear, weights, target_named("cpu"));
//   s.tile(m = knob("rows", {4, 8, 16}), n = knob("width", {32, 64})).parallel(m.outer);
//   const Kernel kernel = compile(tune(s, "cpu").schedule);
#pragma once

#include <weft/backends/runtime/device.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/search/trials/tune.h>

#include <concepts>
#include <functional>
#include <string>

namespace weft {

/// What the search of a schedule found.
struct Tuned {
  Schedule schedule;  ///< with the fastest values in the place of its knobs
  TuneResult result;
  std::string verdict;  ///< how it stands against dense, in a few sentences, one a line
};

/// Tries values for the knobs of a schedule on "cpu", "cuda", "cuda:1" or "sim:sm_90a". Which values go
/// together is asked of the program: what does not fit the target is never built. Operands are drawn; sizes
/// that a launch decides are those of the weights, or 256, or the next multiple. Trials are lines of
/// `database`, which a later search of the same schedule goes on from; without one they are forgotten. Which
/// device measures is said by `device` alone.
///
/// A CUDA device is opened by the trials' processes, so call it before this one opens it. UserError for a
/// name of no device; RuntimeError where no kernel was right; else as tune() of a problem.
Tuned tune(const Schedule& schedule, const std::string& device, const TuneOptions& options = {},
           const std::string& database = {}, CallPlace place = {});

WEFT_CALL_REFUSED(
    Tuned, tune,
    "tune(schedule, \"cpu\"), the name of a device, such as \"cuda\" and \"sim:sm_90a\" too, and "
    "options behind it: {.trials = 40}")
/// Always refused: kernels are tried on a device.
template <class Machine, class... Rest>
  requires std::same_as<Machine, Target> || std::same_as<Machine, Device>
Tuned tune(const Schedule& schedule, const Machine&, const TuneOptions& options = {}, const Rest&...) {
  static_assert(
      !std::same_as<Machine, Device>,
      "weft: a schedule is tuned on a Device, which the processes of trials cannot share; accepted: "
      "the name of one in its place: \"cpu\", \"cuda\" or \"sim:sm_90a\"");
  static_assert(
      !std::same_as<Machine, Target>,
      "weft: a schedule is tuned on a target; accepted: the name of a device in its place: \"cpu\", "
      "\"cuda\" or \"sim:sm_90a\"");
  return tune(schedule, std::string(), options);
}

namespace detail {

/// What options of a search may be called by mistake, in the order in which they are usually given.
struct NamesOfSearchOptions {
  Anything measure = {}, device = {}, target = {}, strategy = {}, method = {}, trials = {}, n_trials = {},
           num_trials = {}, max_trials = {}, iterations = {}, seconds = {}, time = {}, budget = {},
           timeout = {}, time_limit = {}, max_seconds = {}, limits = {}, knobs = {}, seed = {}, jobs = {},
           threads = {}, num_threads = {}, any_architecture = {}, any_format = {}, any_recipe = {},
           baselines = {}, only = {}, predicted = {}, rounds = {}, repeats = {}, db = {}, database = {},
           log = {}, verbose = {}, progress = {};
};

}  // namespace detail
WEFT_OPTION_REFUSED(Tuned, tune, detail::NamesOfSearchOptions,
                    ".measure, .strategy, .trials, .seconds, .limits, .seed, .jobs, .baselines in this "
                    "order, such as {.trials "
                    "= 40, .seconds = 60}",
                    const Schedule&, const std::string&)

/// What main() of a program is that searches: what weft_add_search of CMake compiles and runs.
///
///   int main(int count, char** arguments) {
///     return weft::search_program(count, arguments, [](const weft::Target& target) { return layer(target);
///     });
///   }
///
/// Reads `--out FILE --device DEVICE --target TARGET --db FILE --trials NUMBER`, of which --out is needed,
/// and writes the fastest schedule as weft tune does. Without a target it is that of the CPU or of the
/// simulated device. Errors go to stderr. Returns 0, 2 for what the user gave, 1 for the rest.
int search_program(int count, char** arguments, const std::function<Schedule(const Target&)>& make,
                   CallPlace place = {});

}  // namespace weft
