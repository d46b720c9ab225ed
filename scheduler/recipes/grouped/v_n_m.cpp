#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/grouped/grouped_product.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>

namespace weft {
namespace {

/// Rows and places of a tile.
struct PairTiles {
  std::int64_t rows = 0, places = 0;
};

constexpr PairTiles usual{128, 64}, tall{256, 128};
constexpr std::int64_t processors = 132;

/// What the block with the most tiles takes, as grouped_product counts them for widths of tiles.
double clocks_of(const SparseTensor& weights, std::int64_t rows, std::int64_t columns, std::int64_t width) {
  constexpr double copied_a_clock = 40, stored_a_clock = 20, until_first = 1500;  // bytes; clocks
  constexpr double element = 2, code_of_slot = 0.125, value_of_slot = 1;          // bytes of a row
  const std::int64_t groups = std::max<std::int64_t>(1, ceil_divide(weights.rows(), rows));
  const auto slots = static_cast<double>(weights.array("column").size()) / static_cast<double>(groups);
  const double of_slot =
      static_cast<double>(rows) * (value_of_slot + code_of_slot) + element * static_cast<double>(width);
  const double stored = element * static_cast<double>(rows * width) / stored_a_clock;
  return static_cast<double>(ceil_divide(groups * ceil_divide(columns, width), processors)) *
         (slots * of_slot / copied_a_clock + stored + until_first);
}

/// Rows that list their columns together, where nobody says how many: many read B less often, few have fewer
/// columns to read, and more tiles. Tall ones where every processor has several (docs/measurements.md).
ShflBwKnobs with_rows_of_quads(const Algorithm& algorithm, const SparseTensor& weights, const Target& target,
                               ShflBwKnobs knobs) {
  constexpr std::int64_t sums = 32'768, fewest_columns = 64, widest = 512, tall_tiles = 4 * processors;
  const Extent columns = columns_of(algorithm, gathered_product(algorithm));
  if (weights.format() != Format{"column_quads", {}} || target.name != "sm_90a" || knobs.tile_m ||
      knobs.tile_n || knobs.tile_k || knobs.warp_m || !columns.is_static() || algorithm.takes_any_weights())
    return knobs;
  double best = 0;
  for (const PairTiles& tile : {PairTiles{64, 64}, usual, tall}) {
    const auto [rows, places] = tile;
    const std::int64_t tiles = ceil_divide(weights.rows(), rows) * ceil_divide(columns.value, sums / rows);
    if (rows == tall.rows && tiles < tall_tiles) continue;
    const SparseTensor packed = repack(weights, formats::column_quads({.rows = rows, .places = places}));
    for (std::int64_t width = fewest_columns; width <= std::min(widest, sums / rows); width *= 2) {
      const double clocks = clocks_of(packed, rows, columns.value, width);
      if (knobs.tile_m && clocks >= best) continue;
      best = clocks;
      knobs.tile_m = rows;
      knobs.tile_k = places;
    }
  }
  return knobs;
}

}  // namespace

Schedule v_n_m(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
               const ShflBwKnobs& knobs, std::source_location place) {
  return user_call(place, [&] {
    const RecipeNeeds needs{"v_n_m", "n_m, v_n_m, column_quads or hb_ell:pairs=1", "formats::column_quads()"};
    const std::string given = require_in_range("v_n_m", shfl_bw_knobs(), knobs);
    require_format(needs, algorithm, weights.get(), formats::keeps_two_of_four);
    if (!has_grouped_product(needs, algorithm, *weights, target))
      return left_to_default(needs, std::move(algorithm), std::move(weights), target, given);
    if (knobs.instruction == ShflBwInstruction::mma_m16n8k8)
      throw UserError({"sparse tensor cores have no such instruction", algorithm.name, "mma_m16n8k8",
                       "mma_m16n8k16, which stands for mma.sp.m16n8k32, or wgmma"});
    const ShflBwKnobs chosen = with_rows_of_quads(algorithm, *weights, target, knobs);
    return with_recipe_named(needs.name, given, [&] {
      return grouped_product(std::move(algorithm), std::move(weights), target, chosen);
    });
  });
}

}  // namespace weft
