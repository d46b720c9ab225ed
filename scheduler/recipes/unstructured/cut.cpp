#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/recipes/parts/product.h>
#include <weft/scheduler/recipes/unstructured/cut.h>
#include <weft/scheduler/recipes/unstructured/shape.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

namespace weft {
namespace {

using recipe_knobs::lanes_of_warp;
constexpr std::int64_t parts_of_multiprocessor = 4;
constexpr std::array<std::int64_t, 4> rows_tried{8, 16, 32, 64};
constexpr std::array<std::int64_t, 4> threads_tried{32, 64, 128, 256};
constexpr std::array<std::int64_t, 5> groups_tried{1, 2, 4, 8, 16};
constexpr std::int64_t registers_of_loads = 40;      ///< at least, and of their addresses
constexpr std::int64_t registers_of_far_loads = 48;  ///< the same where code is far away, too
constexpr std::int64_t registers_of_addresses = 16;
constexpr double least_of_group = 12;  ///< entries: groups of fewer were not measured

// For blocks of chunks, as measured.
constexpr std::int64_t enough_blocks = 100;
constexpr std::int64_t little_code = 7'000;  ///< entries: the first caches hold it, and B is what is scarce
constexpr std::int64_t rows_of_chunks = 64, rows_of_little_code = 128;
constexpr std::int64_t wide_threads = 512, threads_of_chunks = 256, threads_of_little_code = 128;
constexpr std::int64_t wide_columns = 1'024, much_work = 32'000'000;  ///< multiply-adds
// For large blocks whose threads read their elements of B, as measured; the sum below was not fitted to them.
constexpr std::int64_t columns_of_large_blocks = 1'024;
constexpr std::int64_t few_for_rings = 2'048;                 ///< columns
constexpr std::int64_t columns_without_rings = 7'000;         ///< where blocks all have room at once
constexpr std::int64_t work_without_rings = 180'000'000;      ///< multiply-adds, of those
constexpr std::array<std::int64_t, 2> rows_of_waves{64, 32};  ///< where blocks have not
constexpr std::int64_t threads_of_waves = 256;
constexpr std::int64_t entries_of_one_wave = 5'000;
constexpr double code_of_one_group = 80'000;  ///< bytes of a block; of more, less the farther away B is, two
constexpr double code_for_bytes_of_dense = 1e-3;
constexpr double code_of_two_groups = 150'000;
constexpr std::int64_t few_warps = 6;         ///< a processor with so few had better share code that is far
constexpr double code_at_hand = 32'768;       ///< bytes of a block
constexpr double cost_of_code = 0.05e-3;      ///< what a byte of a block costs
constexpr double cost_of_far_code = 0.07e-3;  ///< more for one beyond those at hand
constexpr double cost_of_dense = 0.009e-3;    ///< what a byte of B that a block reads costs
constexpr std::int64_t usual_chunk = 32, short_chunk = 16;
// For columns of B in registers, as measured.
constexpr std::int64_t rows_in_turn = 16, threads_of_held = 64;
constexpr std::int64_t least_held = 48, most_held = 128;  ///< registers
constexpr std::int64_t most_rows_in_turn = 1'024;         ///< whose turns are written out
constexpr std::int64_t most_code_in_turn = 4'000;         ///< entries
constexpr std::int64_t most_blocks_along_y = 65'535;

constexpr double bytes_of_element = 4;
constexpr double chip_bytes = 100'000;  ///< code of all blocks of rows; beyond, it comes from afar
constexpr double enough_warps = 8;      ///< a processor needs so many, to fetch far code for one another

// Microseconds on an H200, fitted to measured points (docs/measurements.md).
constexpr double always_of_blocks = 1.445;  ///< a launch, a round of loads and the results
constexpr double of_code = 0.09e-4;         ///< a byte of code that a processor runs
constexpr double of_far_code = 0.907e-4;    ///< more for one beyond those at hand, where it comes from afar
constexpr double of_few_warps = 0.195e-4;   ///< more for one, the more warps are lacking, where it does
constexpr double of_all_code = 0.705e-6;    ///< a byte of code of all blocks of rows
constexpr double of_dense = 0.656e-7;       ///< a byte of B that all blocks read
constexpr double of_result = 1.488e-5;      ///< a byte of results that a processor writes
constexpr double of_instruction = 0.58e-3;  ///< one of a group
constexpr double of_exchange = 0.487e-3;    ///< a row of sums of a warp through shared memory

/// A block of more rows than there are would keep registers for nothing.
std::int64_t rows_of_few(std::int64_t rows) {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(1, rows))));
}

/// Warps whose registers so many threads take: each of the four parts of a multiprocessor has a quarter of
/// the registers, and whole warps.
std::int64_t whole_warps(std::int64_t threads) {
  return ceil_divide(threads, lanes_of_warp * parts_of_multiprocessor) * parts_of_multiprocessor;
}

template <std::size_t Count>
std::vector<std::int64_t> values(std::int64_t knob, const std::array<std::int64_t, Count>& tried) {
  if (knob > 0) return {knob};
  return {tried.begin(), tried.end()};
}

}  // namespace

bool fill_wide_blocks(std::int64_t rows, std::int64_t dense_columns) {
  return ceil_divide(rows, rows_of_chunks) * ceil_divide(dense_columns, wide_threads) >= enough_blocks;
}

bool reads_from_threads(const BakedSize& size, const Target& target) {
  if (size.columns <= few_for_rings) return true;
  return size.columns <= columns_without_rings && size.stored * size.columns <= work_without_rings &&
         BakedProduct(size, target).cut_of_one_wave();
}

ChunkedCut chunked_cut(const BakedSize& size, const Target& target, const SparseRtKnobs& knobs) {
  const bool little = size.stored <= little_code, wide = fill_wide_blocks(size.rows, size.columns);
  const std::int64_t words = ceil_divide(size.bytes_of_sum, 4);
  ChunkedCut cut{};
  cut.rows = knobs.rows > 0
                 ? knobs.rows
                 : std::min((little ? rows_of_little_code : rows_of_chunks) / words, rows_of_few(size.rows));
  cut.threads = knobs.threads > 0 ? knobs.threads
                : little          ? threads_of_little_code
                : wide            ? wide_threads
                                  : threads_of_chunks;
  cut.chunk = knobs.chunk > 0 ? knobs.chunk : size.inner <= usual_chunk ? short_chunk : usual_chunk;
  const auto fits = [&] {
    return cut.depth * cut.chunk * cut.threads * size.bytes_of_sum <= target.shared_bytes_per_block;
  };
  cut.depth = knobs.depth > 0                                ? knobs.depth
              : !target.has(Capability::asynchronous_copies) ? 1
              : little || cut.chunk <= short_chunk           ? 4
                                                             : 3;
  while (knobs.depth == 0 && cut.depth > 2 && !fits()) --cut.depth;
  while (knobs.threads == 0 && cut.threads > 64 && !fits()) cut.threads /= 2;
  const std::int64_t columns_of_blocks = ceil_divide(size.columns, cut.threads);
  const bool enough = ceil_divide(size.rows, cut.rows) * columns_of_blocks >= enough_blocks;
  cut.keeps_busy = enough && !reads_from_threads(size, target);
  cut.rows_first = columns_of_blocks <= most_blocks_along_y && enough;
  return cut;
}

std::optional<HeldCut> held_cut(const BakedSize& size, const Target& target) {
  const std::int64_t words = size.inner * ceil_divide(size.bytes_of_sum, 4);
  const std::int64_t all = ceil_divide(size.columns, threads_of_held);
  const bool worth_it = least_held <= words && words <= most_held && size.rows >= 2 * size.inner &&
                        size.rows <= most_rows_in_turn && size.stored <= most_code_in_turn;
  const std::int64_t of_processor =
      ceil_divide(all, measured_processors) * threads_of_held * (words + registers_of_addresses);
  if (!worth_it || all < 2 * measured_processors || of_processor > target.registers_per_multiprocessor)
    return std::nullopt;
  return HeldCut{rows_in_turn, threads_of_held};
}

BakedPlan baked_plan(const BakedSize& size, bool is_known, const Target& target, const SparseRtKnobs& knobs) {
  // A size known only at launch is taken for a long one.
  const bool plenty = !is_known || (size.columns >= wide_columns && size.stored * size.columns >= much_work);
  const bool left_to_recipe = knobs.rows == 0 && knobs.threads == 0 && knobs.groups == 0;
  const bool rows_matter = knobs.chunk > 0 || knobs.order == SparseRtOrder::dealt;
  const auto held = is_known ? held_cut(size, target) : std::nullopt;
  if (held && left_to_recipe && !rows_matter) return *held;
  const ChunkedCut wide = chunked_cut(size, target, knobs);
  if (size.stored > 0 && (knobs.chunk > 0 || (plenty && left_to_recipe && wide.keeps_busy))) return wide;
  return BakedProduct(size, target).cheapest(knobs);
}

std::int64_t resident_blocks(std::int64_t all, const BlockNeeds& each, const Target& target) {
  const std::int64_t bytes = std::max<std::int64_t>(1, each.shared_bytes + target.shared_bytes_reserved);
  const std::int64_t fitting = target.registers_per_multiprocessor / (lanes_of_warp * each.registers);
  const std::int64_t warps = fitting / parts_of_multiprocessor * parts_of_multiprocessor;
  const std::int64_t most = std::min(
      {warps / ceil_divide(each.threads, lanes_of_warp), target.threads_per_multiprocessor / each.threads,
       target.blocks_per_multiprocessor, target.shared_bytes_per_multiprocessor / bytes});
  return std::clamp<std::int64_t>(ceil_divide(all, measured_processors), 1, std::max<std::int64_t>(1, most));
}

std::int64_t registers_of_code(std::int64_t sums) {
  return sums + registers_of_loads;
}

std::int64_t BakedProduct::blocks(const BakedCut& cut) const {
  return ceil_divide(size_.rows, cut.rows) * ceil_divide(size_.columns, cut.threads);
}

std::int64_t BakedProduct::threads_of_block(const BakedCut& cut) const {
  return ceil_divide(cut.threads * cut.groups, 32) * 32;
}

std::int64_t BakedProduct::shared_bytes(const BakedCut& cut) const {
  return code::bytes_handed_over(cut.groups, cut.rows, cut.threads, size_.bytes_of_sum);
}

std::int64_t BakedProduct::registers_of_sums(const BakedCut& cut) const {
  return cut.rows * ceil_divide(size_.bytes_of_sum, 4);
}

double BakedProduct::loads(const BakedCut& cut) const {
  const double density =
      static_cast<double>(size_.stored) / std::max(1.0, static_cast<double>(size_.rows * size_.inner));
  return code::loads(static_cast<double>(size_.inner), density, cut.rows);
}

bool BakedProduct::is_possible(const BakedCut& cut) const {
  const std::int64_t each = registers_of_sums(cut) + registers_of_addresses;
  return threads_of_block(cut) <= target_.threads_per_block && each <= target_.registers_per_thread &&
         threads_of_block(cut) * each <= target_.registers_per_multiprocessor &&
         shared_bytes(cut) <= target_.shared_bytes_per_block;
}

std::int64_t BakedProduct::resident(const BakedCut& cut) const {
  const std::int64_t each = registers_of_code(registers_of_sums(cut));
  return resident_blocks(blocks(cut), {threads_of_block(cut), each, shared_bytes(cut)}, target_);
}

double BakedProduct::microseconds(const BakedCut& cut) const {
  const auto row_blocks = static_cast<double>(ceil_divide(size_.rows, cut.rows));
  const auto all = static_cast<double>(blocks(cut)), rows = static_cast<double>(cut.rows);
  const auto each = static_cast<double>(ceil_divide(blocks(cut), measured_processors));
  const auto threads = static_cast<double>(cut.threads), share = static_cast<double>(cut.groups);
  const double instructions = loads(cut) + static_cast<double>(size_.stored) / row_blocks;
  const double written = code::bytes_of_instruction * instructions, warps = each * threads * share / 32;
  const double exchanged = cut.groups > 1 ? warps * 2 * rows : 0;
  const bool far = row_blocks * written > chip_bytes;
  const double of_distance = of_far_code * std::max(0.0, each * written - code::bytes_at_hand) +
                             of_few_warps * std::max(0.0, 1 - warps / enough_warps) * each * written;
  return always_of_blocks + of_code * each * written + (far ? of_distance : 0) +
         of_all_code * row_blocks * written + of_dense * all * loads(cut) * threads * bytes_of_element +
         of_result * each * rows * threads * bytes_of_element + of_instruction * instructions / share +
         of_exchange * exchanged;
}

double BakedProduct::code_of_full_block(const BakedCut& cut) const {
  const auto rows = static_cast<double>(std::min(cut.rows, size_.rows));
  const double of_row = static_cast<double>(size_.stored) / std::max(1.0, static_cast<double>(size_.rows));
  return code::bytes_of_instruction * (loads(cut) + rows * of_row);
}

std::int64_t BakedProduct::groups_of_large(const BakedCut& cut) const {
  const double code = code_of_full_block(cut);
  const double dense = bytes_of_element * static_cast<double>(size_.inner * size_.columns);
  if (code > code_of_two_groups) return 4;
  if (code > code_of_one_group - code_for_bytes_of_dense * dense) return 2;
  const std::int64_t warps = resident(cut) * ceil_divide(cut.threads, lanes_of_warp);
  return code > code_at_hand && warps <= few_warps ? 2 : 1;
}

std::optional<double> BakedProduct::cost_of_one_wave(const BakedCut& cut) const {
  if (cut.rows > rows_of_few(size_.rows) || !is_possible(cut)) return std::nullopt;
  const std::int64_t there = resident(cut), all = blocks(cut);
  if (all < enough_blocks || all > measured_processors * there) return std::nullopt;
  const double code = code_of_full_block(cut);
  const std::int64_t threads = whole_warps(there * threads_of_block(cut)) * lanes_of_warp;
  const std::int64_t of_loads = target_.registers_per_multiprocessor / threads - registers_of_sums(cut);
  const bool far = code > code_at_hand * static_cast<double>(cut.groups);
  if (of_loads < (far ? registers_of_far_loads : registers_of_loads)) return std::nullopt;
  const double dense = bytes_of_element * static_cast<double>(size_.inner * cut.threads);
  return static_cast<double>(ceil_divide(all, measured_processors)) *
         (cost_of_code * code + cost_of_far_code * std::max(0.0, code - code_at_hand) +
          cost_of_dense * dense);
}

std::optional<BakedCut> BakedProduct::cut_of_one_wave() const {
  if (size_.columns < columns_of_large_blocks || size_.stored < entries_of_one_wave) return std::nullopt;
  std::optional<BakedCut> best;
  double least = std::numeric_limits<double>::infinity();
  for (const std::int64_t rows : rows_of_large_blocks) {
    for (const std::int64_t threads : threads_of_large_blocks) {
      BakedCut cut{rows, threads, 1};
      cut.groups = groups_of_large(cut);
      const std::optional<double> cost = cost_of_one_wave(cut);
      if (!cost || *cost >= least) continue;
      least = *cost;
      best = cut;
    }
  }
  return best;
}

std::optional<BakedCut> BakedProduct::large_cut() const {
  if (const auto cut = cut_of_one_wave()) return cut;
  if (size_.columns < columns_of_large_blocks || size_.stored <= little_code) return std::nullopt;
  for (const std::int64_t rows : rows_of_waves) {
    BakedCut cut{rows, threads_of_waves, 1};
    cut.groups = groups_of_large(cut);
    if (blocks(cut) >= enough_blocks && is_possible(cut)) return cut;
  }
  return std::nullopt;
}

BakedCut BakedProduct::cheapest(const SparseRtKnobs& knobs) const {
  if (const auto large = large_cut(); large && knobs.rows == 0 && knobs.threads == 0 && knobs.groups == 0)
    return *large;
  BakedCut best{
      knobs.rows > 0 ? knobs.rows : std::min<std::int64_t>(rows_tried.back(), rows_of_few(size_.rows)),
      knobs.threads > 0 ? knobs.threads : threads_tried.front(), std::max<std::int64_t>(1, knobs.groups)};
  double least = std::numeric_limits<double>::infinity();
  for (const std::int64_t tried : values(knobs.rows, rows_tried)) {
    const std::int64_t rows = knobs.rows > 0 ? tried : std::min(tried, rows_of_few(size_.rows));
    for (const std::int64_t threads : values(knobs.threads, threads_tried)) {
      // Few columns in one wide block leave lanes idle.
      if (knobs.threads == 0 && threads > 32 && threads >= 2 * size_.columns) continue;
      for (const std::int64_t share : values(knobs.groups, groups_tried)) {
        const BakedCut cut{rows, threads, share};
        const double of_group =
            static_cast<double>(size_.stored) / static_cast<double>(ceil_divide(size_.rows, rows) * share);
        if (knobs.groups == 0 && share > 1 && (of_group < least_of_group || threads % 32 != 0)) continue;
        if (!is_possible(cut) || microseconds(cut) >= least) continue;
        least = microseconds(cut);
        best = cut;
      }
    }
  }
  return best;
}

}  // namespace weft
