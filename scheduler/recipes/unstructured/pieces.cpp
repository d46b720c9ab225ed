#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/filled_blocks.h>
#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/unstructured/order.h>
#include <weft/scheduler/recipes/unstructured/pieces.h>

#include <algorithm>
#include <vector>

namespace weft {
namespace {

using recipe_knobs::lanes_of_warp, recipe_knobs::most_warps;
constexpr std::int64_t usual_places_of_piece = 8, usual_columns_of_lane = 2;
constexpr std::int64_t long_places = 16, entries_of_long_row = 96, entries_of_warp = 24;
constexpr std::int64_t most_columns = 4;     ///< columns of a lane beside each other: 16 bytes of B
constexpr std::int64_t loads_together = 64;  ///< a lane has so many of B under way, as far as registers go
constexpr std::int64_t most_turns_together = 8;
constexpr std::int64_t most_pieces = 1024;  ///< pieces of a block

constexpr double always_of_pieces = 2.3, of_entry = 2.2e-5;  ///< microseconds on an H200

std::vector<std::int64_t> pieces_of_rows(const SparseTensor& weights, std::int64_t places) {
  std::vector<std::int64_t> result = entries_of_rows(weights);
  for (std::int64_t& entries : result) entries = ceil_divide(entries, places);
  return result;
}

/// Long pieces have less left over, of the places and of the sums: where rows are long, and there are enough.
std::int64_t places_of(const SparseTensor& weights) {
  const std::int64_t entries = weights.array("values").size();
  const bool many = entries >= entries_of_warp * most_warps * measured_processors;
  return many && entries >= entries_of_long_row * weights.rows() ? long_places : usual_places_of_piece;
}

/// Turns that are written out, so that their loads are under way together.
std::int64_t turns_together(std::int64_t loads_of_piece) {
  return std::clamp<std::int64_t>(loads_together / loads_of_piece, 1, most_turns_together);
}

/// At least `room` pieces: whole turns, and not more warps than there are.
PiecesCut cut_of(std::int64_t room, std::int64_t places, std::int64_t loads, std::int64_t warps_there) {
  const std::int64_t together = turns_together(places * loads);
  std::int64_t turns = ceil_divide(room, warps_there);
  if (turns > together) turns = ceil_divide(turns, together) * together;
  return {places, ceil_divide(room, turns), turns};
}

}  // namespace

double pieces_microseconds(std::int64_t entries) {
  return always_of_pieces + of_entry * static_cast<double>(entries);
}

std::optional<PiecesCut> pieces_cut(const SparseTensor& weights, const Target& target, const PiecesTile& tile,
                                    const SparseRtKnobs& knobs) {
  const std::int64_t places = knobs.places > 0 ? knobs.places : places_of(weights);
  const std::int64_t warps =
      knobs.threads > 0 ? std::clamp<std::int64_t>(knobs.threads / lanes_of_warp, 1, most_warps) : most_warps;
  const std::vector<std::int64_t> needs = pieces_of_rows(weights, places);
  std::int64_t all = 0, longest = 1;
  for (const std::int64_t need : needs) {
    all += need;
    longest = std::max(longest, need);
  }
  const std::int64_t bytes_of_piece = tile.tile * static_cast<std::int64_t>(sizeof(double));
  const std::int64_t most = std::min(most_pieces, target.shared_bytes_per_block / bytes_of_piece);
  if (longest > most) return std::nullopt;
  // More blocks than processors only where they would be too large.
  std::int64_t wanted =
      knobs.parts > 0 ? knobs.parts : std::max<std::int64_t>(1, measured_processors / tile.tiles);
  for (std::int64_t room = std::max(longest, ceil_divide(all, wanted));; ++room) {
    const PiecesCut cut = cut_of(room, places, tile.loads, warps);
    if (cut.pieces() > most) {
      if (knobs.parts > 0) return std::nullopt;
      wanted *= 2;
      room = std::max(longest, ceil_divide(all, wanted)) - 1;
      continue;
    }
    if (std::ssize(filled_blocks(needs, cut.pieces())) <= wanted) return cut;
  }
}

Schedule sparsert_pieces(Algorithm algorithm, const SparseTensor& weights, const Target& target,
                         const ProductLoops& loops, const SparseRtKnobs& knobs) {
  const Extent extent = extent_of(algorithm, loops.columns);
  const std::int64_t of_lane = knobs.columns > 0 ? knobs.columns : usual_columns_of_lane;
  const bool vectors_fit = extent.is_static() && extent.value % of_lane == 0 && of_lane <= most_columns;
  const std::int64_t vector = vectors_fit ? of_lane : 1;
  const std::int64_t tile = lanes_of_warp * of_lane;
  const PiecesTile tiles{tile, extent.is_static() ? ceil_divide(extent.value, tile) : measured_processors,
                         of_lane / vector};
  const auto cut = pieces_cut(weights, target, tiles, knobs);
  if (!cut)
    throw InfeasibleError(
        "rows do not fit blocks of pieces", algorithm.name,
        fmt::format(
            "{} entries in {} rows, with parts = {}, places = {}, columns = {} (0: left to the recipe)",
            weights.array("values").size(), weights.rows(), knobs.parts, knobs.places, knobs.columns),
        "more parts, more places, fewer columns, or form = SparseRtForm::row_per_warp with none of them");
  const Format format = formats::padded_csr({.pad = cut->places, .fill = cut->pieces()});
  Schedule schedule = ordered_schedule(std::move(algorithm),
                                       std::make_shared<const SparseTensor>(repack(weights, format)), target);
  const WeightLoops of_weights = weight_loops(schedule);
  const LoopName& rows = of_weights.rows.at(0);
  const LoopName &sum = of_weights.sum.at(0), &place = of_weights.sum.at(1);
  const auto [column_blocks, of_block] = schedule.split(loops.columns, tile);
  const auto [vectors, of_vectors] = schedule.split(of_block, lanes_of_warp * vector);
  const auto [lanes, column] = schedule.split(of_vectors, vector);
  schedule.reorder(column_blocks, rows, lanes, sum, place, vectors, column).bind(column_blocks, block_x);
  const PooledLoops pooled = schedule.pool(rows, sum, cut->warps);
  schedule.bind(pooled.block, block_y)
      .bind(pooled.worker, warp)
      .bind(pooled.row_worker, warp)
      .bind(lanes, lane);
  const std::int64_t together = turns_together(cut->places * tiles.loads);
  if (cut->turns > together)
    schedule.unroll(schedule.split(pooled.turn, together).inner);
  else
    schedule.unroll(pooled.turn);
  schedule.unroll(place).unroll(vectors);
  if (vector > 1) schedule.vectorize(column);
  return schedule.resident(blocks = 1);
}

}  // namespace weft
