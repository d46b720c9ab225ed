#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/search/spaces/grouped_tiles.h>
#include <weft/search/spaces/v_n_m.h>

namespace weft {

std::string why_no_v_n_m(const SpaceProblem& problem, const Target& target) {
  if (!target.is_gpu() || target.sm < 80) return target.name + " has no sparse tensor cores";
  if (!formats::keeps_two_of_four(problem.format))
    return problem.format.text() + " does not keep two of four";
  return why_no_grouped_tiles(problem, target);
}

Space v_n_m_space(const SpaceProblem& problem, const Target& target, const SpaceOptions& options) {
  return grouped_tiles_space(problem, target, options, "v_n_m", v_n_m);
}

}  // namespace weft
