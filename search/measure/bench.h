// The measurement of one workload: everybody prepares, is checked, and then all are timed in turns.
#pragma once

#include <weft/backends/runtime/timing.h>
#include <weft/search/measure/checker.h>
#include <weft/search/measure/contestants.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace weft {

struct BenchOptions {
  int rounds = 15;  ///< samples of each contestant
  int copies = 1;   ///< more than one: that many kernels with other weights take turns, so that code is cold
};

/// What became of one contestant.
struct Entry {
  std::string name;
  ContestantKind kind = ContestantKind::weft;
  DenseType arithmetic = DenseType::f32;
  std::string variant;  ///< the fastest of its ways
  std::string weights;  ///< where it has others than those of the case
  /// Every way that was right, with the microseconds of a few samples; empty where there is one way.
  std::vector<std::pair<std::string, double>> tried;
  Check check;
  Timing timing;               ///< one launch; count 0 where it was not timed
  double prepare_seconds = 0;  ///< from the workload to the first launch, compiling included
  bool wrong = false;          ///< it computed something else
  std::string reason;          ///< why it was not timed

  bool timed() const { return timing.count > 0; }
};

/// One line of the table.
struct CaseResult {
  SuiteCase chosen;
  DType dtype = DType::f32;
  std::string source;  ///< where the weights are from
  std::int64_t stored = 0;
  double sparsity = 0;  ///< as found
  double limit = 0;     ///< microseconds below which nobody can be on an H200; 0 on the CPU
  std::optional<GroupLimits> group_limits = {};  ///< likewise, of weights in groups
  int copies = 1;
  std::vector<Entry> entries = {};
};

/// Who wants to know how far a measurement is.
struct BenchProgress {
  std::function<void(std::size_t kernels)> started;
  std::function<void(const CaseResult&)> finished;
};
/// Measures the cases of a suite. What needs no device, the compiling of weft's kernels above all, is done
/// first, for as many cases at the same time as the memory holds. A contestant that cannot, or is wrong, is
/// left out of the timing and says why; of a contestant with several ways the fastest that is right is timed.
/// `started` hears how many kernels are compiled next, `finished` each result, in the order of the cases.
/// RuntimeError when the device fails.
std::vector<CaseResult> measure(const Suite& suite, const std::vector<SuiteCase>& cases,
                                const RealWeights& real, const Device& device,
                                const std::vector<Contestant>& contestants, const BenchOptions& options,
                                const BenchProgress& progress = {});
/// The same of one case.
CaseResult measure(const Suite& suite, const SuiteCase& chosen, const RealWeights& real, const Device& device,
                   const std::vector<Contestant>& contestants, const BenchOptions& options);

}  // namespace weft
