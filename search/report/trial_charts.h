// The charts of a report, made of trials. A series has at most 1000 points: of more, some are left out
// evenly.
#pragma once

#include <weft/search/report/chart.h>
#include <weft/search/report/trials.h>

#include <vector>

namespace weft::report {

/// Dense time over the best time, a series for each V or format; at 1 both are equally fast. Without those
/// that only weft's own dense kernel was measured beside.
Chart speed_up_over_sparsity(const std::vector<ProblemTrials>& problems);
/// The geometric mean of it at each sparsity, a line for each recipe and V. `over`: the name of a product
/// that was timed beside the best one, in place of the dense one.
Chart speed_up_by_recipe(const std::vector<ProblemTrials>& problems, const std::string& over = {});
/// Of each problem, in the order in which sizes come, a series for each pattern and sparsity.
Chart speed_up_by_problem(const std::vector<ProblemTrials>& problems, const std::string& over = {});
/// What the best kernel of each problem, and each product that was timed beside it, does in a second, counted
/// in operations of stored weights.
Chart rates_by_problem(const std::vector<ProblemTrials>& problems);
/// What memory, the L2 and the arithmetic units allow, and where the best kernels are.
Chart roofline(const std::vector<ProblemTrials>& problems);
/// The best time after each trial of the problem, and each trial.
Chart best_so_far(const ProblemTrials& problem);
/// The best time for each pair of values of the two knobs that matter most.
HeatMap two_knobs(const ProblemTrials& problem);
/// Trials that came to nothing, by the word of the record.
Bars failures(const std::vector<ProblemTrials>& problems);
/// Of all right trials that had a prediction and were timed.
Chart predicted_against_measured(const std::vector<ProblemTrials>& problems);

}  // namespace weft::report
