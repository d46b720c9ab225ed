// A trial: build a point's kernel, verify it, time it, as steps of a worker process. What may crash, hang or
// spoil a device happens there.
#pragma once

#include <weft/backends/kernel.h>
#include <weft/backends/runtime/timing.h>
#include <weft/search/measure/trial_problem.h>

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft {

/// Who says how long a kernel takes.
enum class Measure : std::uint8_t {
  gpu,    ///< a CUDA device
  sim,    ///< the simulator's cycles; kernels run there and are verified
  model,  ///< what is expected (known_error.h): kernels are neither built nor run
  cpu,    ///< this machine's processor
};
std::string_view name_of(Measure measure);
/// UserError that lists them when there is none of that name.
Measure measure_named(std::string_view name);

struct MeasureOptions {
  Measure measure = Measure::model;
  int device = 0;                                         ///< ordinal of the CUDA device
  double build_seconds = 120;                             ///< limit of a build
  double run_seconds = 30;                                ///< limit of verifying and timing
  std::uint64_t memory_bytes = std::uint64_t{16} << 30U;  ///< limit of a worker, and of each compiler
  std::int64_t most_spill_bytes = most_expected_spill;  ///< by a thread, loads and stores; more is infeasible
  int rounds = 15;                                      ///< samples of a time
  int copies = 1;       ///< so many sets of all operands take turns: more than the L2 holds make it cold
  double give_up = 2;   ///< after a first sample so many times slower than the best
  double budget = 3e7;  ///< products of the reference; larger plain products are sampled (checker.h)

  /// Always refused: who measures is one of the options.
  template <std::same_as<Measure> Given>
  MeasureOptions& operator=(Given) {
    static_assert(!std::same_as<Given, Measure>,
                  "weft: the options of measuring are given a measure; accepted: its member, such as "
                  "options.measure.measure = Measure::sim");
    return *this;
  }
};

/// A point of a space of a list.
struct TrialPoint {
  std::size_t space = 0;
  KnobValues config;
};

/// A result that processes share: the vendor's dense product, once it was verified.
class SharedArray {
 public:
  explicit SharedArray(std::size_t bytes);
  ~SharedArray();
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;
  void put(const Array& array);
  /// False until somebody has put.
  bool get(Array& array) const;

 private:
  struct Header;
  Header* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Does the steps, in the process that it is called in. Each result is a record with the measured fields
/// alone.
class Trials {
 public:
  /// Everything is borrowed but `predicted`: microseconds that are expected of a point.
  Trials(TrialProblem& problem, const std::vector<Space>& spaces, const Target& target,
         const MeasureOptions& options, std::function<double(const TrialPoint&)> predicted);
  ~Trials();

  /// Requests and replies of a worker, as text; see trial_pool.h.
  std::string serve(const std::string& request);

  /// Makes the kernel and keeps it. Of the model: the whole trial.
  Record build(const TrialPoint& point);
  /// Verifies and times the kernel that was built last; `best`: microseconds to compare with, or 0.
  Record measure(double best);
  /// Verified and timed.
  std::vector<Baseline> baselines();

 private:
  std::string device_reply();

  struct State;
  std::unique_ptr<State> state_;
};

/// What a kernel takes, as far as its compiler said it.
void add_resources(Record& record, const Kernel& kernel);

/// Tells a simulated device how many registers the assembler found, for its time model.
void tell_registers(const Device& device, const Kernel& kernel);

/// The words of requests and replies.
std::string build_request(const TrialPoint& point);
std::string measure_request(double best);
std::string baselines_request();
std::string device_request();
std::vector<Baseline> baselines_of(const std::string& reply);
/// What a worker says of the device; only what records need. Throws as opening it did.
DeviceDescription device_of_reply(const std::string& reply);

}  // namespace weft
