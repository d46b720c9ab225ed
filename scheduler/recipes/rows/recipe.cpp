// The default schedule as a recipe. It has no knobs. About how long it takes on a GPU, where a warp has a
// row, and its lanes the columns, one entry after the other.
#include <weft/scheduler/recipes/parts/recipe.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>

namespace weft {
namespace {

using namespace bounds;

/// From one entry of a row to the next: its column, then a row of B from the L2. Six problems on an H200
/// (docs/measurements/search.md).
constexpr double cycles_of_entry = 178;
/// How much longer than the mean the longest row is, in standard deviations. Every block waits for its own.
constexpr double deviations_of_longest = 4;

Bound time_of_default(const ProblemSummary& problem, const KnobValues&, const Target&,
                      const Ceilings& ceilings) {
  Parts parts(ceilings);
  parts.add_memory(problem);
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

}  // namespace

Recipe default_recipe() {
  return {
      .name = "default",
      .summary = "a plain schedule for every format, operation, type and target",
      .is_format = [](const Format&) { return true; },
      .formats = "every one",
      .of_gpus = false,
      .example = "weft verify --weights made:M=256,K=512,sparsity=0.9 --n 64 --device cpu",
      .why_not = [](const SpaceProblem&, const Target&) { return std::string(); },
      .choices = [](const SpaceProblem&, PackedWeights&, const Target&,
                    const SpaceOptions&) { return RecipeChoices(); },
      .write =
          [](Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
             const KnobValues&, CallPlace place) {
            return default_schedule(std::move(algorithm), std::move(weights), target, place);
          },
      .time = time_of_default,
  };
}

}  // namespace weft
