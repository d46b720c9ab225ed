#include <weft/backends/runtime/recorded_launch.h>
#include <weft/backends/runtime/timed_in_turns.h>

#include <algorithm>
#include <sstream>

namespace weft {

// In cuda_timing.cpp.
std::vector<Timing> time_on_cuda(const Device& device, const std::vector<TimedLaunch>& contestants,
                                 const TimingOptions& options);
void launch_on_cuda_as_timed(const Device& device, const TimedLaunch& launch_once,
                             const std::function<void()>& before);

namespace {

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
  CpuTimer(const Device& device, const TimedLaunch& launch_once, const TimingOptions& options)
      : launch_once_(launch_once),
        options_(options),
        flush_(options.flush_l2 ? flush_bytes(device) / sizeof(int) : 0) {}

  void prepare() {
    const Stopwatch watch;
    for (int i = 0; i < options_.warm_up; ++i) {
      launch_once_(nullptr);
      if (watch.seconds() > options_.maximum_seconds) break;
    }
    // With a flush each repeat costs far more than its launch, and gains nothing: the clock is read every
    // time.
    repeats_ = options_.flush_l2 ? std::max(1, options_.repeats) : chosen_repeats(options_, seconds(1));
  }

  /// Others had the caches: a launch that does not count brings back what is its own.
  void return_to() {
    if (!options_.flush_l2) launch_once_(nullptr);
  }

  void sample() { samples_.push_back(seconds(repeats_) * 1e6 / repeats_); }

  Timing result() const {
    Timing timing = summarize(samples_);
    timing.repeats = repeats_;
    timing.method = options_.flush_l2 ? "clock+flush" : "clock";
    return timing;
  }

 private:
  /// Seconds of so many launches.
  double seconds(int repeats) {
    if (flush_.empty()) {
      const Stopwatch watch;
      for (int i = 0; i < repeats; ++i) launch_once_(nullptr);
      return watch.seconds();
    }
    double total = 0;
    for (int i = 0; i < repeats; ++i) {
      for (volatile int& word : flush_) word = word + 1;
      const Stopwatch watch;
      launch_once_(nullptr);
      total += watch.seconds();
    }
    return total;
  }

  const TimedLaunch& launch_once_;
  const TimingOptions& options_;
  std::vector<int> flush_;
  int repeats_ = 1;
  std::vector<double> samples_;
};

/// A simulated device takes the same time at every launch.
Timing time_by_own_clock(const Device& device, const TimedLaunch& launch_once) {
  const auto now = [&] { return device.implementation().own_microseconds(); };
  const std::optional<double> before = now();
  if (!before) throw UserError("timing a kernel", "the device " + device.name(), "a device with a clock");
  launch_once(nullptr);
  Timing timing = summarize({*now() - *before});
  timing.repeats = 1;
  timing.method = "model";
  return timing;
}

void check(const TimingOptions& options, const std::vector<TimedLaunch>& contestants) {
  const auto require = [](bool holds, const std::string& found, const std::string& accepted) {
    if (!holds) throw UserError("timing a kernel", found, accepted);
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
  std::ranges::sort(microseconds);
  Timing timing;
  timing.median = quantile(microseconds, 0.5);
  timing.minimum = microseconds.front();
  timing.percentile_95 = quantile(microseconds, 0.95);
  timing.spread = timing.median > 0 ? (timing.percentile_95 - timing.minimum) / timing.median : 0;
  timing.count = static_cast<int>(microseconds.size());
  return timing;
}

std::vector<Timing> time_in_turns(const Device& device, const std::vector<TimedLaunch>& contestants,
                                  const TimingOptions& options, CallPlace place) {
  // What a launch throws is its caller's and passes as it is.
  user_call(place, [&] {
    static_cast<void>(device.kind(place));
    check(options, contestants);
  });
  if (device.kind() == DeviceKind::cpu) return timed_in_turns<CpuTimer>(device, contestants, options);
  if (device.is_cuda()) return time_on_cuda(device, contestants, options);
  std::vector<Timing> timings;
  for (const auto& launch_once : contestants) timings.push_back(time_by_own_clock(device, launch_once));
  return timings;
}

void launch_as_timed(const Device& device, const TimedLaunch& launch_once,
                     const std::function<void()>& before) {
  if (device.is_cuda()) return launch_on_cuda_as_timed(device, launch_once, before);
  before();
  launch_once(nullptr);
}

Timing time(const Device& device, const TimedLaunch& launch_once, const TimingOptions& options,
            CallPlace place) {
  return time_in_turns(device, {launch_once}, options, place).front();
}

}  // namespace weft
