// The measurement of one workload: everybody prepares, is checked, and then all are timed in turns.
#pragma once

#include <weft/backends/runtime/timing.h>
#include <weft/search/measure/checker.h>
#include <weft/search/measure/contestants.h>

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
  std::string source;  ///< of the weights
  std::int64_t stored = 0;
  double sparsity = 0;  ///< as found
  double limit = 0;     ///< microseconds below which nobody can be on an H200; 0 on the CPU
  int copies = 1;
  std::vector<Entry> entries;
};

/// Measures one case. A contestant that cannot, or is wrong, is left out of the timing and says why; of a
/// contestant with several ways the fastest that is right is timed. RuntimeError when the device fails.
CaseResult measure(const Suite& suite, const SuiteCase& chosen, const RealWeights& real, const Device& device,
                   const std::vector<Contestant>& contestants, const BenchOptions& options);

}  // namespace weft
