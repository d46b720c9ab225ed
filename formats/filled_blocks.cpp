#include <weft/dsl/arithmetic.h>
#include <weft/formats/filled_blocks.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

namespace weft {
namespace {

using Blocks = std::vector<std::vector<std::int32_t>>;

/// Empty where the rows do not fit so many blocks.
Blocks fill(std::span<const std::int64_t> needs, std::span<const std::int32_t> order, std::int64_t room,
            std::int64_t count) {
  struct Block {
    std::int64_t left, rows, number;
    /// Most room first, then fewest rows: rows that need nothing are shared out as well.
    bool operator<(const Block& other) const {
      return std::tuple(left, -rows, -number) < std::tuple(other.left, -other.rows, -other.number);
    }
  };
  std::priority_queue<Block> open;
  for (std::int64_t i = 0; i < count; ++i) open.push({room, 0, i});
  Blocks blocks(static_cast<std::size_t>(count));
  for (const std::int32_t row : order) {
    const std::int64_t need = needs[row];
    Block block = open.top();
    if (block.left < need) return {};
    open.pop();
    blocks[block.number].push_back(row);
    open.push({block.left - need, block.rows + 1, block.number});
  }
  return blocks;
}

}  // namespace

Blocks filled_blocks(std::span<const std::int64_t> needs, std::int64_t room) {
  if (std::ranges::any_of(needs, [&](std::int64_t need) { return need > room; })) return {};
  std::vector<std::int32_t> order(needs.size());
  std::iota(order.begin(), order.end(), 0);
  const auto need_of = [&](std::int32_t row) { return needs[row]; };
  std::ranges::stable_sort(order, [&](auto a, auto b) { return need_of(a) > need_of(b); });
  const std::int64_t all = std::accumulate(needs.begin(), needs.end(), std::int64_t{0});
  std::int64_t count = std::max<std::int64_t>(1, ceil_divide(all, room));
  Blocks blocks = fill(needs, order, room, count);
  // One more where blocks are few; of tens of thousands, trying each number would take minutes.
  constexpr std::int64_t share = 256;
  while (blocks.empty()) blocks = fill(needs, order, room, count += std::max<std::int64_t>(1, count / share));
  for (std::vector<std::int32_t>& block : blocks)
    std::ranges::sort(block, {}, [&](std::int32_t row) { return std::pair(need_of(row) > 0, row); });
  return blocks;
}

}  // namespace weft
