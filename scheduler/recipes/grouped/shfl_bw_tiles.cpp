#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/recipes/grouped/choices.h>
#include <weft/scheduler/recipes/grouped/grouped_product.h>
#include <weft/scheduler/recipes/grouped/tiles.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>

namespace weft {
namespace {

using grouped::columns_of_run, grouped::most_sums, grouped::rows_of_warpgroup;

constexpr std::int64_t least_columns_of_tile = 64;
constexpr std::int64_t columns_of_small = 128;  ///< a tile of one warpgroup leaves room for others
constexpr double worth_smaller_tiles = 0.88;
/// Columns of a list up to which large tiles of 32 places pay: fewer are padding, and the first product
/// begins sooner.
constexpr double short_list = 224;
constexpr std::int64_t short_places = 32;
/// The widest tiles have room for three buffers of 64 places: where a block goes through several of them,
/// five of 32 are ahead by more of a list of up to so many columns.
constexpr double list_of_widest = 512;
constexpr std::int64_t stages_of_widest = 5;
/// Buffers of a small tile that has a processor for itself, where nothing else hides its copies.
constexpr std::int64_t stages_of_one = 8;
/// Small tiles for each processor: where there are more, large ones store while they copy.
constexpr std::int64_t most_turns_of_small = 8;

/// The mean length of a group's list, without its padding.
double kept_columns(const SparseTensor& weights) {
  const Array& column = weights.array("column");
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < column.size(); ++i) kept += column.get_integer(i) >= 0 ? 1 : 0;
  const std::int64_t groups = ceil_divide(weights.rows(), rows_of_group(weights.format()));
  return static_cast<double>(kept) / static_cast<double>(std::max<std::int64_t>(1, groups));
}

/// Whether columns are one loop, along which B lies in whole runs.
bool has_plain_columns(const Algorithm& algorithm, const GatheredProduct& loops) {
  if (loops.rows.empty() || loops.columns.size() != 1) return false;
  const Extent columns = extent_of(algorithm, loops.columns.front());
  if (!columns.is_static() || columns.value == 0 || columns.value % columns_of_run != 0) return false;
  if (copies_input(algorithm)) return true;
  return std::ranges::any_of(algorithm.factors, [&](const TensorAccess& factor) {
    const Operand& operand = algorithm.operands[factor.operand];
    const std::string* last = factor.indices.back().plain();
    return operand.name == loops.dense && operand.strides.empty() && last != nullptr &&
           *last == loops.columns.front();
  });
}

struct TileSize {
  std::int64_t rows = 0, columns = 0;

  bool is_widest() const { return rows == rows_of_warpgroup && rows * columns == most_sums; }
  bool is_small() const { return rows == rows_of_warpgroup && columns <= columns_of_small; }
  /// Blocks that a processor has room for.
  std::int64_t resident() const { return !is_small() ? 1 : columns < columns_of_small ? 3 : 2; }
};

class TileChoices {
 public:
  TileChoices(const SparseTensor& weights, std::int64_t columns)
      : rows_(weights.rows()),
        columns_(columns),
        group_(rows_of_group(weights.format())),
        places_(static_cast<double>(weights.array("values").size()) /
                static_cast<double>(group_ * std::max<std::int64_t>(1, ceil_divide(rows_, group_)))) {}

  /// The largest tile of those that take about the same time.
  TileSize cheapest() const {
    TileSize best;
    for (std::int64_t rows = group_; rows >= rows_of_warpgroup; rows /= 2) {
      const std::int64_t least = rows == rows_of_warpgroup ? least_columns_of_tile : columns_of_small;
      for (std::int64_t width = most_sums / rows; width >= least; width /= 2) {
        const TileSize tile{rows, width};
        const bool too_wide = width > least && width >= 2 * columns_;
        if (too_wide || (tile.is_small() && turns(tile) > most_turns_of_small && best.rows > 0)) continue;
        if (best.rows == 0 || clocks(tile) < worth_smaller_tiles * clocks(best)) best = tile;
      }
    }
    return best;
  }

  std::int64_t count(const TileSize& tile) const {
    return ceil_divide(rows_, tile.rows) * ceil_divide(columns_, tile.columns);
  }

 private:
  std::int64_t turns(const TileSize& tile) const { return ceil_divide(count(tile), measured_processors); }

  /// What the processor with the most tiles takes: it copies for all of them, and waits for the first copies
  /// and for the results of those that are not there at the same time.
  double clocks(const TileSize& tile) const {
    constexpr double stored_a_clock = 6, until_first = 1000;  // bytes; clocks
    const double copied =
        2 * places_ * static_cast<double>(tile.rows + tile.columns) / measured_device.copied_a_clock;
    const double stored = 2 * static_cast<double>(tile.rows * tile.columns) / stored_a_clock;
    return static_cast<double>(turns(tile)) * copied +
           static_cast<double>(ceil_divide(turns(tile), tile.resident())) * (stored + until_first);
  }

  std::int64_t rows_, columns_, group_;
  double places_;  ///< the mean length of a group's list
};

}  // namespace

ShflBwKnobs shfl_bw_tiles(const Algorithm& algorithm, const SparseTensor& weights, const Target& target,
                          const ShflBwKnobs& knobs) {
  const GatheredProduct loops = ordered_product(algorithm);
  const std::int64_t group = rows_of_group(weights.format());
  KnobValues given = values_of(shfl_bw_knobs(), knobs);
  given.erase("cluster");
  // Of elements of a byte what gathers them bounds a tile (choose.cpp).
  const bool has_choice = target.has(Capability::warpgroup_tensor_cores) && group >= rows_of_warpgroup &&
                          given.empty() && !is_factor_of_a_byte(weights.dtype());
  if (!has_choice || !has_plain_columns(algorithm, loops)) return knobs;
  const TileChoices tiles(weights, extent_of(algorithm, loops.columns.front()).value);
  const TileSize tile = tiles.cheapest();
  const std::int64_t count = tiles.count(tile);
  ShflBwKnobs chosen = knobs;
  chosen.tile_m = tile.rows;
  chosen.tile_n = tile.columns;
  const double kept = kept_columns(weights);
  if (group_tiles(weights).places > short_places && !tile.is_small()) {
    const bool is_list_of_widest = tile.is_widest() && count > measured_processors && kept <= list_of_widest;
    if (kept <= short_list || is_list_of_widest) chosen.tile_k = short_places;
    if (kept > short_list && is_list_of_widest) chosen.stages = stages_of_widest;
  }
  // A block goes through several tiles where its copies of the next then run ahead.
  const std::int64_t waves = tile.is_small() ? 2 : 1;
  chosen.blocks = count <= waves * measured_processors ? 0 : waves * measured_processors;
  if (!tile.is_small()) return chosen;
  chosen.warp_n = tile.columns;
  if (count <= measured_processors) {
    chosen.stages = stages_of_one;
    return chosen;
  }
  // Registers that are handed over are kept from the other blocks of the processor.
  if (count <= 3 * measured_processors) chosen.producer_registers = chosen.consumer_registers = 0;
  return chosen;
}

}  // namespace weft
