// Records sorted for a report: by problem, with the best of each and what it is compared with.
#pragma once

#include <weft/search/model/bound.h>
#include <weft/search/records/record_file.h>
#include <weft/search/trials/standing.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::report {

/// The trials of one Record::problem_key(), as they came.
struct ProblemTrials {
  std::string name;        ///< "512x1024x196, 25.0 %, V=64, f16"; no V where trials are of several formats
  ProblemSummary summary;  ///< in the format of the best one, or of the first where none was right
  std::vector<const StoredRecord*> trials;
  const StoredRecord* best = nullptr;      ///< the fastest right one
  const StoredRecord* of_layer = nullptr;  ///< the last one that names a layer of a network
  /// What the best one's time may be compared with: measured beside a trial of it, or by a library beside one
  /// of other weights of these sizes, whose zeros a dense product does not see.
  std::optional<Baseline> dense;
  std::optional<Standing> standing;  ///< how the best one stands against it
  std::optional<Bound> bound;        ///< the bound of the best one, on its target

  std::optional<double> best_time() const;
  /// Dense over best; nothing where one is missing.
  std::optional<double> speed_up() const;
};

/// In the order in which they come. Borrows the records. Records without sizes are left out.
std::vector<ProblemTrials> problems_of(std::span<const StoredRecord> records);

/// The problem with the most trials, the first of several; null where there is none.
const ProblemTrials* most_tried(const std::vector<ProblemTrials>& problems);

}  // namespace weft::report
