#include <weft/backends/runtime/timing.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <sstream>

namespace weft {

// In cuda_timing.cpp.
std::vector<Timing> time_on_cuda(const Device& device,
                                 const std::vector<std::function<void(StreamHandle)>>& contestants,
                                 const TimingOptions& options);

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double quantile(const std::vector<double>& sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// Twice the largest cache, within reason on machines whose cache is shared by hundreds of cores.
std::size_t flush_bytes(const Device& device) {
  constexpr std::size_t least = 32U << 20U;
  constexpr std::size_t most = 512U << 20U;
  return std::clamp(2 * device.description().l2_bytes, least, most);
}

class CpuTimer {
 public:
  CpuTimer(const Device& device, const std::function<void(StreamHandle)>& launch_once, bool flush)
      : launch_once_(launch_once), flush_(flush ? flush_bytes(device) / sizeof(int) : 0) {}

  /// Seconds of `repeats` launches.
  double sample(int repeats) {
    double total = 0;
    if (flush_.empty()) {
      const auto start = Clock::now();
      for (int i = 0; i < repeats; ++i) launch_once_(nullptr);
      return seconds_since(start);
    }
    for (int i = 0; i < repeats; ++i) {
      for (volatile int& word : flush_) word = word + 1;
      const auto start = Clock::now();
      launch_once_(nullptr);
      total += seconds_since(start);
    }
    return total;
  }

 private:
  std::function<void(StreamHandle)> launch_once_;
  std::vector<int> flush_;
};

int chosen_repeats(const TimingOptions& options, double one_seconds) {
  if (options.repeats > 0) return options.repeats;
  const double wanted = std::ceil(options.minimum_seconds / std::max(one_seconds, 1e-9));
  return static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(options.most_repeats)));
}

/// One contestant on the CPU.
struct CpuContestant {
  CpuTimer timer;
  int repeats = 1;
  std::vector<double> samples;
};

CpuContestant warmed_up(const Device& device, const std::function<void(StreamHandle)>& launch_once,
                        const TimingOptions& options) {
  CpuContestant contestant{CpuTimer(device, launch_once, options.flush_l2), 1, {}};
  const auto begin = Clock::now();
  for (int i = 0; i < options.warm_up; ++i) {
    launch_once(nullptr);
    if (seconds_since(begin) > options.maximum_seconds) break;
  }
  // With a flush each repeat costs far more than its launch, and gains nothing: the clock is read every time.
  contestant.repeats =
      options.flush_l2 ? std::max(1, options.repeats) : chosen_repeats(options, contestant.timer.sample(1));
  return contestant;
}

std::vector<Timing> time_on_cpu(const Device& device,
                                const std::vector<std::function<void(StreamHandle)>>& launches,
                                const TimingOptions& options) {
  const auto begin = Clock::now();
  std::vector<CpuContestant> contestants;
  for (const auto& launch_once : launches) contestants.push_back(warmed_up(device, launch_once, options));
  const double limit = options.maximum_seconds * static_cast<double>(launches.size());
  for (int round = 0; round < options.rounds; ++round) {
    if (round >= 3 && seconds_since(begin) > limit) break;
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      CpuContestant& turn = contestants[(i + static_cast<std::size_t>(round)) % contestants.size()];
      turn.samples.push_back(turn.timer.sample(turn.repeats) * 1e6 / turn.repeats);
    }
  }
  std::vector<Timing> timings;
  for (CpuContestant& contestant : contestants) {
    timings.push_back(summarize(std::move(contestant.samples)));
    timings.back().repeats = contestant.repeats;
    timings.back().method = options.flush_l2 ? "clock+flush" : "clock";
  }
  return timings;
}

/// A simulated device takes the same time at every launch.
Timing time_by_own_clock(const Device& device, const std::function<void(StreamHandle)>& launch_once) {
  const auto now = [&] { return device.implementation().own_microseconds(); };
  const std::optional<double> before = now();
  if (!before)
    throw UserError({"timing a kernel", {}, "the device " + device.name(), "a device with a clock"});
  launch_once(nullptr);
  Timing timing = summarize({*now() - *before});
  timing.repeats = 1;
  timing.method = "model";
  return timing;
}

void check(const TimingOptions& options, const std::vector<std::function<void(StreamHandle)>>& contestants) {
  const auto require = [](bool holds, const std::string& found, const std::string& accepted) {
    if (!holds) throw UserError({"timing a kernel", {}, found, accepted});
  };
  const auto require_number = [&](bool holds, const char* name, double number, const char* accepted) {
    std::ostringstream found;
    found << name << " = " << number;
    require(holds, found.str(), accepted);
  };
  for (const auto& launch_once : contestants)
    require(launch_once != nullptr, "an empty function", "a function that launches a kernel");
  require_number(options.rounds >= 1, "rounds", options.rounds, "at least 1");
  require_number(options.repeats >= 0, "repeats", options.repeats,
                 "at least 1, or 0 for as many as it takes");
  require_number(options.most_repeats >= 1, "most_repeats", options.most_repeats, "at least 1");
  require_number(options.warm_up >= 0, "warm_up", options.warm_up, "at least 0");
  // A comparison with what is no number does not hold.
  require_number(options.minimum_seconds >= 0, "minimum_seconds", options.minimum_seconds, "at least 0");
  require_number(options.maximum_seconds >= 0, "maximum_seconds", options.maximum_seconds, "at least 0");
  require_number(options.limit_seconds > 0, "limit_seconds", options.limit_seconds, "more than 0");
}

}  // namespace

Timing summarize(std::vector<double> microseconds) {
  internal_check(!microseconds.empty(), "a timing without samples");
  std::sort(microseconds.begin(), microseconds.end());
  Timing timing;
  timing.median = quantile(microseconds, 0.5);
  timing.minimum = microseconds.front();
  timing.percentile_95 = quantile(microseconds, 0.95);
  timing.spread = timing.median > 0 ? (timing.percentile_95 - timing.minimum) / timing.median : 0;
  timing.count = static_cast<int>(microseconds.size());
  return timing;
}

std::vector<Timing> time_in_turns(const Device& device,
                                  const std::vector<std::function<void(StreamHandle)>>& contestants,
                                  const TimingOptions& options, std::source_location place) {
  // What a launch throws is its caller's and passes as it is.
  user_call(place, [&] {
    static_cast<void>(device.kind(place));
    check(options, contestants);
  });
  if (device.kind() == DeviceKind::cpu) return time_on_cpu(device, contestants, options);
  if (device.is_cuda()) return time_on_cuda(device, contestants, options);
  std::vector<Timing> timings;
  for (const auto& launch_once : contestants) timings.push_back(time_by_own_clock(device, launch_once));
  return timings;
}

Timing time(const Device& device, const std::function<void(StreamHandle)>& launch_once,
            const TimingOptions& options, std::source_location place) {
  return time_in_turns(device, {launch_once}, options, place).front();
}

}  // namespace weft
