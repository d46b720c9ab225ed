// What a measurement says: ratios, verdicts, means, lines of a table and of a log.
#pragma once

#include <weft/search/measure/bench.h>

#include <optional>
#include <string>
#include <vector>

namespace weft {

/// The dense product at the precision of the weights; null when it was not timed. Of weights in groups it
/// has dense random weights, and `pruned_baseline_of` is the same product of the pruned weights.
const Entry* baseline_of(const CaseResult& result);
const Entry* pruned_baseline_of(const CaseResult& result);
/// The fastest of weft's recipes, and the fastest of all; null when none was timed.
const Entry* best_of_weft(const CaseResult& result);
const Entry* fastest_of(const CaseResult& result);

/// "weft default, 2.31x", "cuBLAS tf32 is faster: 0.80x"; "weft WRONG" when a recipe computed something else.
std::string verdict_of(const CaseResult& result);

/// exp of the mean logarithm; nothing for no numbers. InternalError for a number that is not above zero.
std::optional<double> geometric_mean(const std::vector<double>& numbers);

/// The mean ratios of weft's best over every contestant, for the cases of one sparsity, batch and V or
/// pattern each.
struct MeanLine {
  double sparsity = 0;
  std::int64_t batch = 1;
  std::int64_t group_rows = 0;
  std::string pattern;  ///< "64:2:16", where it has one
  std::string over;     ///< name of the contestant
  int cases = 0;        ///< where both were timed
  double mean = 0;
  double worst = 0;
  std::string worst_id;
};
std::vector<MeanLine> means_of(const std::vector<CaseResult>& results);

/// Heading and cells of the table, one row a result. Times are microseconds; a cell without one has "-".
/// Weights in groups have their V or pattern, and in place of the limit that holds for every kernel the two
/// of GroupLimits.
std::vector<std::string> table_heading(const Suite& suite, const std::vector<Contestant>& contestants);
std::vector<std::string> table_row(const CaseResult& result);
/// The contestants that had weights of their own, one line each.
std::vector<std::string> own_weights_of(const std::vector<CaseResult>& results);
/// The reasons of the cells without a time, each once, with the ids of the problems.
std::vector<std::string> reasons_of(const std::vector<CaseResult>& results);

/// Where and when a measurement was made.
struct BenchPlace {
  std::string suite;
  std::string device;
  std::string model;
  std::string target;
  std::vector<std::string> libraries;  ///< versions
  int rounds = 0;
};
/// One JSON object in one line, without its end.
std::string json_line(const CaseResult& result, const BenchPlace& place);

}  // namespace weft
