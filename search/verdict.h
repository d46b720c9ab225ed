// What a search says in the end: which kernel, how it stands against dense, where that turns, what bounds it.
#pragma once

#include <weft/search/tune.h>

#include <optional>
#include <string>
#include <vector>

namespace weft {

struct Verdict {
  std::string fastest;  ///< "sparsert:form=baked,rows=32", as --recipe takes it
  double microseconds = 0;
  std::optional<Baseline> dense;
  std::optional<double> bound;                 ///< microseconds that the analytic bound gives the kernel
  std::string bound_by;                        ///< "memory", "tensor cores", …; empty where there is no bound
  std::optional<std::int64_t> dense_below_n;   ///< dense wins for fewer columns than this; by the model
  std::optional<double> dense_below_sparsity;  ///< likewise for less sparsity
  std::vector<std::int64_t> measured_dense_n;  ///< columns at which dense was measured to win
  std::vector<std::int64_t> measured_sparse_n;  ///< and at which it was not
};

/// The verdict on the best record. The turning points are those of the analytic bound, scaled so that it
/// gives the measured times at the problem itself; `records` are searched for the same weights with other
/// numbers of columns.
Verdict verdict_of(const TuneResult& result, const TrialProblem& problem, const Target& target,
                   const std::vector<StoredRecord>& records);

/// A few sentences, one a line.
std::string text_of(const Verdict& verdict, const Record& best);

}  // namespace weft
