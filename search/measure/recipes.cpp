#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/program/overlapped.h>
#include <weft/scheduler/recipes/list.h>
#include <weft/search/measure/recipes.h>

#include <memory>

namespace weft {
namespace {

Format format_of(const Workload& workload) {
  if (workload.pattern) return workload.pattern->format();
  return workload.groups ? formats::shfl_bw({.rows = workload.groups->rows}) : formats::csr();
}

/// Section IV of Shfl-BW: what a convolution gathers is then contiguous.
constexpr ImageLayout gathered_layout = ImageLayout::chwn;

RecipeWeights weights_of(const Suite& suite) {
  if (suite.is_patterned()) return RecipeWeights::patterned;
  return suite.is_grouped() ? RecipeWeights::grouped : RecipeWeights::unstructured;
}

Schedule as_entered(const MeasuredRecipe& recipe, Schedule schedule) {
  return recipe.overlaps ? overlapped(std::move(schedule)) : schedule;
}

}  // namespace

bool MeasuredRecipe::is_for(const Suite& suite) const {
  if (on_tensor_cores && !is_half(suite.dtype)) return false;
  return weights == RecipeWeights::any || weights == weights_of(suite);
}

Schedule MeasuredRecipe::schedule(const Workload& workload, const Target& target) const {
  const DType type = workload.matrix.values.dtype();
  const bool fits = (target.is_gpu() || !of_gpus) && (!needs || target.has(*needs)) &&
                    !(of_products && workload.problem.convolution) && (!on_tensor_cores || is_half(type));
  if (!fits)
    throw InfeasibleError(misfit,
                          on_tensor_cores ? fmt::format("{} on {}", name_of(type), target.name) : target.name,
                          accepted);
  const auto packed = std::make_shared<const SparseTensor>(
      pack(workload.matrix, format.empty() ? format_of(workload) : parse_format(format)));
  return as_entered(*this, recipe_named(recipe.empty() ? name : recipe)
                               ->write(algorithm_in(workload, layout), packed, target, {}, CallPlace()));
}

std::string MeasuredRecipe::title() const {
  return "weft " + name + (overlaps ? " overlapped" : "");
}

const std::vector<MeasuredRecipe>& measured_recipes() {
  const auto of_blocks = [](const char* name, const char* format) {
    return MeasuredRecipe{.name = name,
                          .recipe = "hb_ell",
                          .format = format,
                          .weights = RecipeWeights::unstructured,
                          .on_tensor_cores = true,
                          .of_products = true,
                          .of_gpus = true,
                          .misfit = "the recipe hb_ell does not fit",
                          .accepted = "a product of f16 or bf16 for tensor cores of a GPU"};
  };
  const auto of_fours = [](const char* name, const char* format) {
    return MeasuredRecipe{.name = name,
                          .recipe = "v_n_m",
                          .format = format,
                          .weights = RecipeWeights::unstructured,
                          .layout = gathered_layout,
                          .on_tensor_cores = true,
                          .needs = Capability::sparse_tensor_cores,
                          .misfit = fmt::format("weights in {} do not fit", format),
                          .accepted = "f16 or bf16 for sparse tensor cores of a GPU"};
  };
  static const std::vector<MeasuredRecipe> all{
      {.name = "default", .format = "csr", .weights = RecipeWeights::unstructured},
      {.name = "sparsert",
       .format = "csr",
       .weights = RecipeWeights::unstructured,
       .of_gpus = true,
       .misfit = "the recipe sparsert does not fit the target",
       .accepted = "a GPU, whose code it writes"},
      {.name = "sliced_rows",
       .format = "csr",
       .weights = RecipeWeights::unstructured,
       .of_gpus = true,
       .misfit = "the recipe sliced_rows does not fit",
       .accepted = "a product of few columns on a GPU"},
      of_blocks("hb_ell", "hb_ell"),
      // Every block stored, so that block rows share what they read of B.
      of_blocks("hb_ell_every", "hb_ell:every=8"),
      // Columns in fours of which each row has two: in blocks of 16 x 16, each in an order of its own.
      of_fours("hb_ell_pairs", "hb_ell:pairs=1"),
      of_fours("column_quads", "column_quads"),
      {.name = "shfl_bw", .weights = RecipeWeights::grouped, .layout = gathered_layout},
      {.name = "v_n_m", .weights = RecipeWeights::patterned, .layout = gathered_layout}};
  return all;
}

SpaceProblem space_problem(const Workload& workload, ImageLayout layout) {
  return {algorithm_in(workload, layout), std::make_shared<const WeightMatrix>(workload.matrix),
          format_of(workload)};
}

std::vector<RecipePoint> points_worth_trying(const MeasuredRecipe& recipe, const Workload& workload,
                                             const Target& target) {
  std::vector<RecipePoint> points;
  for (const Space& space : spaces_for(space_problem(workload, recipe.layout), target)) {
    if (space.recipe() != recipe.name || space.knobs().empty()) continue;
    const Points all = space.worth_trying();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const KnobValues values = all[i];
      points.push_back(
          {space.text(values), [&workload, space, values, recipe](const Workload& other, const Target& on) {
             // Copies have the same positions and other values.
             return as_entered(
                 recipe,
                 &other == &workload
                     ? space.schedule(values)
                     : space_of(space.recipe(), space_problem(other, recipe.layout), on).schedule(values));
           }});
    }
  }
  return points;
}

}  // namespace weft
