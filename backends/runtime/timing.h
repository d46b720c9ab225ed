// How long a launch takes.
#pragma once

#include <weft/backends/runtime/device.h>
#include <weft/backends/runtime/stream.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>

#include <concepts>
#include <functional>
#include <string>
#include <vector>

namespace weft {

struct TimingOptions {
  int rounds = 15;  ///< samples
  int repeats = 0;  ///< launches in a sample; 0 chooses as many as make a sample `minimum_seconds` long
  int most_repeats = 200;
  int warm_up = 3;        ///< launches before the first sample
  bool flush_l2 = false;  ///< every launch finds the last cache full of other data
  bool use_graph =
      true;  ///< CUDA: launch the repeats as one graph, so that the host's launch time does not count
  double minimum_seconds = 0.0005;
  double maximum_seconds = 5;  ///< past this no more samples are begun, once there are three
  double limit_seconds = 20;   ///< CUDA: the longest that one sample may take before it counts as stuck
};

/// Microseconds a launch, over `count` samples.
struct Timing {
  double median = 0;
  double minimum = 0;
  double percentile_95 = 0;
  double spread = 0;  ///< (percentile_95 - minimum) / median
  int count = 0;
  int repeats = 0;     ///< launches in each sample
  std::string method;  ///< "graph", "events" or "clock", with "+flush" when the cache was flushed
};

/// Times what `launch_once` gives to the stream: one launch, or the few that make up one call. It must do the
/// same every time, and must not wait or allocate.
///
/// CUDA: a sample is a graph of `repeats` launches on a stream of its own, between two events. With flush_l2
/// a memset of twice the L2 stands before each launch, and a second graph of the memsets alone is timed next
/// to it; the sample is the difference. So the cold time has the same launch cost in it as the warm one,
/// where a pair of events around each launch would add one to several microseconds of its own. Cached lines
/// that the memset left unwritten are written back in both graphs and cancel as well. What remains is the
/// noise of two times, so take more rounds.
///
/// CPU: the steady clock around `repeats` launches; with flush_l2 around each single launch, a buffer of
/// twice the last cache being written in between.
///
/// UserError for options that no timing can follow, and for empty functions. RuntimeError "kernel did not
/// finish within N s" for a stuck kernel (the device stays busy: leave the process by _exit), and when a
/// kernel fails. On the CPU a launch cannot be stopped.
Timing time(const Device& device, const std::function<void(StreamHandle)>& launch_once,
            const TimingOptions& options = {}, CallPlace place = {});
/// Always refused: launches go to the stream that is timed.
template <std::invocable Launch>
  requires(!std::invocable<Launch, StreamHandle>)
Timing time(const Device&, const Launch&, const TimingOptions& = {}, CallPlace = {}) {
  static_assert(
      detail::never<Launch>,
      "weft: what is timed does not take the stream; accepted: time(device, [&](StreamHandle stream) "
      "{ bound.launch(stream); })");
  return {};
}

/// Times several contestants in one run: they are warmed up and prepared first, then every round takes one
/// sample of each, beginning with another one each time, so that a clock or a neighbour that changes meets
/// all of them alike. On a CPU, whose caches the others had meanwhile, a launch that does not count comes
/// before each sample, unless caches are flushed. Timings in the order of the contestants; `maximum_seconds`
/// counts for each. Errors as time().
std::vector<Timing> time_in_turns(const Device& device,
                                  const std::vector<std::function<void(StreamHandle)>>& contestants,
                                  const TimingOptions& options = {}, CallPlace place = {});

/// Median, minimum, 95th percentile (linear between samples) and spread of `microseconds`, which is not
/// empty.
Timing summarize(std::vector<double> microseconds);

}  // namespace weft
