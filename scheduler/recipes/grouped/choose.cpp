#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/recipes/grouped/grouped_product.h>
#include <weft/scheduler/recipes/parts/ordered.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace weft {
namespace {

using namespace grouped;

constexpr std::int64_t least_columns = 64;
/// Of bytes that are gathered one by one tiles are no wider than the product is: what lies beyond takes as
/// long.
constexpr std::int64_t least_columns_of_bytes = 16, most_columns_of_bytes = 128;
/// Of more columns of bytes a launch transposes X. Four stages of the widest tiles fit.
constexpr std::int64_t most_columns_of_elements = 32, most_columns_of_words = 128, columns_of_words = 32;
constexpr std::int64_t most_stages = 4;
/// Of images that threads gather element by element: nothing but the weights runs ahead.
constexpr std::int64_t stages_of_elements = 2;
constexpr std::int64_t long_line = 64, short_line = 32;  ///< columns of the lines that results leave through
constexpr std::int64_t room_for_barriers = 256;          ///< bytes
/// Beside the accumulators of two warpgroups; what the producers give up (docs/measurements.md).
constexpr std::int64_t warps_of_producer = 4;
constexpr std::int64_t registers_of_producer = 88, registers_of_consumer = 208;
/// Those of words of bytes have 64 of them under way.
constexpr std::int64_t registers_of_words = 136, registers_beside_words = 184;

class Numbers {
 public:
  Numbers(const Algorithm& algorithm, const SparseTensor& weights, const Target& target,
          const ShflBwKnobs& knobs)
      : algorithm_(algorithm),
        weights_(weights),
        target_(target),
        knobs_(knobs),
        loops_(ordered_product(algorithm)),
        tiles_(group_tiles(weights)),
        extent_(columns_of(algorithm, loops_)) {}

  ShflBwKnobs operator()() {
    refuse_idle_knobs();
    refuse_bytes_without_roles();
    ShflBwKnobs chosen = knobs_;
    chosen.tile_m = tiles_.rows;
    chosen.tile_k = tiles_.places;
    chosen.groups = knobs_.groups.value_or(1);
    chosen.cluster = blocks_of_cluster();
    chosen.blocks = blocks_through_tiles();
    chosen.instruction = instruction();
    chosen.elements = elements();
    chosen.promote = knobs_.promote.value_or(is_float_of_a_byte(weights_.dtype()) ? 1 : 0);
    by_warpgroups() ? cut_for_warpgroups(chosen) : cut_for_warps(chosen);
    refuse_wide_warps(chosen);
    const bool roles = has_roles();
    chosen.producers = roles ? knobs_.producers.value_or(warps_of_producer) : 0;
    const bool words = gathers_bytes() && *chosen.elements == 0;
    Tile<std::int64_t> tile = tile_of(chosen, tiles_);
    tile.turns_words = words;
    chosen.stages = stages_of(tile);
    refuse_long_lines(tile);
    chosen.line = knobs_.line.value_or(line_of(tile, *chosen.stages));
    // All threads meet where blocks share a sum, each with the registers that it began with.
    const bool hand_over = by_warpgroups() && *chosen.groups <= 1;
    const auto handed = [&](const std::optional<std::int64_t>& given, std::int64_t usual) {
      return roles ? given.value_or(hand_over ? usual : 0) : 0;
    };
    chosen.producer_registers =
        handed(knobs_.producer_registers, words ? registers_of_words : registers_of_producer);
    chosen.consumer_registers =
        handed(knobs_.consumer_registers, words ? registers_beside_words : registers_of_consumer);
    return chosen;
  }

 private:
  /// Knobs that nothing would follow.
  void refuse_idle_knobs() const {
    const bool registers = knobs_.producer_registers.value_or(0) + knobs_.consumer_registers.value_or(0) > 0;
    if (registers && !has_roles())
      throw UserError(
          "registers are handed over between warps with roles", target_.name,
          fmt::format("producer_registers = {}, consumer_registers = {} with warps that all copy",
                      knobs_.producer_registers.value_or(0), knobs_.consumer_registers.value_or(0)),
          "neither of them, or producers = 4 beside them, on sm_90a");
    if (knobs_.groups == 0 && (knobs_.blocks == 0 || blocks_of_cluster() > 1))
      throw UserError("sums are dealt to single blocks that go through tiles", algorithm_.name,
                      fmt::format("groups = 0, blocks = {}, cluster = {}", knobs_.blocks.value_or(0),
                                  blocks_of_cluster()),
                      fmt::format("groups = 0 with blocks = {} and without cluster, or other groups",
                                  measured_device.multiprocessors));
  }

  /// Whether elements of a byte are gathered one by one.
  bool gathers_bytes() const {
    return is_factor_of_a_byte(weights_.dtype()) && can_gather_elements(algorithm_, weights_.format());
  }

  /// Whether they are: of many columns producers turn words of X [k, n].
  std::int64_t elements() const {
    if (knobs_.elements) return *knobs_.elements;
    const bool few = (extent_.is_static() && extent_.value <= most_columns_of_elements) ||
                     knobs_.tile_n.value_or(columns_of_words) % columns_of_words != 0;
    return gathers_bytes() && (few || !has_roles()) ? 1 : 0;
  }

  void refuse_bytes_without_roles() const {
    if (!gathers_bytes() || elements() > 0 || has_roles()) return;
    throw UserError("elements of a byte are read along k", algorithm_.name,
                    fmt::format("elements = 0 on {} without producers", target_.name),
                    "elements = 1, or on sm_90 and newer producers = 4, which turn words of X [k, n]");
  }

  /// Warps that would compute beside their tile.
  void refuse_wide_warps(const ShflBwKnobs& chosen) const {
    if (*chosen.tile_m % *chosen.warp_m == 0 && *chosen.warp_n <= *chosen.tile_n) return;
    throw UserError(
        "a warp is no part of its tile", algorithm_.name,
        fmt::format("warp_m = {}, warp_n = {} in tile_m = {}, tile_n = {}", *chosen.warp_m, *chosen.warp_n,
                    *chosen.tile_m, *chosen.tile_n),
        fmt::format("warp_m = {}, warp_n = {}, or parts of them, or larger tiles",
                    std::gcd(*chosen.warp_m, *chosen.tile_m), std::min(*chosen.warp_n, *chosen.tile_n)));
  }

  void refuse_long_lines(const Tile<std::int64_t>& tile) const {
    if (knobs_.line.value_or(0) <= tile.columns_each) return;
    throw UserError("lines are longer than the columns of a warp", algorithm_.name,
                    fmt::format("line = {}, warp_n = {}", *knobs_.line, tile.columns_each),
                    fmt::format("line = {} or less", tile.columns_each));
  }

  ShflBwInstruction instruction() const {
    if (by_warpgroups()) return ShflBwInstruction::wgmma;
    if (tiles_.two_of_four) return ShflBwInstruction::mma_m16n8k16;
    if (knobs_.instruction != ShflBwInstruction::chosen) return knobs_.instruction;
    return target_.has(Capability::mma_m16n8k16) ? ShflBwInstruction::mma_m16n8k16
                                                 : ShflBwInstruction::mma_m16n8k8;
  }

  bool by_warpgroups() const {
    if (knobs_.instruction != ShflBwInstruction::chosen)
      return knobs_.instruction == ShflBwInstruction::wgmma;
    return target_.has(Capability::warpgroup_tensor_cores) && tiles_.rows >= rows_of_warpgroup;
  }

  /// Producers copy whole runs, and each of their warps a stage of its own where it gathers bytes.
  bool has_roles() const {
    if (knobs_.producers) return *knobs_.producers > 0;
    return target_.has(Capability::register_reallocation) && has_runs() && knobs_.groups.value_or(1) <= 1 &&
           knobs_.stages.value_or(most_stages) >= (gathers_bytes() ? warps_of_producer : 2);
  }

  std::int64_t blocks_of_cluster() const { return knobs_.cluster.value_or(1); }

  /// Blocks that go through the tiles, of one number in their clusters; 0: each has a tile.
  std::int64_t blocks_through_tiles() const {
    const std::int64_t groups = knobs_.groups.value_or(1);
    const bool through = groups == 0 || (groups == 1 && has_roles());
    const std::int64_t all = knobs_.blocks.value_or(through ? measured_device.multiprocessors : 0);
    return all == 0 ? 0 : std::max<std::int64_t>(1, all / blocks_of_cluster());
  }

  /// Whether runs of columns are neighbours in B.
  bool has_runs() const {
    if (copies_input(algorithm_)) return true;
    const Operand& dense = algorithm_.operands[dense_operand(algorithm_)];
    const Extent& innermost = extent_of(algorithm_, loops_.columns.back());
    if (!innermost.is_multiple_of(columns_of_run)) return false;
    if (!dense.strides.empty() &&
        !std::all_of(dense.strides.begin(), dense.strides.end() - 1,
                     [](std::int64_t stride) { return stride % columns_of_run == 0; }))
      return false;
    for (const TensorAccess& factor : algorithm_.factors) {
      const std::string* last = factor.indices.back().plain();
      if (&algorithm_.operands[factor.operand] == &dense)
        return last != nullptr && *last == loops_.columns.back() &&
               (dense.strides.empty() || dense.strides.back() == 1);
    }
    return false;
  }

  /// As many as knobs say or a tile may have, and no more than twice what there is. Blocks that go through
  /// tiles take the width with which the one that has most of them is done first.
  std::int64_t columns_of_tile(std::int64_t most) const {
    if (knobs_.tile_n) return *knobs_.tile_n;
    if (!extent_.is_static()) return most;
    if (by_elements()) return least_columns;
    const auto enough = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(extent_.value)));
    if (gathers_bytes() && elements() > 0)
      return std::clamp(enough, least_columns_of_bytes, std::min(most, most_columns_of_bytes));
    if (gathers_bytes()) most = std::min(most, most_columns_of_words);
    const std::int64_t widest = std::clamp(enough, least_columns, most);
    std::int64_t best = widest;
    for (std::int64_t width = widest / 2; width >= least_columns && has_widths(); width /= 2) {
      if (clocks_with(width) < clocks_with(best)) best = width;
    }
    return best;
  }

  /// Whether pixels of images are gathered one by one. What that takes does not depend on the width of tiles;
  /// many small ones leave no processor without work, and hide one another's loads.
  bool by_elements() const { return loops_.columns.size() > 1 && !has_runs(); }

  bool has_widths() const { return has_roles() && blocks_through_tiles() > 0 && !knobs_.warp_n; }

  /// What the block with the most tiles takes.
  double clocks_with(std::int64_t width) const {
    const std::int64_t rows = tiles_.rows;
    const auto groups = std::max<std::int64_t>(1, ceil_divide(weights_.rows(), rows));
    const std::int64_t tiles = groups * ceil_divide(extent_.value, width * blocks_of_cluster());
    const double kept =
        static_cast<double>(weights_.array("values").size()) / static_cast<double>(rows * groups);
    const Tile<std::int64_t> tile{tiles_.two_of_four, false, rows,  width,
                                  tiles_.places,      rows,  width, tiles_.element_bytes};
    const auto of_block = static_cast<double>(tiles_.kept());
    const double of_weights = static_cast<double>(tile.bytes_of_weights()) / of_block;
    const double of_dense = static_cast<double>(tile.bytes_of_dense()) / of_block;
    return clocks_of_tiles(ceil_divide(tiles, blocks_through_tiles()), kept * (of_weights + of_dense),
                           static_cast<double>(bytes_of_result * rows * width));
  }

  /// Two warpgroups of 128 accumulators a thread, of which half are those of a stage where these are added to
  /// others: beside each other, or one below the other.
  void cut_for_warpgroups(ShflBwKnobs& chosen) const {
    const bool beside = tiles_.rows == rows_of_warpgroup;
    chosen.tile_n = columns_of_tile(most_sums / (*chosen.promote > 0 ? 2 : 1) / tiles_.rows);
    chosen.warp_m = knobs_.warp_m.value_or(beside ? rows_of_warpgroup : tiles_.rows / 2);
    const bool halved =
        beside && *chosen.tile_n >= least_columns && !(by_elements() && *chosen.tile_n == least_columns);
    chosen.warp_n = knobs_.warp_n.value_or(halved ? *chosen.tile_n / 2 : *chosen.tile_n);
  }

  /// Warps of up to 64 x 32 accumulators.
  void cut_for_warps(ShflBwKnobs& chosen) const {
    const std::int64_t rows = tiles_.rows;
    chosen.tile_n = columns_of_tile(rows > 128 ? 64 : has_roles() ? 256 : 128);
    const bool small = by_elements();  // many warps gather sooner
    const std::int64_t usual = rows >= 128 ? 64 : small && rows <= 32 ? 16 : 32;
    chosen.warp_m = knobs_.warp_m.value_or(std::min<std::int64_t>(rows, usual));
    chosen.warp_n = knobs_.warp_n.value_or(std::min<std::int64_t>(small ? 16 : 32, *chosen.tile_n));
  }

  /// Beside barriers and lines.
  std::int64_t stages_that_fit(const Tile<std::int64_t>& tile, std::int64_t line) const {
    if (tile.columns_each == 0) return 0;  // which a step refuses
    const std::int64_t room = target_.shared_bytes_per_block - room_for_barriers -
                              tile.bytes_of_lines(std::min(line, tile.columns_each)) - tile.bytes_ahead();
    return room / tile.room_of_stage();
  }

  /// Short lines where long ones would take the room of a stage that is needed.
  std::int64_t line_of(const Tile<std::int64_t>& tile, std::int64_t stages) const {
    return stages_that_fit(tile, long_line) >= stages ? long_line : short_line;
  }

  std::int64_t stages_of(const Tile<std::int64_t>& tile) const {
    if (knobs_.stages) return *knobs_.stages;
    if (!target_.has(Capability::asynchronous_copies)) return 1;
    if (by_elements())
      return std::clamp<std::int64_t>(stages_that_fit(tile, short_line), 1, stages_of_elements);
    return std::clamp<std::int64_t>(stages_that_fit(tile, short_line), 1, most_stages);
  }

  const Algorithm& algorithm_;
  const SparseTensor& weights_;
  const Target& target_;
  const ShflBwKnobs& knobs_;
  GatheredProduct loops_;
  GroupTiles tiles_;
  Extent extent_;
};

}  // namespace

grouped::Tile<std::int64_t> tile_of(const ShflBwKnobs& numbers, const GroupTiles& tiles) {
  return {tiles.two_of_four,    numbers.instruction == ShflBwInstruction::wgmma,
          *numbers.tile_m,      *numbers.tile_n,
          *numbers.tile_k,      *numbers.warp_m,
          *numbers.warp_n,      tiles.element_bytes,
          *numbers.promote > 0, tiles.takes_two && *numbers.producers > 0};
}

bool may_gather_elements(const Algorithm& algorithm, const Format& format) {
  constexpr std::int64_t most_columns = 16;
  const Extent all = columns_of(algorithm, ordered_product(algorithm));
  return all.is_static() && all.value <= most_columns && can_gather_elements(algorithm, format);
}

double clocks_of_tiles(std::int64_t tiles, double copied, double stored) {
  constexpr double stored_a_clock = 20, until_first = 1500;  // bytes; clocks
  return static_cast<double>(tiles) *
         (copied / measured_device.copied_a_clock + stored / stored_a_clock + until_first);
}

ShflBwKnobs grouped_numbers(const Algorithm& algorithm, const SparseTensor& weights, const Target& target,
                            const ShflBwKnobs& knobs) {
  return Numbers(algorithm, weights, target, knobs)();
}

}  // namespace weft
