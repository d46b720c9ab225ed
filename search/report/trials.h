// Records sorted for a report: by problem, with the best of each and what it is compared with.
#pragma once

#include <weft/search/model/bound.h>
#include <weft/search/record_file.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::report {

/// The trials of one Record::problem_key(), as they came.
struct ProblemTrials {
  std::string name;  ///< "512x1024x196, 25.0 %, V=64, f16"
  ProblemSummary summary;
  std::vector<const StoredRecord*> trials;
  const StoredRecord* best = nullptr;  ///< the fastest right one
  double dense = 0;                    ///< microseconds of the dense product
  std::string dense_name;  ///< "cuBLAS f16", "the analytic model's dense product"; empty: not known
  bool dense_measured = false;
  std::optional<Bound> bound;  ///< of the best one, on its target

  std::optional<double> best_time() const;
  /// Dense over best; nothing where one is missing.
  std::optional<double> speed_up() const;
};

/// In the order in which they come. Borrows the records. Records without sizes are left out.
std::vector<ProblemTrials> problems_of(std::span<const StoredRecord> records);

/// The problem with the most trials, the first of several; null where there is none.
const ProblemTrials* most_tried(const std::vector<ProblemTrials>& problems);

}  // namespace weft::report
