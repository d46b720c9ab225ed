// Columns of a group of rows in fours of which every row has at most two entries: any weights as 2:4.
#pragma once

#include <weft/formats/named/kept_pairs.h>

#include <array>
#include <cstdint>
#include <span>

namespace weft::named {

/// A bit for each row of a group.
using GroupRows = std::array<std::uint64_t, 4>;

/// A column of the group, and the rows of the group that have an entry in it.
struct GroupColumn {
  std::int32_t number = 0;
  std::int32_t entries = 0;
  GroupRows rows{};
};

/// The columns in fours, one after the other, by their first columns; the columns of each ascend, with -1 for
/// those that it lacks. All but one of the fours have two columns at least. Sorts what it is given.
SlotColumns in_quads(std::span<GroupColumn> columns);

/// Packs weights group by group of `shape.rows` rows, up to 256, whose lists of slots are filled up to whole
/// blocks. `slots_of` puts the columns of one group that have entries, in any order, into fours. Entries that
/// are +0 are left out. Any number of threads gives the same.
SparseTensor pack_quads(const WeightMatrix& weights, const Format& format, const PairShape& shape,
                        SlotColumns (*slots_of)(std::span<GroupColumn> columns), std::int64_t threads);

}  // namespace weft::named
