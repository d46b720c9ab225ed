#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/spaces/hb_ell.h>
#include <weft/search/spaces/list.h>
#include <weft/search/spaces/packed.h>
#include <weft/search/spaces/shfl_bw.h>
#include <weft/search/spaces/sparsert.h>
#include <weft/search/spaces/v_n_m.h>

#include <array>

namespace weft {
namespace {

std::string why_no_default(const SpaceProblem&, const Target&) {
  return {};
}

/// One point without knobs.
Space default_space(const SpaceProblem& problem, const Target& target, const SpaceOptions&) {
  const auto packed = std::make_shared<PackedWeights>(problem.matrix);
  const auto make = [packed, problem, target](const KnobValues&) {
    return default_schedule(problem.algorithm, packed->in(problem.format), target);
  };
  return Space({.recipe = "default",
                .target = target.name,
                .knobs = {},
                .words = {},
                .constraints = {},
                .preferences = {},
                .schedule = make});
}

}  // namespace

std::span<const RecipeSpace> recipe_spaces() {
  static const std::array<RecipeSpace, 5> all{{
      {"shfl_bw", "weights in groups of rows that keep the same columns, on tensor cores", why_no_shfl_bw,
       shfl_bw_space},
      {"hb_ell", "weights in blocks of 16 x 16, each as wide as it has to be, on tensor cores", why_no_hb_ell,
       hb_ell_space},
      {"v_n_m", "weights that keep two of four, on sparse tensor cores", why_no_v_n_m, v_n_m_space},
      {"sparsert", "unstructured weights as instructions, or read by warps that share rows evenly",
       why_no_sparsert, sparsert_space},
      {"default", "a plain schedule for every format, operation, type and target", why_no_default,
       default_space},
  }};
  return all;
}

}  // namespace weft
