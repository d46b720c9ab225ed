#include <weft/dsl/errors.h>
#include <weft/scheduler/default_schedule.h>
#include <weft/scheduler/grouped_product.h>
#include <weft/scheduler/recipe_parts.h>
#include <weft/scheduler/v_n_m.h>

namespace weft {
namespace {

constexpr PairTiles usual{128, 64}, tall{256, 128};
constexpr std::int64_t columns_of_tall = 128;
constexpr std::int64_t processors = 132;

/// Of 2:4 weights each tile reads all of B's rows, so that tall ones read less; where there are enough for
/// every processor, and nobody asked for others (docs/measurements.md).
ShflBwKnobs with_tall_tiles(const Algorithm& algorithm, const SparseTensor& weights, const Target& target,
                            ShflBwKnobs knobs) {
  const bool asked = weights.format() != formats::n_m() && weights.format() != Format{"n_m", {}};
  if (asked || target.name != "sm_90a" || knobs.tile_m || knobs.tile_n || knobs.tile_k || knobs.warp_m ||
      knobs.instruction == ShflBwInstruction::mma_m16n8k16)
    return knobs;
  const Extent columns = columns_of(algorithm, gathered_product(algorithm));
  if (!columns.is_static()) return knobs;
  const PairTiles tiles = tiles_of_pairs(weights.rows(), columns.value, target);
  if (tiles.rows == usual.rows) return knobs;
  knobs.tile_m = tiles.rows;
  knobs.tile_k = tiles.places;
  return knobs;
}

}  // namespace

PairTiles tiles_of_pairs(std::int64_t m, std::int64_t n, const Target& target) {
  const bool enough = pieces(m, tall.rows) * pieces(n, columns_of_tall) >= processors;
  return target.name == "sm_90a" && enough ? tall : usual;
}

Schedule v_n_m(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
               const ShflBwKnobs& knobs) {
  const std::string& format = weights->format().name;
  const bool keeps_pairs = format == "n_m" || format == "v_n_m";
  if (!keeps_pairs || !has_grouped_product(algorithm, *weights, target))
    return default_schedule(std::move(algorithm), std::move(weights), target);
  if (knobs.instruction == ShflBwInstruction::mma_m16n8k8)
    throw UserError({"sparse tensor cores have no such instruction", algorithm.name, "mma_m16n8k8",
                     "mma_m16n8k16, which stands for mma.sp.m16n8k32, or wgmma"});
  const ShflBwKnobs chosen = with_tall_tiles(algorithm, *weights, target, knobs);
  return grouped_product(std::move(algorithm), std::move(weights), target, chosen);
}

}  // namespace weft
