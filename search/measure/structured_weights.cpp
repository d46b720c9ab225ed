#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/search/measure/structured_weights.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace weft {
namespace {

[[noreturn]] void refuse(std::string found, std::string accepted) {
  throw UserError("structured weights cannot be made", "weights with groups or pairs", std::move(found),
                  std::move(accepted));
}

void check_shape(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (rows >= 1 && columns >= 1 && columns <= most / rows) return;
  refuse(fmt::format("{} x {}", rows, columns), fmt::format("extents from 1, at most {} elements", most));
}

void check_sparsity(double sparsity) {
  if (sparsity >= 0 && sparsity <= 1) return;
  refuse(fmt::format("a sparsity of {}", sparsity), "0 to 1");
}

void check_block(std::int64_t rows, std::int64_t columns, std::int64_t block) {
  if (block >= 1 && rows % block == 0 && columns % block == 0) return;
  refuse(fmt::format("blocks of {} in {} x {}", block, rows, columns), "blocks that divide both extents");
}

std::int64_t kept_of(double sparsity, std::int64_t all) {
  return std::clamp<std::int64_t>(std::llround((1 - sparsity) * static_cast<double>(all)), 1, all);
}

std::vector<std::int32_t> numbers(std::int64_t count) {
  std::vector<std::int32_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// The first `count` places become a random choice of all; with all of them, a random permutation.
void shuffle(std::vector<std::int32_t>& all, std::int64_t count, Random& random) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto left = static_cast<std::int64_t>(all.size()) - i;
    std::swap(all[i], all[i + random.below(left)]);
  }
}

/// `count` of 0 … all - 1, ascending.
std::vector<std::int32_t> chosen_of(std::int64_t all, std::int64_t count, Random& random) {
  std::vector<std::int32_t> chosen = numbers(all);
  shuffle(chosen, count, random);
  chosen.resize(count);
  std::ranges::sort(chosen);
  return chosen;
}

/// A weight whose rows all have `length` entries, places for them made.
WeightMatrix even_rows(std::int64_t rows, std::int64_t columns, std::int64_t length, DType dtype,
                       std::uint64_t seed, std::string origin) {
  WeightMatrix matrix;
  matrix.shape = {rows, columns};
  matrix.rows = rows;
  matrix.columns = columns;
  for (std::int64_t row = 0; row <= rows; ++row) matrix.row_begin.push_back(row * length);
  matrix.column.resize(rows * length);
  matrix.values = normal_array(dtype, {rows * length}, seed);
  matrix.origin = std::move(origin);
  return matrix;
}

std::span<std::int32_t> columns_of_row(WeightMatrix& matrix, std::int64_t row) {
  const auto begin = static_cast<std::size_t>(matrix.row_begin[row]);
  const auto end = static_cast<std::size_t>(matrix.row_begin[static_cast<std::size_t>(row) + 1]);
  return std::span(matrix.column).subspan(begin, end - begin);
}

std::pair<std::int64_t, std::int64_t> entries_of_rows(const WeightMatrix& weights, std::int64_t first,
                                                      std::int64_t end) {
  return {weights.row_begin[first], weights.row_begin[end]};
}

/// Adds a multiple of `step` to the columns of each row: the number of the group that the row is in.
void move_columns(WeightMatrix& matrix, std::int64_t groups, std::int64_t step) {
  const std::int64_t rows_of_group = matrix.rows / groups;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int32_t& column : columns_of_row(matrix, row))
      column += static_cast<std::int32_t>(row / rows_of_group * step);
  }
}

/// The blocks, ascending, in which the rows `first` … `first + block - 1` have an entry.
std::vector<std::int32_t> kept_blocks(const WeightMatrix& weights, std::int64_t first, std::int64_t block) {
  std::vector<bool> seen(weights.columns / block);
  const auto [begin, end] = entries_of_rows(weights, first, first + block);
  for (std::int64_t i = begin; i < end; ++i) seen[weights.column[i] / block] = true;
  std::vector<std::int32_t> blocks;
  for (std::size_t number = 0; number < seen.size(); ++number) {
    if (seen[number]) blocks.push_back(static_cast<std::int32_t>(number));
  }
  return blocks;
}

/// Appends the two of largest magnitude of the entries `begin` … `end - 1`, in their order.
void append_largest_two(const std::vector<float>& magnitude, std::int64_t begin, std::int64_t end,
                        std::vector<std::int64_t>& chosen) {
  std::int64_t first = -1;
  std::int64_t second = -1;
  const auto is_larger = [&](std::int64_t i, std::int64_t than) {
    return than < 0 || magnitude[i] > magnitude[than];
  };
  for (std::int64_t i = begin; i < end; ++i) {
    if (is_larger(i, first)) {
      second = std::exchange(first, i);
    } else if (is_larger(i, second)) {
      second = i;
    }
  }
  chosen.push_back(second < 0 ? first : std::min(first, second));
  if (second >= 0) chosen.push_back(std::max(first, second));
}

constexpr std::int64_t kept_of_row = 2, kept_of_block = 4;

/// Two of the kept columns of a block, or the one that there is, from the place `at` of the row on.
void keep_pair(std::span<std::int32_t> row, std::int64_t at, std::int64_t first_column,
               const std::vector<std::int32_t>& kept, Random& random) {
  const auto count = std::ssize(kept);
  const std::int64_t one = random.below(count);
  const std::int64_t other = count > 1 ? (one + 1 + random.below(count - 1)) % count : one;
  const auto column = [&](std::int64_t number) {
    return static_cast<std::int32_t>(first_column) + kept[number];
  };
  row[at] = column(std::min(one, other));
  if (count > 1) row[static_cast<std::size_t>(at) + 1] = column(std::max(one, other));
}

// The values are drawn with the seed itself, places with another.
constexpr std::uint64_t seed_of_places = 0x9E3779B97F4A7C15U;

}  // namespace

Array normal_array(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed) {
  if (!is_factor(dtype)) refuse(std::string(name_of(dtype)), "f16, bf16, f32, f64, e4m3, e5m2 or i8");
  constexpr std::int64_t entries = 1 << 16;
  const double deviation = is_float(dtype) ? 1 : 32;
  Random random(seed);
  Array table(dtype, {entries});
  for (std::int64_t i = 0; i < entries; ++i) {
    do table.set(i, deviation * random.normal());
    while (table.get(i) == 0);
  }
  Array array(dtype, std::move(shape));
  std::uint64_t bits = 0;
  for (std::int64_t i = 0; i < array.size(); ++i) {
    bits = i % 4 == 0 ? random.bits() : bits >> 16;
    array.copy_element(i, table, static_cast<std::int64_t>(bits & 0xFFFF));
  }
  return array;
}

ShflBwWeights shfl_bw_weights(const ShflBwOptions& options) {
  check_shape(options.rows, options.columns);
  check_sparsity(options.sparsity);
  if (options.group_rows < 1) refuse(fmt::format("groups of {} rows", options.group_rows), "at least 1");
  Random random(options.seed ^ seed_of_places);
  RowGroups row_groups{options.group_rows, kept_of(options.sparsity, options.columns), numbers(options.rows)};
  shuffle(row_groups.order, options.rows, random);
  WeightMatrix matrix = even_rows(options.rows, options.columns, row_groups.kept, options.dtype, options.seed,
                                  fmt::format("Shfl-BW weights, seed {}", options.seed));
  for (std::int64_t group = 0; group < row_groups.count(); ++group) {
    const std::vector<std::int32_t> kept_columns = chosen_of(options.columns, row_groups.kept, random);
    const std::int64_t end = std::min(options.rows, (group + 1) * row_groups.rows);
    for (std::int64_t place = group * row_groups.rows; place < end; ++place) {
      const std::int32_t row = row_groups.order[place];
      std::ranges::copy(kept_columns, columns_of_row(matrix, row).begin());
    }
  }
  return {std::move(matrix), std::move(row_groups)};
}

WeightMatrix pair_weights(const PairWeights& options) {
  check_shape(options.rows, options.columns);
  const std::int64_t of = options.pattern.of;
  const std::int64_t height = options.pattern.rows == 0 ? options.rows : options.pattern.rows;
  const std::int64_t length =
      options.columns / of * kept_of_row + std::min(kept_of_row, options.columns % of);
  Random random(options.seed ^ seed_of_places);
  WeightMatrix matrix = even_rows(options.rows, options.columns, length, options.dtype, options.seed,
                                  fmt::format("{} weights, seed {}", options.pattern.text(), options.seed));
  for (std::int64_t first = 0; first < options.rows; first += height) {
    const std::int64_t end = first + std::min(height, options.rows - first);
    for (std::int64_t column = 0; column < options.columns; column += of) {
      const std::int64_t width = std::min(of, options.columns - column);
      const auto kept = chosen_of(width, std::min(kept_of_block, width), random);
      for (std::int64_t row = first; row < end; ++row)
        keep_pair(columns_of_row(matrix, row), column / of * kept_of_row, column, kept, random);
    }
  }
  return matrix;
}

WeightMatrix dense_weights(std::int64_t rows, std::int64_t column_count, DType dtype, std::uint64_t seed) {
  check_shape(rows, column_count);
  WeightMatrix matrix =
      even_rows(rows, column_count, column_count, dtype, seed, fmt::format("dense weights, seed {}", seed));
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto places = columns_of_row(matrix, row);
    std::iota(places.begin(), places.end(), 0);
  }
  return matrix;
}

WeightMatrix block_weights(std::int64_t rows, std::int64_t column_count, std::int64_t block, double sparsity,
                           DType dtype, std::uint64_t seed) {
  check_shape(rows, column_count);
  check_sparsity(sparsity);
  check_block(rows, column_count, block);
  Random random(seed ^ seed_of_places);
  const std::int64_t kept = kept_of(sparsity, column_count / block);
  WeightMatrix matrix = even_rows(rows, column_count, kept * block, dtype, seed,
                                  fmt::format("weights in blocks of {}, seed {}", block, seed));
  for (std::int64_t first = 0; first < rows; first += block) {
    const std::vector<std::int32_t> chosen_blocks = chosen_of(column_count / block, kept, random);
    for (std::int64_t row = first; row < first + block; ++row) {
      auto place = columns_of_row(matrix, row).begin();
      for (const std::int32_t number : chosen_blocks) {
        for (std::int64_t i = 0; i < block; ++i) *place++ = static_cast<std::int32_t>(number * block + i);
      }
    }
  }
  return matrix;
}

WeightMatrix two_of_four(const WeightMatrix& weights) {
  std::vector<float> magnitude(weights.column.size());
  for (std::size_t i = 0; i < magnitude.size(); ++i)
    magnitude[i] = static_cast<float>(std::abs(weights.values.get(static_cast<std::int64_t>(i))));
  std::vector<std::int64_t> row_begin{0}, kept;
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const auto [begin, end] = entries_of_rows(weights, row, row + 1);
    const auto four_of = [&](std::int64_t i) { return weights.column[i] / 4; };
    for (std::int64_t first = begin; first < end;) {
      std::int64_t next = first + 1;
      while (next < end && four_of(next) == four_of(first)) ++next;
      append_largest_two(magnitude, first, next, kept);
      first = next;
    }
    row_begin.push_back(static_cast<std::int64_t>(kept.size()));
  }
  return chosen_entries(weights, std::move(row_begin), kept);
}

WeightMatrix across_groups(WeightMatrix weights, std::int64_t group_count) {
  internal_check(weights.rows % group_count == 0, "filters that are no multiple of the groups");
  move_columns(weights, group_count, weights.columns);
  weights.columns *= group_count;
  weights.pruned_for = nullptr;  // it was said of the columns as they were
  if (weights.shape.size() > 2)
    weights.shape[1] *= group_count;
  else
    weights.shape = {weights.rows, weights.columns};
  return weights;
}

WeightMatrix within_groups(WeightMatrix weights, std::int64_t group_count) {
  internal_check(weights.rows % group_count == 0 && weights.columns % group_count == 0,
                 "filters or channels that are no multiple of the groups");
  weights.columns /= group_count;
  move_columns(weights, group_count, -weights.columns);
  weights.shape = {weights.rows, weights.columns};
  return weights;
}

BlockedEll blocked_ell(const WeightMatrix& weights, std::int64_t block) {
  check_shape(weights.rows, weights.columns);
  check_block(weights.rows, weights.columns, block);
  std::vector<std::vector<std::int32_t>> kept;
  std::size_t most = 1;
  for (std::int64_t row = 0; row < weights.rows; row += block) {
    kept.push_back(kept_blocks(weights, row, block));
    most = std::max(most, kept.back().size());
  }
  BlockedEll ell;
  ell.block = block;
  ell.columns = static_cast<std::int64_t>(most) * block;
  ell.block_column = Array(DType::i32, {weights.rows / block, static_cast<std::int64_t>(most)});
  ell.values = Array(weights.values.dtype(), {weights.rows, ell.columns});
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const std::vector<std::int32_t>& blocks_of_row = kept[row / block];
    const auto [begin, end] = entries_of_rows(weights, row, row + 1);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t column = weights.column[i];
      const auto found = std::ranges::lower_bound(blocks_of_row, column / block);
      const std::int64_t place = (found - blocks_of_row.begin()) * block + column % block;
      ell.values.copy_element(row * ell.columns + place, weights.values, i);
    }
  }
  for (std::size_t row = 0; row < kept.size(); ++row) {
    kept[row].resize(most, -1);
    std::ranges::copy(kept[row],
                      ell.block_column.as<std::int32_t>().begin() + static_cast<std::ptrdiff_t>(row * most));
  }
  return ell;
}

}  // namespace weft
