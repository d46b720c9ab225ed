// What timing does alike on every device whose launches have to be sampled. For files of this folder.
#pragma once

#include <weft/backends/runtime/stopwatch.h>
#include <weft/backends/runtime/timing.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace weft {

using TimedLaunch = std::function<void(StreamHandle)>;

/// Launches of a sample, where one takes so many seconds.
inline int chosen_repeats(const TimingOptions& options, double one_seconds) {
  if (options.repeats > 0) return options.repeats;
  const double wanted = std::ceil(options.minimum_seconds / std::max(one_seconds, 1e-9));
  return static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(options.most_repeats)));
}

/// As time_in_turns. A `Timer` has one contestant: it warms it up in prepare(), takes one sample() at a time,
/// where it has a return_to() after others had the device, and has the result().
template <class Timer>
std::vector<Timing> timed_in_turns(const Device& device, const std::vector<TimedLaunch>& contestants,
                                   const TimingOptions& options) {
  const Stopwatch watch;
  std::vector<std::unique_ptr<Timer>> timers;
  for (const TimedLaunch& launch_once : contestants) {
    timers.push_back(std::make_unique<Timer>(device, launch_once, options));
    timers.back()->prepare();
  }
  const double limit = options.maximum_seconds * static_cast<double>(contestants.size());
  for (int round = 0; round < options.rounds; ++round) {
    if (round >= 3 && watch.seconds() > limit) break;
    for (std::size_t i = 0; i < timers.size(); ++i) {
      Timer& timer = *timers[(i + static_cast<std::size_t>(round)) % timers.size()];
      if constexpr (requires { timer.return_to(); })
        if (timers.size() > 1) timer.return_to();
      timer.sample();
    }
  }
  std::vector<Timing> timings;
  for (const auto& timer : timers) timings.push_back(timer->result());
  return timings;
}

}  // namespace weft
