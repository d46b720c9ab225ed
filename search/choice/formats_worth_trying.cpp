#include <weft/formats/mixed_tiles.h>
#include <weft/formats/pattern_rules.h>
#include <weft/formats/pruned_for.h>
#include <weft/search/choice/formats_worth_trying.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <unordered_map>

namespace weft {
namespace {

constexpr std::array<std::int64_t, 4> group_sizes{128, 64, 32, 16};
constexpr std::array<std::int64_t, 3> cpu_group_sizes{16, 8, 4};
constexpr double share_in_groups = 0.75;
constexpr std::int64_t rows_to_one_apart = 16;
/// Below it every element is stored: a list of columns costs more than it saves.
constexpr double little_pruned = 0.3;
/// Where rows keep more, most fours of columns that suit every row of a group have no more than two of them.
constexpr double most_for_fours = 0.6;

bool is_of_16_bits(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16;
}

/// Beyond so many entries nothing that was found for the rows one by one was faster than a pattern that they
/// have (docs/measurements/choice.md), and finding it takes seconds.
constexpr std::int64_t many_entries = 5'000'000;

/// A number that rows with the same columns share, and others hardly.
std::uint64_t signature_of(std::span<const std::int32_t> columns) {
  std::uint64_t signature = columns.size();
  for (const std::int32_t column : columns)
    signature = (signature ^ static_cast<std::uint32_t>(column)) * 0x9E3779B97F4A7C15U + (signature >> 29U);
  return signature;
}

/// Whether rows come in groups of neighbours, most of which keep the same columns: a weight that was kept and
/// is zero all the same makes a row another one.
bool are_neighbours(const WeightMatrix& weights, std::int64_t rows) {
  std::int64_t behind = 0, equal = 0;
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    if (row % rows == 0) continue;
    ++behind;
    equal += std::ranges::equal(weights.columns_of(row), weights.columns_of(row - 1)) ? 1 : 0;
  }
  return static_cast<double>(equal) >= share_in_groups * static_cast<double>(behind);
}

/// Whether every row keeps columns in whole runs of so many.
bool keeps_runs(const WeightMatrix& weights, std::int64_t size) {
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const std::span<const std::int32_t> columns = weights.columns_of(row);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::int64_t first = columns[i - i % static_cast<std::size_t>(size)];
      if (first % size != 0 || columns[i] - first != static_cast<std::int64_t>(i) % size) return false;
    }
    if (static_cast<std::int64_t>(columns.size()) % size != 0 && columns.back() + 1 != weights.columns)
      return false;
  }
  return true;
}

void add_pairs(const WeightMatrix& weights, bool halves, std::vector<Format>& formats) {
  const auto widest = widest_two_of_four(weights);
  if (widest) formats.push_back(formats::v_n_m({.rows = widest->v, .columns = widest->m}));
  // Weights of V:2:M are 2:4 too, which reads more, and gathers nothing, as bytes are gathered one by one.
  if (widest && halves) return;
  if (keeps_two_of_four(weights, 1, 4))
    formats.push_back(Format{"n_m", {}});
  else if (const auto mixed = halves ? mixed_tiles(weights) : std::nullopt)
    formats.push_back(mixed->format());
}

/// Where every fourth to about every second element is kept, anywhere: what a list of columns costs more for
/// than a bit for each of them.
void add_streams(const WeightMatrix& weights, std::vector<Format>& formats) {
  constexpr double least_kept = 0.2, most_kept = 0.65, of_elements = 0.45;
  const double kept = 1 - weights.sparsity();
  if (kept < least_kept || kept > most_kept) return;
  formats.push_back(formats::pair_words());
  if (kept >= of_elements) formats.push_back(formats::lane_streams());
}

/// The first of the sizes for which most rows are in groups of so many that keep the same columns; or 0. A
/// few rows of a group may keep others: weights that were kept and are zero all the same, as of f16 some
/// become.
std::int64_t equal_groups(const WeightMatrix& weights, std::span<const std::int64_t> sizes) {
  std::unordered_map<std::uint64_t, std::int64_t> classes;
  for (std::int64_t row = 0; row < weights.rows; ++row) ++classes[signature_of(weights.columns_of(row))];
  for (const std::int64_t size : sizes) {
    std::int64_t grouped = 0;
    for (const auto& [signature, rows] : classes)
      grouped += std::min(rows, (rows + size / rows_to_one_apart) / size * size);
    if (static_cast<double>(grouped) >= share_in_groups * static_cast<double>(weights.rows) && grouped > 0)
      return size;
  }
  return 0;
}

void add_dense_and_csr(const WeightMatrix& weights, std::vector<Format>& formats) {
  if (weights.sparsity() < little_pruned) formats.push_back(formats::dense());
  formats.push_back(formats::csr());
}

/// What the file says that the weights were pruned for, in front of all that was found in them. Single
/// weights are csr, whichever format they were chosen for.
void put_first_what_is_said(const WeightMatrix& weights, std::vector<Format>& formats) {
  if (weights.pruned_for == nullptr || weights.stored() == 0) return;
  const Format& said = weights.pruned_for->format;
  const bool is_of_tensor_cores = said.parameters.contains("V") || said.name == "n_m" || said.name == "mixed";
  const DType dtype = weights.values.dtype();
  const bool is_multiplied = is_of_16_bits(dtype) || (is_factor_of_a_byte(dtype) && said.name != "mixed");
  if (!said.parameters.contains("b") && !(is_of_tensor_cores && is_multiplied)) return;
  std::erase(formats, said);
  formats.insert(formats.begin(), said);
}

/// Blocks of columns in which a row has about `entries`, where they are several.
void add_column_blocks(const WeightMatrix& weights, std::vector<Format>& formats) {
  constexpr double entries = 16, fewest = 64, most = 256;
  const double density = 1 - weights.sparsity();
  if (density <= 0) return;
  const auto columns = static_cast<std::uint64_t>(std::clamp(entries / density, fewest, most));
  const auto of_block = static_cast<std::int64_t>(std::bit_ceil(columns));
  if (weights.columns >= 2 * of_block) formats.push_back(formats::column_blocks(of_block));
}

std::vector<Format> formats_on_cpu(const WeightMatrix& weights) {
  std::vector<Format> formats;
  const std::int64_t rows = weights.stored() > 0 ? equal_groups(weights, cpu_group_sizes) : 0;
  for (const std::int64_t size : cpu_group_sizes) {
    const bool is_said = weights.stored() > 0 && !row_order_in_groups(weights, size).empty();
    if (size <= rows || is_said) formats.push_back(formats::column_vectors(size));
  }
  add_column_blocks(weights, formats);
  add_dense_and_csr(weights, formats);
  constexpr std::int64_t few_entries = 65'536;  // their list stays in the second cache
  if (weights.stored() >= few_entries && weights.columns <= formats::columns_of_16_bits)
    formats.push_back(formats::csr({.index = 16}));
  constexpr std::int64_t columns_of_window = 32;
  if (weights.stored() > 0 && weights.columns >= columns_of_window && weights.values.dtype() == DType::f32)
    formats.push_back(formats::column_windows());
  return formats;
}

}  // namespace

std::int64_t rows_of_equal_groups(const WeightMatrix& weights) {
  return equal_groups(weights, group_sizes);
}

std::vector<Format> formats_worth_trying(const WeightMatrix& weights, const Target& target) {
  return target.is_gpu() ? formats_worth_trying(weights) : formats_on_cpu(weights);
}

std::vector<Format> formats_worth_trying(const WeightMatrix& weights) {
  std::vector<Format> formats;
  const bool halves = is_of_16_bits(weights.values.dtype());
  const bool is_for_tensor_cores = halves || is_factor_of_a_byte(weights.values.dtype());
  const std::int64_t rows = weights.stored() > 0 ? rows_of_equal_groups(weights) : 0;
  const bool neighbours = rows > 0 && are_neighbours(weights, rows);
  if (is_for_tensor_cores) {
    add_pairs(weights, halves, formats);
    if (rows > 0)
      formats.push_back(neighbours ? formats::vector_wise({.rows = rows}) : formats::shfl_bw({.rows = rows}));
  }
  if (halves) {
    const bool has_pattern = !formats.empty();
    if (1 - weights.sparsity() <= most_for_fours && !(has_pattern && weights.stored() > many_entries)) {
      formats.push_back(Format{"column_quads", {}});
      formats.push_back(Format{"hb_ell", {{"pairs", 1}}});
    }
    if (!has_pattern) add_streams(weights, formats);
  }
  if (neighbours) {
    const auto dense_inside = std::ranges::find_if(
        group_sizes, [&](auto size) { return size <= rows && keeps_runs(weights, size); });
    if (dense_inside != group_sizes.end()) formats.push_back(formats::bcsr(*dense_inside));
  }
  add_dense_and_csr(weights, formats);
  put_first_what_is_said(weights, formats);
  return formats;
}

}  // namespace weft
