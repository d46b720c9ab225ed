// Kernels of the default schedule on a GPU (scheduler/recipes/rows/default_schedule.h): a warp for each row,
// whose lanes have the columns, one entry after the other.
#include <weft/search/model/bound_parts.h>

namespace weft::bounds {
namespace {

/// From one entry of a row to the next: its column, then a row of B from the L2. Six problems on an H200
/// (docs/measurements/search.md).
constexpr double cycles_of_entry = 178;
/// How much longer than the mean the longest row is, in standard deviations. Every block waits for its own.
constexpr double deviations_of_longest = 4;

}  // namespace

Bound of_default(const ProblemSummary& problem, const Ceilings& ceilings) {
  Parts parts(ceilings);
  add_memory(parts, problem, ceilings);
  parts.add(Resource::units, 1e6 * problem.operations() / ceilings.operations_a_second);
  const std::int64_t columns = filled_up(problem.n, problem.n <= 32 ? 32 : 64);
  const double gathered = static_cast<double>(problem.stored) * static_cast<double>(columns) *
                          static_cast<double>(size_of(problem.dtype));
  parts.add(Resource::l2, 1e6 * gathered / ceilings.l2_bytes_a_second);
  const auto most = static_cast<double>(problem.k);
  const double longest =
      std::min(most, problem.row_mean * (1 + deviations_of_longest * problem.row_variation));
  parts.add(Resource::latency, 1e6 * longest * cycles_of_entry / ceilings.cycles_a_second);
  parts.add(Resource::launch, ceilings.launch_microseconds);
  return parts.total();
}

}  // namespace weft::bounds
