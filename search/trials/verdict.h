// What a search says in the end: which kernel, how it stands against dense, where that turns, what bounds it.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/search/trials/standing.h>
#include <weft/search/trials/tune.h>

#include <optional>
#include <string>
#include <vector>

namespace weft {

/// What was found in one format.
struct OfFormat {
  std::string format;
  std::size_t trials = 0;
  std::optional<double> best;  ///< microseconds
};

struct Verdict {
  std::string fastest;            ///< "sparsert:form=baked,rows=32", as --recipe takes it
  std::string format;             ///< format of its weights
  std::vector<OfFormat> formats;  ///< all that the problem's trials are of, the fastest first
  double microseconds = 0;
  std::size_t points = 0;  ///< that there were to choose from
  std::size_t ties = 0;    ///< trials beside the best one that take as long
  std::optional<Baseline> dense;
  std::optional<Standing> standing;            ///< against `dense`
  std::optional<double> bound;                 ///< microseconds that the analytic bound gives the kernel
  std::string bound_by;                        ///< "memory", "tensor cores", …; empty where there is no bound
  std::optional<std::int64_t> dense_below_n;   ///< dense wins for fewer columns than this; by the model
  std::optional<double> dense_below_sparsity;  ///< likewise for less sparsity
  std::vector<std::int64_t>
      measured_dense_n;  ///< columns at which a library's dense product was measured to win
  std::vector<std::int64_t> measured_sparse_n;  ///< and at which it was not

  /// Whether the time of a library's dense product was measured.
  bool library_measured() const { return dense && dense->whose == BaselineOf::library; }
};

/// The verdict on the best record. The turning points are those of the analytic bound, scaled so that it
/// gives the measured times at the problem itself, where a verdict can rest on these; `records` are searched
/// for the same weights with other numbers of columns. UserError for a result without a best record.
Verdict verdict_of(const TuneResult& result, const TrialProblem& problem, const Target& target,
                   const std::vector<StoredRecord>& records, CallPlace place = {});

/// A few sentences, one a line.
std::string text_of(const Verdict& verdict, const Record& best);

}  // namespace weft
