// Each column that a group has joins the first open four in which no row then has three; where none takes it,
// it begins another. Entries that are +0 are left out.
#include <weft/formats/kept_slots.h>
#include <weft/formats/named/quads.h>
#include <weft/formats/parallel.h>

#include <algorithm>
#include <utility>

namespace weft::named {
namespace {

/// Fours that a column is tried with, the oldest first; those before them stay as they are.
constexpr std::size_t most_open = 64;

/// Up to four columns.
struct Quad {
  std::vector<std::int32_t> columns;
  GroupRows once{}, twice{};  ///< rows with an entry, and with two

  bool takes(const GroupColumn& column) const {
    for (std::size_t i = 0; i < twice.size(); ++i) {
      if ((twice[i] & column.rows[i]) != 0) return false;
    }
    return true;
  }
  void add(const GroupColumn& column) {
    columns.push_back(column.number);
    for (std::size_t i = 0; i < twice.size(); ++i) {
      twice[i] |= once[i] & column.rows[i];
      once[i] |= column.rows[i];
    }
  }
  bool is_full() const { return std::ssize(columns) == slots_of_quad; }
};

/// The columns of a group with entries, in the order in which rows name them.
std::vector<GroupColumn> columns_of(const WeightMatrix& weights, std::int64_t first, std::int64_t rows) {
  std::vector<std::int32_t> place(weights.columns, -1);
  std::vector<GroupColumn> columns;
  const std::int64_t end = std::min(first + rows, weights.rows);
  for (std::int64_t row = first; row < end; ++row) {
    for (const std::int32_t number : weights.columns_of(row)) {
      std::int32_t& known = place[number];
      if (known < 0) {
        known = static_cast<std::int32_t>(columns.size());
        columns.push_back({.number = number});
      }
      GroupColumn& column = columns[known];
      ++column.entries;
      const auto bit = static_cast<std::size_t>(row - first);
      column.rows[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
  }
  return columns;
}

}  // namespace

SlotColumns in_quads(std::span<GroupColumn> columns) {
  // Those with the most entries first, because they fit the fewest fours.
  std::ranges::sort(columns, [](const GroupColumn& a, const GroupColumn& b) {
    return a.entries != b.entries ? a.entries > b.entries : a.number < b.number;
  });
  std::vector<Quad> done;
  std::vector<Quad> open;
  for (const GroupColumn& column : columns) {
    auto taker = std::ranges::find_if(open, [&](const Quad& quad) { return quad.takes(column); });
    if (taker == open.end()) {
      if (open.size() == most_open) {
        done.push_back(std::move(open.front()));
        open.erase(open.begin());
      }
      taker = open.emplace(open.end());
    }
    taker->add(column);
    if (!taker->is_full()) continue;
    done.push_back(std::move(*taker));
    open.erase(taker);
  }
  std::ranges::move(open, std::back_inserter(done));
  for (Quad& quad : done) std::ranges::sort(quad.columns);
  std::ranges::sort(done, {}, [](const Quad& quad) { return quad.columns.front(); });
  SlotColumns slots;
  for (Quad& quad : done) {
    quad.columns.resize(slots_of_quad, -1);
    slots.insert(slots.end(), quad.columns.begin(), quad.columns.end());
  }
  return slots;
}

SparseTensor pack_quads(const WeightMatrix& given, const Format& format, const PairShape& shape,
                        SlotColumns (*slots_of)(std::span<GroupColumn>), std::int64_t threads) {
  const WeightMatrix weights = without_zeros(given);
  const std::int64_t groups = shape.groups_of(weights.rows);
  std::vector<SlotColumns> columns(groups);
  parallel_for_on(threads, groups, [&](std::int64_t group) {
    std::vector<GroupColumn> of_group = columns_of(weights, group * shape.rows, shape.rows);
    columns[group] = slots_of(of_group);
  });
  std::vector<std::int32_t> begin{0};
  for (SlotColumns& of_group : columns) {
    const std::int64_t blocks = shape.blocks_of(std::ssize(of_group) / slots_of_quad);
    check_positions(weights, format, (begin.back() + blocks) * shape.slots, "listed columns");
    of_group.resize(blocks * shape.slots, -1);
    begin.push_back(begin.back() + static_cast<std::int32_t>(blocks));
  }
  return pack_listed_pairs(weights, format, shape, columns, weights.columns, blocks_of_group(),
                           arrays_of({{"begin", Array::of(begin)}}));
}

}  // namespace weft::named
