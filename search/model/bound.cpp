#include <weft/scheduler/recipes/list.h>
#include <weft/search/model/bound.h>

namespace weft {

Bound bound_of(const ProblemSummary& problem, std::string_view recipe, const KnobValues& point,
               const Target& target, const Ceilings& ceilings) {
  const Recipe* const known = recipe_named(recipe);
  const bool fits =
      known != nullptr && known->of_cpus != target.is_gpu() && (!known->of_halves || is_half(problem.dtype));
  return fits ? known->time(problem, point, target, ceilings) : bounds::of_anything(problem, ceilings);
}

Bound bound_of(const ProblemSummary& problem, std::string_view recipe, const KnobValues& point,
               const Target& target) {
  return bound_of(problem, recipe, point, target, ceilings_of(problem.dtype, target));
}

double dense_bound(const ProblemSummary& problem, const Ceilings& ceilings) {
  constexpr double share_of_units = 0.73, share_of_tensor_cores = 0.88;  // cuBLAS on an H200, large products
  // Where rows of an operand are no multiples of 16 bytes; and where sums are long and blocks few, each of
  // which goes through whole sums (docs/measurements/choice.md).
  constexpr double share_of_unaligned = 0.17, place_of_units = 0.008, place_of_tensor_cores = 0.0012;
  const bool halves = is_half(problem.dtype);
  const bool unaligned = halves && problem.n > 1 && (problem.n % 8 != 0 || problem.k % 8 != 0);
  const double operations =
      2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.k) * static_cast<double>(problem.n);
  const double rate =
      halves ? (unaligned ? share_of_unaligned : share_of_tensor_cores) * ceilings.tensor_operations_a_second
             : share_of_units * ceilings.operations_a_second;
  ProblemSummary dense = problem;
  dense.stored = problem.m * problem.k;
  bounds::Parts sum(ceilings);
  sum.add_memory(dense);
  sum.add(halves ? Resource::tensor : Resource::units, 1e6 * operations / rate);
  const double of_place = halves ? place_of_tensor_cores : place_of_units;
  if (problem.n > 1) sum.add(Resource::latency, of_place * static_cast<double>(problem.k));
  sum.add(Resource::launch, 2 * ceilings.launch_microseconds);
  return sum.total().microseconds;
}

}  // namespace weft
