// padded CSR: every row begins at a multiple of `pad` places, and is filled up to one. Offsets count groups
// of `pad` places; in those left over the column is -1 and the value +0. A group is read by one vector load
// each of columns and values. With `block`, the columns are cut into blocks of that many: every row has a
// list for each block, columns counted from the begin of the block. With `fill`, rows are put into blocks of
// exactly that many groups; what is left over in a block are empty groups of its last row.
#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/formats/filled_blocks.h>
#include <weft/formats/named/common.h>

#include <algorithm>
#include <limits>

namespace weft::named {
namespace {

constexpr std::int64_t longest_group = 1024;
constexpr std::int64_t largest_fill = 65'536;
constexpr std::int64_t most_columns = std::numeric_limits<std::int32_t>::max();

/// The entries of one weight as lists: those of each row, or of each row and block of columns.
class Lists {
 public:
  /// `ends`: the rows before the end of each block, which is filled up to `fill` groups.
  Lists(const WeightMatrix& weights, std::int64_t pad, std::int64_t block,
        std::span<const std::int64_t> ends = {}, std::int64_t fill = 0)
      : weights_(weights),
        pad_(pad),
        block_(block),
        blocks_(std::max<std::int64_t>(1, ceil_divide(weights.columns, block))) {
    std::vector<std::int64_t> lengths(weights.rows * blocks_);
    std::int64_t filled = 0;
    each_entry([&](std::int64_t list, std::int64_t) { ++lengths[list]; });
    for (const std::int64_t length : lengths) {
      groups_.push_back(groups_.back() + ceil_divide(length, pad));
      if (ends.empty() || std::ssize(groups_) - 1 != ends.front()) continue;
      filled += fill;
      groups_.back() = filled;
      ends = ends.subspan(1);
    }
  }

  std::int64_t blocks() const { return blocks_; }
  std::int64_t places() const { return groups_.back() * pad_; }

  std::vector<SparseTensor::NamedArray> arrays() const {
    Array column = index_array(places(), -1);
    Array values(weights_.values.dtype(), {places()});
    const auto column_of = column.as<std::int32_t>();
    std::int64_t last = -1;
    std::int64_t place = 0;
    each_entry([&](std::int64_t list, std::int64_t i) {
      place = list == last ? place + 1 : groups_[list] * pad_;
      last = list;
      column_of[place] = static_cast<std::int32_t>(weights_.column_of(i) % block_);
      values.copy_element(place, weights_.values, i);
    });
    return arrays_of(
        {{"begin", indices_of(groups_)}, {"column", std::move(column)}, {"values", std::move(values)}});
  }

 private:
  template <class Visit>
  void each_entry(const Visit& visit) const {
    for (std::int64_t row = 0; row < weights_.rows; ++row) {
      for (const std::int64_t i : weights_.entries(row))
        visit(row * blocks_ + weights_.column_of(i) / block_, i);
    }
  }

  const WeightMatrix& weights_;
  std::int64_t pad_;
  std::int64_t block_;
  std::int64_t blocks_;
  std::vector<std::int64_t> groups_{0};  ///< before each list, and of all
};

/// Rows in blocks of `fill` groups, and where each block ends.
struct RowFilling {
  std::vector<std::int32_t> order;
  std::vector<std::int64_t> ends;
};

RowFilling filling_of(const WeightMatrix& weights, const Format& format, std::int64_t pad,
                      std::int64_t fill) {
  std::vector<std::int64_t> needs;
  for (std::int64_t row = 0; row < weights.rows; ++row)
    needs.push_back(ceil_divide(weights.length(row), pad));
  const auto blocks = filled_blocks(needs, fill);
  if (blocks.empty())
    throw UserError("a row does not fit a block of " + format.text(), weights.origin,
                    fmt::format("a row of {} groups of {} places", std::ranges::max(needs), pad),
                    fmt::format("at most fill = {}", fill));
  RowFilling filling;
  for (const std::vector<std::int32_t>& block : blocks) {
    filling.order.insert(filling.order.end(), block.begin(), block.end());
    filling.ends.push_back(std::ssize(filling.order));
  }
  return filling;
}

SparseTensor pack_padded_csr(const WeightMatrix& given, const Format& format) {
  check_parameters(format, {"pad", "block", "order", "rows", "fill"});
  const std::int64_t pad = number_within(format, "pad", 4, 1, longest_group);
  const bool blocked = format.parameters.count("block") != 0;
  const std::int64_t block =
      number_within(format, "block", std::max<std::int64_t>(1, given.columns), 1, most_columns);
  const bool filled = format.parameters.count("fill") != 0;
  for (const char* const other : {"block", "order", "rows"}) {
    if (filled && format.parameters.count(other) != 0)
      throw UserError("parameters of a format contradict one another", format.text(),
                      fmt::format("{} beside fill", other),
                      "one of them: fill says which rows make up a block");
  }
  const std::int64_t fill = number_within(format, "fill", 1, 1, largest_fill);
  RowFilling filling;
  if (filled) filling = filling_of(given, format, pad, fill);
  const RowLayout rows = filled ? RowLayout(given, std::move(filling.order)) : RowLayout(given, format);
  const Lists lists(rows.weights(), pad, block, filling.ends, fill);
  check_positions(given, format, lists.places(), "places, rows being filled up");
  std::vector<Level> levels;
  if (blocked) levels.push_back({.dimension = Dimension::column, .extent = lists.blocks(), .stride = block});
  levels.push_back({.kind = LevelKind::compressed,
                    .dimension = Dimension::none,
                    .begin = "begin",
                    .fill = filled ? fill : 0});
  levels.push_back({.dimension = Dimension::none, .extent = pad});
  levels.push_back(padded_columns());
  return rows.packed(format, std::move(levels), lists.arrays());
}

constexpr std::array<FormatParameter, 5> padded_csr_parameters{{
    {"pad", "1 to 1024", "4", "every list begins at a multiple of so many places"},
    {"block", "1 to 2147483647", "all columns", "a row has a list for each so many columns"},
    row_parameters[0],
    row_parameters[1],
    {"fill", "1 to 65536", "no blocks of rows", "blocks of rows have exactly so many times pad places"},
}};

}  // namespace

NamedFormat padded_csr() {
  return {.name = "padded_csr",
          .summary = "csr whose rows are filled up to multiples of pad places (4), column -1 in the padding",
          .pack = pack_padded_csr,
          .purpose = "Unstructured weights whose entries are read several at a time.",
          .parameters = padded_csr_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::PaddedCsr::operator()(const PaddedOptions& options) const {
  Format format = named::with_row_options("padded_csr", options.rows);
  format.parameters["pad"] = options.pad;
  if (options.block > 0) format.parameters["block"] = options.block;
  if (options.fill > 0) format.parameters["fill"] = options.fill;
  return format;
}
