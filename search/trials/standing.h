// How a kernel stands against dense: a winner where the times can name one, and else why they cannot.
#pragma once

#include <weft/formats/format.h>
#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/recipes/parts/problem_summary.h>
#include <weft/search/model/known_error.h>
#include <weft/search/records/records.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

/// Which of the two is faster, and why where their times do not say it.
struct Standing {
  Faster winner = Faster::none;
  double ratio = 0;      ///< the dense time over that of the kernel
  std::string why_none;  ///< what the times do not say: "within the error of the analytic model (factor 2.6)"
  /// By how much the ratio may be wrong, either way; 1 where both were measured, nothing where that is not
  /// known.
  std::optional<double> error;
};
/// What a kernel's time is of.
struct Timed {
  const Record& record;  ///< with a time
  const ProblemSummary& summary;
  const Format& format;
  const Target& target;
};

/// The dense product that the record's time may be compared with: a modelled time with a modelled one, a
/// simulated one with a simulated one. Null where it has none.
const Baseline* dense_beside(const Record& record);
/// A winner only where the ratio is beyond the error of what the times rest on (known_error.h), and where
/// sparse is faster than a library, not just than weft's own dense kernel.
Standing standing_of(const Timed& best, const Baseline& dense);
/// One line: "against dense: …".
std::string text_of(const Standing& standing, const Baseline& dense);
/// One line: what bounds the kernel by the analytic model, beside the time that it took.
std::string text_of_bound(double bound, std::string_view by, const Record& best);

}  // namespace weft
