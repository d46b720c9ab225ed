#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/blocks/hb_ell.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/measure/recipes.h>

#include <algorithm>
#include <memory>

namespace weft {
namespace {

std::shared_ptr<const SparseTensor> packed(const Workload& workload, const Format& format) {
  return std::make_shared<const SparseTensor>(pack(workload.matrix, format));
}

Format format_of(const Workload& workload) {
  if (workload.pattern) return workload.pattern->format();
  return workload.groups ? formats::shfl_bw({.rows = workload.groups->rows}) : formats::csr();
}

Schedule default_recipe(const Workload& workload, const Target& target) {
  return default_schedule(workload.algorithm, packed(workload, formats::csr()), target);
}

Schedule sparsert_recipe(const Workload& workload, const Target& target) {
  if (!target.is_gpu())
    throw InfeasibleError(
        {"the recipe sparsert does not fit the target", {}, target.name, "a GPU, whose code it writes"});
  return sparsert(workload.algorithm, packed(workload, formats::csr()), target);
}

Schedule with_hb_ell(const Workload& workload, const Target& target, const Format& format) {
  const DType type = workload.matrix.values.dtype();
  if (!target.is_gpu() || workload.problem.convolution || (type != DType::f16 && type != DType::bf16))
    throw InfeasibleError({"the recipe hb_ell does not fit",
                           {},
                           fmt::format("{} on {}", name_of(type), target.name),
                           "a product of f16 or bf16 for tensor cores of a GPU"});
  return hb_ell(workload.algorithm, packed(workload, format), target);
}

Schedule hb_ell_recipe(const Workload& workload, const Target& target) {
  return with_hb_ell(workload, target, formats::hb_ell());
}

/// Every block stored, so that block rows share what they read of B.
Schedule hb_ell_every_recipe(const Workload& workload, const Target& target) {
  return with_hb_ell(workload, target, parse_format("hb_ell:every=8"));
}

/// Section IV of Shfl-BW: what a convolution gathers is then contiguous.
constexpr ImageLayout gathered_layout = ImageLayout::chwn;

/// Columns in fours of which each row has two, by sparse tensor cores.
Schedule with_fours(const Workload& workload, const Target& target, const Format& format) {
  const DType type = workload.matrix.values.dtype();
  if (!target.is_gpu() || target.sm < 80 || (type != DType::f16 && type != DType::bf16))
    throw InfeasibleError({fmt::format("weights in {} do not fit", format.text()),
                           {},
                           fmt::format("{} on {}", name_of(type), target.name),
                           "f16 or bf16 for sparse tensor cores of a GPU"});
  return v_n_m(algorithm_in(workload, gathered_layout), packed(workload, format), target);
}

Schedule column_quads_recipe(const Workload& workload, const Target& target) {
  return with_fours(workload, target, parse_format("column_quads"));
}

/// In blocks of 16 x 16, each in an order of its own.
Schedule hb_ell_pairs_recipe(const Workload& workload, const Target& target) {
  return with_fours(workload, target, parse_format("hb_ell:pairs=1"));
}

Schedule shfl_bw_recipe(const Workload& workload, const Target& target) {
  const Format format = workload.groups ? format_of(workload) : formats::shfl_bw();
  return shfl_bw(algorithm_in(workload, gathered_layout), packed(workload, format), target);
}

Schedule v_n_m_recipe(const Workload& workload, const Target& target) {
  return v_n_m(algorithm_in(workload, gathered_layout), packed(workload, format_of(workload)), target);
}

RecipeWeights weights_of(const Suite& suite) {
  if (suite.is_patterned()) return RecipeWeights::patterned;
  return suite.is_grouped() ? RecipeWeights::grouped : RecipeWeights::unstructured;
}

}  // namespace

bool Recipe::is_for(const Suite& suite) const {
  if (on_tensor_cores && suite.dtype != DType::f16 && suite.dtype != DType::bf16) return false;
  return weights == RecipeWeights::any || weights == weights_of(suite);
}

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all{
      {"default", default_recipe, RecipeWeights::unstructured},
      {"sparsert", sparsert_recipe, RecipeWeights::unstructured},
      {"hb_ell", hb_ell_recipe, RecipeWeights::unstructured, ImageLayout::nchw, true},
      {"hb_ell_every", hb_ell_every_recipe, RecipeWeights::unstructured, ImageLayout::nchw, true},
      {"hb_ell_pairs", hb_ell_pairs_recipe, RecipeWeights::unstructured, gathered_layout, true},
      {"column_quads", column_quads_recipe, RecipeWeights::unstructured, gathered_layout, true},
      {"shfl_bw", shfl_bw_recipe, RecipeWeights::grouped, gathered_layout},
      {"v_n_m", v_n_m_recipe, RecipeWeights::patterned, gathered_layout}};
  return all;
}

SpaceProblem space_problem(const Workload& workload, ImageLayout layout) {
  return {algorithm_in(workload, layout), std::make_shared<const WeightMatrix>(workload.matrix),
          format_of(workload)};
}

std::vector<RecipePoint> points_worth_trying(const Recipe& recipe, const Workload& workload,
                                             const Target& target) {
  std::vector<RecipePoint> points;
  for (const Space& space : spaces_for(space_problem(workload, recipe.layout), target)) {
    if (space.recipe() != recipe.name || space.knobs().empty()) continue;
    const Points all = space.worth_trying();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const KnobValues values = all[i];
      points.push_back(
          {space.text(values),
           [&workload, space, values, layout = recipe.layout](const Workload& other, const Target& on) {
             // Copies have the same positions and other values.
             return &other == &workload
                        ? space.schedule(values)
                        : space_of(space.recipe(), space_problem(other, layout), on).schedule(values);
           }});
    }
  }
  return points;
}

}  // namespace weft
