// What makes a plan's folder measurable where there is no weft: kernels, operands, and a program in C.
#pragma once

#include <weft/search/measure/trial_problem.h>
#include <weft/search/spaces/space.h>
#include <weft/search/trials/candidates.h>

#include <string>
#include <vector>

namespace weft {

struct PlanRunner {
  std::size_t kernels = 0;
  std::vector<std::string> left_out;  ///< points whose kernel cannot be made, with the reason
};

/// Compiles the points, `jobs` at a time, and writes runner.c with its headers, kernels/ and data/ into
/// the folder. There `cc -O2 runner.c -ldl -lm -o runner && ./runner` measures every kernel and appends the
/// lines that --absorb takes to results.jsonl; it needs libc and the driver. Of a large product a sample of
/// rows is compared with the f64 reference, and everything else has to be finite. A point that spills more
/// than `most_spill_bytes` is left out. Where the folder cannot be written, errors as refuse_path();
/// UserError for results of a type that C has no name for; InternalError for a target that is no GPU.
PlanRunner write_plan_runner(const std::string& folder, TrialProblem& problem,
                             const std::vector<Space>& spaces, const Target& target,
                             const std::vector<NamedPoint>& points, int jobs, std::int64_t most_spill_bytes);

}  // namespace weft
