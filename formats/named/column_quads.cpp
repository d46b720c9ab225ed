// Unstructured weights on sparse tensor cores: the columns that a group of V rows has entries in are put
// together in fours of which every row has at most two (see kept_pairs). The fours of a group are listed one
// after the other, the columns of each in ascending order, -1 for those that it lacks; the list is filled up
// to a multiple of k. Every matrix fits: a column that fits no four begins another. Entries that are +0 are
// left out: those that fill up a row of a packed weight would count like others where it is packed anew.
#include <weft/formats/chosen_entries.h>
#include <weft/formats/kept_slots.h>
#include <weft/formats/named/kept_pairs.h>
#include <weft/formats/parallel.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weft {
namespace named {

NamedFormat column_quads();

namespace {

constexpr std::int64_t default_rows = 128;
constexpr std::size_t most_words = 4;  ///< of 64 rows
/// Fours that a column is tried with, the oldest first; those before them stay as they are.
constexpr std::size_t most_open = 64;

using Rows = std::array<std::uint64_t, most_words>;

/// A column of the group, and the rows of the group that have an entry in it.
struct Column {
  std::int32_t number = 0;
  std::int32_t entries = 0;
  Rows rows{};
};

/// Up to four columns.
struct Quad {
  std::vector<std::int32_t> columns;
  Rows once{}, twice{};  ///< rows with an entry, and with two

  bool takes(const Column& column) const {
    for (std::size_t i = 0; i < most_words; ++i) {
      if ((twice[i] & column.rows[i]) != 0) return false;
    }
    return true;
  }
  void add(const Column& column) {
    columns.push_back(column.number);
    for (std::size_t i = 0; i < most_words; ++i) {
      twice[i] |= once[i] & column.rows[i];
      once[i] |= column.rows[i];
    }
  }
  bool is_full() const { return std::ssize(columns) == slots_of_quad; }
};

/// The columns of a group with entries; those with the most come first, because they fit the fewest fours.
std::vector<Column> columns_of(const WeightMatrix& weights, std::int64_t first, std::int64_t rows) {
  std::vector<std::int32_t> place(static_cast<std::size_t>(weights.columns), -1);
  std::vector<Column> columns;
  const std::int64_t end = std::min(first + rows, weights.rows);
  for (std::int64_t row = first; row < end; ++row) {
    const auto at = static_cast<std::size_t>(row);
    for (std::int64_t i = weights.row_begin[at]; i < weights.row_begin[at + 1]; ++i) {
      const std::int32_t number = weights.column[static_cast<std::size_t>(i)];
      std::int32_t& known = place[static_cast<std::size_t>(number)];
      if (known < 0) {
        known = static_cast<std::int32_t>(columns.size());
        columns.push_back({.number = number});
      }
      Column& column = columns[static_cast<std::size_t>(known)];
      ++column.entries;
      const auto bit = static_cast<std::size_t>(row - first);
      column.rows[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
  }
  std::ranges::sort(columns, [](const Column& a, const Column& b) {
    return a.entries != b.entries ? a.entries > b.entries : a.number < b.number;
  });
  return columns;
}

/// Each column joins the first open four that it fits.
SlotColumns quads_of(const WeightMatrix& weights, std::int64_t first, std::int64_t rows) {
  std::vector<Quad> done;
  std::vector<Quad> open;
  for (const Column& column : columns_of(weights, first, rows)) {
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

/// Of entries that are not +0.
WeightMatrix without_zeros(const WeightMatrix& weights) {
  std::vector<std::int64_t> row_begin{0}, kept;
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    for (std::int64_t i = weights.row_begin[at]; i < weights.row_begin[at + 1]; ++i) {
      if (!weights.values.is_zero_bits(i)) kept.push_back(i);
    }
    row_begin.push_back(std::ssize(kept));
  }
  return chosen_entries(weights, std::move(row_begin), kept);
}

SparseTensor pack_column_quads(const WeightMatrix& given, const Format& format) {
  const WeightMatrix weights = without_zeros(given);
  check_parameters(format, {"V", "k"});
  const PairShape shape = pair_shape(format, default_rows);
  const std::int64_t groups = shape.groups_of(weights.rows);
  std::vector<SlotColumns> columns(static_cast<std::size_t>(groups));
  parallel_for_on(threads_for(weights.stored()), groups, [&](std::int64_t group) {
    columns[static_cast<std::size_t>(group)] = quads_of(weights, group * shape.rows, shape.rows);
  });
  std::vector<std::int32_t> begin{0}, listed;
  for (SlotColumns& of_group : columns) {
    const std::int64_t blocks = shape.blocks_of(std::ssize(of_group) / slots_of_quad);
    check_positions(weights, format, (begin.back() + blocks) * shape.slots, "listed columns");
    of_group.resize(static_cast<std::size_t>(blocks * shape.slots), -1);
    listed.insert(listed.end(), of_group.begin(), of_group.end());
    begin.push_back(begin.back() + static_cast<std::int32_t>(blocks));
  }
  std::vector<Level> levels{
      {.dimension = Dimension::row, .extent = groups, .stride = shape.rows, .loop = "block"},
      {.dimension = Dimension::row, .extent = shape.rows, .loop = "row"},
      {.kind = LevelKind::compressed,
       .dimension = Dimension::none,
       .begin = "begin",
       .parent = 0,
       .loop = "block"},
      {.kind = LevelKind::n_of_m,
       .dimension = Dimension::none,
       .extent = shape.slots / 2,
       .index = "metadata",
       .loop = "place"},
      {.kind = LevelKind::singleton, .dimension = Dimension::column, .index = "column", .padded = true},
  };
  return pack_pairs(weights, format, shape, columns, weights.columns, std::move(levels),
                    {{"begin", Array::of(begin)}, {"column", Array::of(listed)}});
}

}  // namespace

NamedFormat column_quads() {
  return {"column_quads",
          "groups of V rows (128), their columns in fours of which each row has two: any weights as 2:4",
          pack_column_quads};
}

}  // namespace named

Format formats::column_quads(const PairOptions& options) {
  return named::with_places({"column_quads", {{"V", options.rows}}}, options.places);
}

}  // namespace weft
