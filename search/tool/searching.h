// What verbs that search share: how long, for which target, and how Ctrl-C ends them.
#pragma once

#include <signal.h>
#include <weft/scheduler/hardware/target.h>
#include <weft/search/measure/trial.h>

#include <optional>
#include <string>

namespace weft::tool {

/// The first Ctrl-C asks the search to finish its trial; the second one ends the process. One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool was_asked();

 private:
  struct sigaction former_{};
};

/// "90", "90s", "10m", "1h30m" as seconds. UserError, naming the option, for others.
double seconds_of(const std::string& option, const std::string& text);

/// The target that is named; else the newest of the CUDA device, "cpu" where that measures, and sm_90a where
/// nothing runs. The device is asked in a process of its own: the search's must not open it.
const Target& searched_target(const std::string& name, const MeasureOptions& measure);
/// That of the CUDA device, asked likewise; nothing where there is none.
std::optional<std::string> target_of_any_gpu();

}  // namespace weft::tool
