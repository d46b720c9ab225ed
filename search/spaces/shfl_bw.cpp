#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/search/spaces/grouped_tiles.h>
#include <weft/search/spaces/shfl_bw.h>

namespace weft {

std::string why_no_shfl_bw(const SpaceProblem& problem, const Target& target) {
  const Format& format = problem.format;
  if (!target.is_gpu()) return target.name + " has no tensor cores";
  if (format.name != "shfl_bw" && format.name != "vector_wise")
    return format.text() + " has no groups of rows that keep the same columns";
  return why_no_grouped_tiles(problem, target);
}

Space shfl_bw_space(const SpaceProblem& problem, const Target& target, const SpaceOptions& options) {
  return grouped_tiles_space(problem, target, options, "shfl_bw", shfl_bw);
}

}  // namespace weft
