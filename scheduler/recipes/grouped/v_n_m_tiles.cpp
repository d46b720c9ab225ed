#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/recipes/grouped/grouped_product.h>
#include <weft/scheduler/recipes/grouped/tiles.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>

namespace weft {
namespace {

/// Rows and places of a tile.
struct PairTiles {
  std::int64_t rows = 0, places = 0;
};

constexpr PairTiles usual{128, 64}, tall{256, 128};

/// What the block with the most tiles takes.
double clocks_of(const SparseTensor& weights, std::int64_t rows, std::int64_t columns, std::int64_t width) {
  const std::int64_t groups = std::max<std::int64_t>(1, ceil_divide(weights.rows(), rows));
  const auto slots = static_cast<double>(weights.array("column").size()) / static_cast<double>(groups);
  const auto high = static_cast<double>(rows), wide = static_cast<double>(width);
  const grouped::Tile<double> of_slot{true, false, high, wide,
                                      1,    high,  wide, static_cast<std::int64_t>(size_of(weights.dtype()))};
  return clocks_of_tiles(ceil_divide(groups * ceil_divide(columns, width), measured_device.multiprocessors),
                         slots * of_slot.bytes_of_stage(),
                         grouped::bytes_of_result * static_cast<double>(rows * width));
}

}  // namespace

ShflBwKnobs v_n_m_tiles(const Algorithm& algorithm, const SparseTensor& weights, const Target& target,
                        const ShflBwKnobs& given) {
  constexpr std::int64_t fewest_columns = 64, widest = 512;
  constexpr std::int64_t tall_tiles = 4 * measured_device.multiprocessors;
  if (given.instruction == ShflBwInstruction::mma_m16n8k8)
    throw UserError("sparse tensor cores have no such instruction", algorithm.name, "mma_m16n8k8",
                    "mma_m16n8k16, which stands for mma.sp.m16n8k32, or wgmma");
  ShflBwKnobs knobs = given;
  // Lines of as many bytes as 64 places of two have.
  if (is_factor_of_a_byte(weights.dtype()) && !weights.format().parameters.contains("k") && !knobs.tile_k)
    knobs.tile_k = 2 * usual.places;
  const Extent all = columns_of(algorithm, ordered_product(algorithm));
  if (weights.format() != Format{"column_quads", {}} || !target.has(Capability::warpgroup_tensor_cores) ||
      knobs.tile_m || knobs.tile_n || knobs.tile_k || knobs.warp_m || !all.is_static() ||
      algorithm.takes_any_weights())
    return knobs;
  double best = 0;
  for (const PairTiles& tile : {PairTiles{64, 64}, usual, tall}) {
    const auto [rows, places] = tile;
    const std::int64_t tiles =
        ceil_divide(weights.rows(), rows) * ceil_divide(all.value, grouped::most_sums / rows);
    if (rows == tall.rows && tiles < tall_tiles) continue;
    const auto packed = weights.repacked(formats::column_quads({.rows = rows, .places = places}));
    for (std::int64_t width = fewest_columns; width <= std::min(widest, grouped::most_sums / rows);
         width *= 2) {
      const double clocks = clocks_of(*packed, rows, all.value, width);
      if (knobs.tile_m && clocks >= best) continue;
      best = clocks;
      knobs.tile_m = rows;
      knobs.tile_k = places;
    }
  }
  return knobs;
}

}  // namespace weft
