#include <weft/scheduler/recipes/list.h>
#include <weft/scheduler/recipes/parts/written.h>
#include <weft/search/model/bound.h>

namespace weft {

Bound bound_of(const ProblemSummary& problem, std::string_view recipe, const KnobValues& point,
               const Target& target, const Ceilings& ceilings) {
  const Recipe* const known = recipe_named(recipe);
  const bool fits = known != nullptr && known->of_cpus != target.is_gpu() &&
                    (!known->of_halves || is_of_tensor_cores(problem.dtype));
  return fits ? asked(*known, "time", [&] { return known->time(problem, point, target, ceilings); })
              : bounds::of_anything(problem, ceilings);
}

Bound bound_of(const ProblemSummary& problem, std::string_view recipe, const KnobValues& point,
               const Target& target) {
  return bound_of(problem, recipe, point, target, ceilings_of(problem.dtype, target));
}

KnobValues filled_point(const ProblemSummary& problem, std::string_view recipe, const KnobValues& point,
                        const Target& target) {
  const Recipe* const known = recipe_named(recipe);
  if (known == nullptr || known->filled == nullptr || known->of_cpus == target.is_gpu()) return point;
  return asked(*known, "filled", [&] { return known->filled(problem, point, target); });
}

}  // namespace weft
