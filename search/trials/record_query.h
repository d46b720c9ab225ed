// Questions to a database of trials.
#pragma once

#include <weft/search/records/record_file.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft {

/// What records shall have; what is empty is not asked for.
struct RecordFilter {
  std::string kernel = {};
  std::string target = {};  ///< a target or its architecture: "sm_90" takes those of sm_90a, too
  std::string measure = {};
  std::string recipe = {};
  std::string format = {};  ///< format of the weights: "csr", "shfl_bw:V=64"
  std::string status = {};
  std::map<std::string, std::int64_t> sizes = {};  ///< "M", "K", "N"

  bool takes(const Record& record) const;
};
std::vector<StoredRecord> selected(const std::vector<StoredRecord>& records, const RecordFilter& filter);

/// All trials of one problem: the records of one problem key.
struct ProblemTrials {
  std::string name;  ///< "spmm 64x256x196 f32, 90.0 % zero, sm_90a, gpu"
  std::vector<const StoredRecord*> trials;
  const StoredRecord* best = nullptr;  ///< null where none was right
  std::map<TrialStatus, std::int64_t> ends;
};
/// In the order in which they first come. Borrows the records.
std::vector<ProblemTrials> problems_of(const std::vector<StoredRecord>& records);
/// "spmm 64x256x196 f32, 90.0 % zero, sm_90a, gpu"
std::string name_of_problem(const Record& record);

/// How near a search came to the best that an exhaustive one found.
struct Regret {
  std::string problem;
  std::size_t points = 0;  ///< points of the oracle that are right
  double oracle = 0;       ///< microseconds of its best
  std::size_t trials = 0;  ///< trials of the search
  std::string chosen;      ///< recipe and configuration
  double measured = 0;     ///< the time of the chosen one, by the search
  double by_oracle = 0;    ///< the time of the chosen one, by the oracle
  double ratio = 0;        ///< oracle / by_oracle: 1 is the best there is
};
/// For each problem of both databases in one format, whatever toolchain they name. Chosen configurations are
/// compared by the oracle's times, so that noise between two measurements does not count; where the oracle
/// lacks one, the search's own time does.
std::vector<Regret> regrets_of(const std::vector<StoredRecord>& oracle,
                               const std::vector<StoredRecord>& searched);
/// The search played through on the oracle's times, with so many trials, once for each seed: no device is
/// needed. The median over the seeds of what was reached stands in `by_oracle` and `ratio`.
std::vector<Regret> played_through(const std::vector<StoredRecord>& oracle, std::int64_t trials, int seeds);

}  // namespace weft
