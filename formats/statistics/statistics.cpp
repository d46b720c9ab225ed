#include <weft/dsl/errors.h>
#include <weft/formats/merged.h>
#include <weft/formats/named/hb_ell_blocks.h>
#include <weft/formats/named/lane_streams.h>
#include <weft/formats/statistics/statistics.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

namespace weft {
namespace {

using Mask = std::uint16_t;  ///< sixteen neighbouring columns; the lowest bit is the first
constexpr std::int64_t word_columns = 16;

/// What some consecutive rows store in one aligned word of sixteen columns.
struct Word {
  std::int32_t index = 0;
  Mask columns = 0;
};

/// Ascending by index, only words with an entry: the work follows the entries and not the columns.
using Words = std::vector<Word>;

/// How many aligned parts of `width` columns have a bit that is set.
std::int64_t parts_used(Mask mask, std::int64_t width) {
  const std::uint32_t part = (1U << width) - 1;
  std::int64_t result = 0;
  for (std::int64_t first = 0; first < word_columns; first += width)
    result += (static_cast<std::uint32_t>(mask) >> first & part) != 0 ? 1 : 0;
  return result;
}

Words words_of_row(const WeightMatrix& weights, std::int64_t row) {
  Words words;
  for (const std::int32_t column : weights.columns_of(row)) {
    const auto index = static_cast<std::int32_t>(column / word_columns);
    if (words.empty() || words.back().index != index) words.push_back({index, 0});
    words.back().columns = static_cast<Mask>(words.back().columns | (1U << (column % word_columns)));
  }
  return words;
}

Words of_both(const Words& left, const Words& right) {
  return merged(left, right, &Word::index, [](const Word& l, const Word& r) {
    return Word{l.index, static_cast<Mask>(l.columns | r.columns)};
  });
}

std::int64_t used_columns(const Words& words) {
  std::int64_t count = 0;
  for (const Word& word : words) count += std::popcount(word.columns);
  return count;
}

/// What is counted over all aligned groups of `height` rows.
struct Groups {
  std::int64_t height = 0;
  std::int64_t columns = 0;
  std::int64_t squares = 0;

  void count(const Words& words) {
    columns += used_columns(words);
    count_squares(words);
  }

  void count_squares(const Words& words) {
    if (height < word_columns) {
      for (const Word& word : words) squares += parts_used(word.columns, height);
      return;
    }
    std::int64_t last = -1;
    for (const Word& word : words) {
      const std::int64_t square = word.index / (height / word_columns);
      squares += square != last ? 1 : 0;
      last = square;
    }
  }

  void report(std::int64_t stored, Statistics& result) const {
    const auto share = [&](std::int64_t elements) {
      return elements == 0 ? 0.0 : static_cast<double>(stored) / static_cast<double>(elements);
    };
    result.vector_fills.push_back({height, columns, share(height * columns)});
    if (height <= 64) result.block_fills.push_back({height, squares, share(height * height * squares)});
  }
};

/// Merges rows in pairs, pairs in fours, and so on, as a binary counter carries: `waiting[i]` holds the words
/// of 2^i rows that wait for as many more. Every group of 8 to 128 rows passes by once.
void find_fills(const WeightMatrix& weights, Statistics& result) {
  std::array<Groups, 5> groups{
      {{.height = 8}, {.height = 16}, {.height = 32}, {.height = 64}, {.height = 128}}};
  constexpr std::size_t first_counted = 3;  // 2^3 rows
  std::array<std::optional<Words>, 32> waiting;
  const auto count = [&](std::size_t level, const Words& words) {
    if (level >= first_counted && level < first_counted + groups.size())
      groups[level - first_counted].count(words);
  };
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    Words words = words_of_row(weights, row);
    std::size_t level = 0;
    for (; waiting[level]; ++level) {
      words = of_both(*waiting[level], words);
      waiting[level].reset();
      count(level + 1, words);
    }
    waiting[level] = std::move(words);
  }
  Words rest;  // words of the groups that the last row leaves unfinished
  for (std::size_t level = 0; level < waiting.size(); ++level) {
    if (waiting[level]) rest = of_both(*waiting[level], rest);
    if (weights.rows % (std::int64_t{2} << level) != 0) count(level + 1, rest);
  }
  result.empty_columns = weights.columns - used_columns(rest);
  for (const Groups& group : groups) group.report(weights.stored(), result);
}

/// 2^63 - 1 where the product is larger.
std::int64_t product(std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(left, right, &result) ? std::numeric_limits<std::int64_t>::max() : result;
}

void count_rows(const WeightMatrix& weights, Statistics& result) {
  if (weights.rows == 0) return;
  Statistics::RowLengths& lengths = result.row_lengths;
  lengths.shortest = std::numeric_limits<std::int64_t>::max();
  lengths.mean = static_cast<double>(weights.stored()) / static_cast<double>(weights.rows);
  double squares = 0;
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const auto columns = weights.columns_of(row);
    const std::int64_t length = std::ssize(columns);
    lengths.shortest = std::min(lengths.shortest, length);
    lengths.longest = std::max(lengths.longest, length);
    squares += (static_cast<double>(length) - lengths.mean) * (static_cast<double>(length) - lengths.mean);
    if (length == 0) {
      ++result.empty_rows;
      continue;
    }
    // Columns ascend, so that the first or the last is the farthest from the diagonal.
    result.bandwidth =
        std::max({result.bandwidth, std::abs(row - columns.front()), std::abs(row - columns.back())});
  }
  if (weights.stored() > 0)
    lengths.variation = std::sqrt(squares / static_cast<double>(weights.rows)) / lengths.mean;
}

}  // namespace

const PatternRule& Statistics::two_four() const {
  const auto found = std::ranges::find_if(
      rules, [](const PatternRule& rule) { return rule.v == 1 && rule.n == 2 && rule.m == 4; });
  if (found == rules.end()) throw InternalError("statistics without a rule of 2:4");
  return *found;
}

Statistics statistics(const WeightMatrix& weights, CallPlace place) {
  weights.check(place);
  Statistics result;
  result.dtype = weights.values.dtype();
  result.pattern_only = weights.pattern_only;
  result.shape = weights.shape;
  result.rows = weights.rows;
  result.columns = weights.columns;
  result.stored = weights.stored();
  result.sparsity = weights.sparsity();
  count_rows(weights, result);
  find_fills(weights, result);
  result.rules = pattern_rules(weights);

  const auto width = static_cast<std::int64_t>(size_of(result.dtype));
  result.bytes_dense = product(result.rows * result.columns, width);
  result.bytes_csr = result.stored * (4 + width) + (result.rows + 1) * 4;
  result.bytes_ell = product(result.rows * result.row_lengths.longest, 4 + width);
  result.bytes_hb_ell = named::hb_ell_bytes(weights, {});
  result.bytes_uniform_ell = named::hb_ell_bytes(weights, {{.uniform = true}});
  constexpr double least_of_streams = 0.1;
  if (1 - result.sparsity >= least_of_streams) {
    result.bytes_lane_streams = named::bytes_of_streams(weights, false);
    result.bytes_pair_words = named::bytes_of_streams(weights, true);
  }
  return result;
}

}  // namespace weft
