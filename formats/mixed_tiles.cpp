#include <weft/dsl/arithmetic.h>
#include <weft/formats/kept_slots.h>
#include <weft/formats/mixed_tiles.h>
#include <weft/formats/parallel.h>

#include <algorithm>
#include <array>

namespace weft {
namespace {

constexpr std::array<std::int64_t, 4> heights_of_tiles{256, 128, 64, 32};
constexpr std::int64_t usual_rows_of_tile = 128;
constexpr std::int64_t columns_of_tile = formats::PairOptions{}.places;
constexpr double least_pairs = 0.1, least_stored = 0.9;

MixedTiles tiles_of(const WeightMatrix& weights, std::int64_t rows) {
  MixedTiles result{.rows = rows};
  for (std::int64_t first = 0; first < weights.rows; first += rows) {
    const std::int64_t own = std::min(rows, weights.rows - first);
    std::int64_t column = 0;
    for (const TileFilling& filling : tile_fillings(weights, first, rows, columns_of_tile)) {
      const std::int64_t columns = std::min(columns_of_tile, weights.columns - column);
      column += columns_of_tile;
      if (!filling.any()) continue;
      ++result.tiles;
      result.pairs += filling.is_dense ? 0 : 1;
      result.places += own * (filling.is_dense ? columns : places_of_pairs(columns));
    }
  }
  return result;
}

/// Half of what is not pruned at least, and not all of it: other weights need no look at their tiles.
bool may_be_mixed(const WeightMatrix& weights) {
  const double places = static_cast<double>(weights.rows) * static_cast<double>(weights.columns);
  const auto stored = static_cast<double>(weights.stored());
  return stored >= places / 2 * least_stored && stored < places * (1 - least_pairs / 4);
}

}  // namespace

std::int64_t places_of_pairs(std::int64_t columns) {
  return columns / slots_of_quad * kept_of_quad + std::min(columns % slots_of_quad, kept_of_quad);
}

std::vector<TileFilling> tile_fillings(const WeightMatrix& weights, std::int64_t first, std::int64_t rows,
                                       std::int64_t columns) {
  std::vector<TileFilling> result(static_cast<std::size_t>(ceil_divide(weights.columns, columns)));
  const std::int64_t end = std::min(first + rows, weights.rows);
  for (std::int64_t row = first; row < end; ++row) {
    std::int64_t quad = -1, of_quad = 0;
    for (const std::int64_t entry : weights.entries(row)) {
      if (weights.values.is_zero_bits(entry)) continue;
      const std::int64_t column = weights.column_of(entry);
      of_quad = column / slots_of_quad == quad ? of_quad + 1 : 1;
      quad = column / slots_of_quad;
      TileFilling& filling = result[static_cast<std::size_t>(column / columns)];
      filling.halves[static_cast<std::size_t>(column % columns / (columns / 2))] = true;
      filling.is_dense = filling.is_dense || of_quad > kept_of_quad;
    }
  }
  return result;
}

Format MixedTiles::format() const {
  return rows == usual_rows_of_tile ? Format{"mixed", {}} : Format{"mixed", {{"V", rows}}};
}

std::optional<MixedTiles> mixed_tiles(const WeightMatrix& weights) {
  if (!may_be_mixed(weights)) return std::nullopt;
  std::array<MixedTiles, heights_of_tiles.size()> found;
  parallel_for(
      std::ssize(heights_of_tiles), weights.stored() * std::ssize(heights_of_tiles), [&](std::int64_t i) {
        found[static_cast<std::size_t>(i)] = tiles_of(weights, heights_of_tiles[static_cast<std::size_t>(i)]);
      });
  const MixedTiles& best = *std::ranges::min_element(found, {}, &MixedTiles::places);
  const bool is_some = static_cast<double>(best.pairs) >= least_pairs * static_cast<double>(best.tiles);
  const bool is_filled =
      static_cast<double>(weights.stored()) >= least_stored * static_cast<double>(best.places);
  return is_some && best.pairs < best.tiles && is_filled ? std::optional(best) : std::nullopt;
}

}  // namespace weft
