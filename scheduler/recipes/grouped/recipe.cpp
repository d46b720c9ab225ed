// The values of the recipes shfl_bw and v_n_m, which differ in their formats and in how tiles begin.
#include <fmt/format.h>
#include <weft/scheduler/recipes/grouped/choices.h>
#include <weft/scheduler/recipes/grouped/grouped_product.h>
#include <weft/scheduler/recipes/grouped/tiles.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/product.h>
#include <weft/scheduler/recipes/parts/recipe.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>

namespace weft {
namespace {

using namespace recipe_knobs;

constexpr std::array<std::string_view, 3> instructions{"mma_m16n8k8", "mma_m16n8k16", "wgmma"};

constexpr auto shfl_bw_list = list_of(
    knob_of<&ShflBwKnobs::tile_m>("tile_m", most_tile), knob_of<&ShflBwKnobs::tile_n>("tile_n", most_tile),
    knob_of<&ShflBwKnobs::tile_k>("tile_k", most_tile), knob_of<&ShflBwKnobs::stages>("stages", most_buffers),
    knob_of<&ShflBwKnobs::instruction>("instruction", 1, 1, instructions),
    knob_of<&ShflBwKnobs::warp_m>("warp_m", most_tile, 1, {}, rows_of_instruction),
    knob_of<&ShflBwKnobs::warp_n>("warp_n", most_tile, 1, {}, columns_of_instruction),
    knob_of<&ShflBwKnobs::groups>("groups", most_tile, 0),
    knob_of<&ShflBwKnobs::line>("line", most_tile, 1, {}, columns_of_instruction),
    knob_of<&ShflBwKnobs::producers>("producers", most_warps, 0),
    knob_of<&ShflBwKnobs::producer_registers>("producer_registers", most_registers, 0),
    knob_of<&ShflBwKnobs::consumer_registers>("consumer_registers", most_registers, 0),
    knob_of<&ShflBwKnobs::blocks>("blocks", most_blocks, 0),
    knob_of<&ShflBwKnobs::cluster>("cluster", most_buffers),
    knob_of<&ShflBwKnobs::elements>("elements", 1, 0), knob_of<&ShflBwKnobs::promote>("promote", 1, 0));

struct Kind {
  RecipeNeeds needs;
  bool (*is_format)(const Format& format);
  /// The knobs that are given, and those that follow from the sizes of the product.
  ShflBwKnobs (*tiles)(const Algorithm& algorithm, const SparseTensor& weights, const Target& target,
                       const ShflBwKnobs& given);
};

const Kind of_groups{
    {"shfl_bw", "shfl_bw or vector_wise", "formats::shfl_bw()"},
    [](const Format& format) { return format.name == "shfl_bw" || format.name == "vector_wise"; },
    shfl_bw_tiles};
const Kind of_pairs{{"v_n_m", "n_m, v_n_m, mixed, column_quads or hb_ell:pairs=1", "formats::column_quads()"},
                    formats::keeps_two_of_four,
                    v_n_m_tiles};

/// What is chosen where no knob has a value: tiles, and that producers gather X [n, k] as it lies, where it
/// has few columns.
ShflBwKnobs chosen_knobs(const Kind& kind, const Algorithm& algorithm, const SparseTensor& weights,
                         const Target& target, const ShflBwKnobs& given) {
  ShflBwKnobs chosen = kind.tiles(algorithm, weights, target, given);
  if (values_of(shfl_bw_knobs(), given).empty() && target.has(Capability::register_reallocation) &&
      may_gather_elements(algorithm, weights.format()))
    chosen.elements = 1;
  return chosen;
}

Schedule schedule_with(const Kind& kind, Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                       const Target& target, const ShflBwKnobs& knobs) {
  const std::string given = require_in_range(kind.needs.name, shfl_bw_knobs(), knobs);
  require_format(kind.needs, algorithm, weights.get(), kind.is_format);
  if (!has_grouped_product(kind.needs, algorithm, *weights, target))
    return left_to_default(kind.needs, std::move(algorithm), std::move(weights), target, given);
  const ShflBwKnobs chosen = chosen_knobs(kind, algorithm, *weights, target, knobs);
  return with_recipe_named(kind.needs.name, given, [&] {
    return grouped_product(std::move(algorithm), std::move(weights), target, chosen);
  });
}

Schedule made(const Kind& kind, const Algorithm& algorithm,
              const std::shared_ptr<const SparseTensor>& weights, const Target& target,
              const ShflBwKnobs& knobs, CallPlace place) {
  return made_with_knobs(place, shfl_bw_knobs(), knobs, [&](const ShflBwKnobs& each) {
    return schedule_with(kind, algorithm, weights, target, each);
  });
}

template <const Kind& kind>
std::optional<KnobValues> point(const Algorithm& algorithm, std::shared_ptr<const SparseTensor> weights,
                                const Target& target) {
  if (!has_grouped_product(kind.needs, algorithm, *weights, target)) return std::nullopt;
  const ShflBwKnobs chosen = chosen_knobs(kind, algorithm, *weights, target, {});
  return grouped_point(algorithm, std::move(weights), target, chosen);
}

/// Groups of as many rows as a tile has, and never more than the format asks for; what the point leaves open
/// is that of the format.
Format format_of(const Format& format, const KnobValues& point) {
  Format other = format;
  const std::int64_t rows = rows_of_group(format);
  other.parameters["V"] = std::min(bounds::number_of_knob(point, "tile_m", rows), rows);
  if (const std::int64_t places = bounds::number_of_knob(point, "tile_k", 0); places > 0)
    other.parameters["k"] = places;
  return other;
}

std::string why_no_bytes(const SpaceProblem& problem) {
  if (!is_factor_of_a_byte(problem.matrix->values.dtype())) return {};
  const Algorithm& algorithm = problem.algorithm;
  const DType results = algorithm.operands[algorithm.output.operand].dtype;
  if (size_of(results) > 2)
    return fmt::format("results of {}, where such recipes store types of one byte or two", name_of(results));
  if (can_multiply_bytes(algorithm, problem.format)) return {};
  if (product_loops(algorithm).rows.empty())
    return "elements of a byte are multiplied in products of two matrices alone";
  return fmt::format(
      "tensor cores read elements of a byte along k, as tiles of n_m and of lists of columns have them, not "
      "of {}",
      problem.format.text());
}

std::string why_no_shfl_bw(const SpaceProblem& problem, const Target& target) {
  if (!target.is_gpu()) return target.name + " has no tensor cores";
  if (auto reason = why_no_bytes(problem); !reason.empty()) return reason;
  if (!of_groups.is_format(problem.format))
    return problem.format.text() + " has no groups of rows that keep the same columns";
  return why_no_grouped_tiles(problem, target);
}

std::string why_no_v_n_m(const SpaceProblem& problem, const Target& target) {
  if (!target.has(Capability::sparse_tensor_cores)) return target.name + " has no sparse tensor cores";
  if (!of_pairs.is_format(problem.format)) return problem.format.text() + " does not keep two of four";
  if (auto reason = why_no_bytes(problem); !reason.empty()) return reason;
  return why_no_grouped_tiles(problem, target);
}

Bound time_of_groups(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                     const Ceilings& ceilings) {
  return problem.group_rows >= grouped::rows_of_warp ? bounds::of_groups(problem, point, target, ceilings)
                                                     : bounds::of_anything(problem, ceilings);
}

Bound time_of_pairs(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                    const Ceilings& ceilings) {
  return problem.kept_of > 0 ? bounds::of_groups(problem, point, target, ceilings)
                             : bounds::of_anything(problem, ceilings);
}

/// What both have.
Recipe recipe_of(const Kind& kind, std::string_view name) {
  return {.name = name,
          .is_format = kind.is_format,
          .of_halves = true,
          .of_bytes = true,
          .knobs = rows_of(shfl_bw_knobs()),
          .some_knobs = "tile_n=256,stages=3",
          .choices = grouped_choices,
          .format_of = format_of};
}

}  // namespace

std::span<const KnobField<ShflBwKnobs>> shfl_bw_knobs() {
  return shfl_bw_list;
}

Schedule shfl_bw(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                 const ShflBwKnobs& knobs, CallPlace place) {
  return made(of_groups, algorithm, weights, target, knobs, place);
}

Schedule v_n_m(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
               const ShflBwKnobs& knobs, CallPlace place) {
  return made(of_pairs, algorithm, weights, target, knobs, place);
}

Recipe shfl_bw_recipe() {
  Recipe recipe = recipe_of(of_groups, "shfl_bw");
  recipe.summary = "weights in groups of rows that keep the same columns, on tensor cores";
  recipe.formats = "shfl_bw:V=64, or vector_wise:V=64";
  recipe.example =
      "weft verify --weights made:M=256,K=512,sparsity=0.75,V=64 --dtype f16 --n 64 "
      "--device sim:sm_80 --format shfl_bw:V=64 --recipe shfl_bw:tile_n=64,stages=3";
  recipe.why_not = why_no_shfl_bw;
  recipe.choose = point<of_groups>;
  recipe.write = written<ShflBwKnobs, shfl_bw, shfl_bw_knobs>;
  recipe.time = time_of_groups;
  return recipe;
}

Recipe v_n_m_recipe() {
  Recipe recipe = recipe_of(of_pairs, "v_n_m");
  recipe.summary = "weights that keep two of four, on sparse tensor cores";
  recipe.formats = "column_quads, or n_m, v_n_m, mixed or hb_ell:pairs=1";
  recipe.example =
      "weft verify --weights made:M=256,K=512,of=4 --dtype f16 --n 64 --device sim:sm_80 "
      "--format n_m --recipe v_n_m:tile_n=64";
  recipe.why_not = why_no_v_n_m;
  recipe.choose = point<of_pairs>;
  recipe.write = written<ShflBwKnobs, v_n_m, shfl_bw_knobs>;
  recipe.time = time_of_pairs;
  return recipe;
}

}  // namespace weft
