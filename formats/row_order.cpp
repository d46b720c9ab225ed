#include <weft/dsl/arithmetic.h>
#include <weft/formats/row_order.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

namespace weft {
namespace {

constexpr std::array<std::string_view, 4> names{"given", "length", "dealt", "similar"};
constexpr std::size_t hashes = 4;       ///< that rows are sorted by before similar ones are looked for
constexpr std::size_t candidates = 64;  ///< rows that are compared with a block

std::vector<std::int32_t> as_given(const WeightMatrix& weights) {
  std::vector<std::int32_t> order(weights.rows);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<std::int32_t> by_length(const WeightMatrix& weights) {
  std::vector<std::int32_t> order = as_given(weights);
  std::ranges::stable_sort(order, [&](auto a, auto b) { return weights.length(a) > weights.length(b); });
  return order;
}

/// The longest row that is left goes to the block with the fewest entries that has room.
std::vector<std::int32_t> dealt(const WeightMatrix& weights, std::int64_t rows) {
  using Block = std::pair<std::int64_t, std::size_t>;  // entries, number
  const auto count = static_cast<std::size_t>(ceil_divide(weights.rows, rows));
  std::vector<std::vector<std::int32_t>> blocks(count);
  std::priority_queue<Block, std::vector<Block>, std::greater<>> open;
  for (std::size_t i = 0; i < count; ++i) open.emplace(0, i);
  const auto room = [&](std::size_t block) {
    return std::min(rows, weights.rows - static_cast<std::int64_t>(block) * rows);
  };
  for (const std::int32_t row : by_length(weights)) {
    const auto [entries, block] = open.top();
    open.pop();
    blocks[block].push_back(row);
    if (static_cast<std::int64_t>(blocks[block].size()) < room(block))
      open.emplace(entries + weights.length(row), block);
  }
  std::vector<std::int32_t> order;
  for (std::vector<std::int32_t>& block : blocks) {
    std::ranges::sort(block);
    order.insert(order.end(), block.begin(), block.end());
  }
  return order;
}

/// A fixed mixture of the bits of a column and the number of a hash.
std::uint64_t mixed(std::uint64_t column, std::uint64_t hash) {
  std::uint64_t x = (column + 1) * 0x9E3779B97F4A7C15U ^ (hash + 1) * 0xD6E8FEB86659FD93U;
  x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93U;
  return x ^ (x >> 29);
}

/// Rows that share many columns have equal smallest hashes with a high chance (Broder, "On the resemblance
/// and containment of documents", 1997), so sorting by them brings such rows near one another. Empty rows
/// come last.
std::vector<std::int32_t> by_smallest_hashes(const WeightMatrix& weights) {
  std::vector<std::array<std::uint64_t, hashes>> smallest(weights.rows);
  for (auto& of_row : smallest) of_row.fill(std::numeric_limits<std::uint64_t>::max());
  std::vector<std::int32_t> order = as_given(weights);
  for (const std::int32_t row : order) {
    auto& of_row = smallest[row];
    for (const std::int32_t column : weights.columns_of(row)) {
      for (std::size_t i = 0; i < hashes; ++i)
        of_row[i] = std::min(of_row[i], mixed(static_cast<std::uint64_t>(column), i));
    }
  }
  std::ranges::stable_sort(order, [&](auto a, auto b) { return smallest[a] < smallest[b]; });
  return order;
}

/// Blocks grow by the candidate that needs the fewest columns that the block does not have yet; of those, by
/// the one with most entries.
std::vector<std::int32_t> similar(const WeightMatrix& weights, std::int64_t rows) {
  std::vector<std::int32_t> rest = by_smallest_hashes(weights);
  std::vector<std::int64_t> block_of_column(weights.columns, -1);
  std::vector<std::int32_t> order;
  order.reserve(rest.size());
  // The candidates are the end of `rest`, so that taking one moves few.
  std::ranges::reverse(rest);
  while (!rest.empty()) {
    const auto block = static_cast<std::int64_t>(order.size()) / rows;
    const auto missing = [&](std::int32_t row) {
      return std::ranges::count_if(weights.columns_of(row),
                                   [&](std::int32_t column) { return block_of_column[column] != block; });
    };
    const bool begins = static_cast<std::int64_t>(order.size()) % rows == 0;
    auto chosen = rest.end() - 1;
    std::pair<std::int64_t, std::int64_t> least{std::numeric_limits<std::int64_t>::max(), 0};
    const auto count = begins ? 1 : std::min(candidates, rest.size());
    for (std::size_t i = 1; i <= count; ++i) {
      const auto at = rest.end() - static_cast<std::ptrdiff_t>(i);
      const std::pair<std::int64_t, std::int64_t> cost{missing(*at), -weights.length(*at)};
      if (cost >= least) continue;
      least = cost;
      chosen = at;
    }
    for (const std::int32_t column : weights.columns_of(*chosen)) block_of_column[column] = block;
    order.push_back(*chosen);
    rest.erase(chosen);
  }
  return order;
}

}  // namespace

std::string_view name_of(RowOrder order) {
  const auto number = static_cast<std::size_t>(order);
  return number < names.size() ? names[number] : "?";
}

std::optional<RowOrder> row_order_named(std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<RowOrder>(found - names.begin());
}

std::vector<std::int32_t> row_order(const WeightMatrix& weights, RowOrder order, std::int64_t rows_of_block) {
  const std::int64_t rows = std::min(rows_of_block, std::max<std::int64_t>(weights.rows, 1));
  switch (order) {
    case RowOrder::given: return as_given(weights);
    case RowOrder::by_length: return by_length(weights);
    case RowOrder::dealt: return dealt(weights, rows);
    case RowOrder::similar: return similar(weights, rows);
  }
  return as_given(weights);
}

WeightMatrix with_row_order(const WeightMatrix& weights, std::span<const std::int32_t> order) {
  std::vector<std::int64_t> row_begin{0}, entries;
  entries.reserve(weights.column.size());
  for (const std::int32_t row : order) {
    for (const std::int64_t entry : weights.entries(row)) entries.push_back(entry);
    row_begin.push_back(static_cast<std::int64_t>(entries.size()));
  }
  return chosen_entries(weights, std::move(row_begin), entries);
}

}  // namespace weft
