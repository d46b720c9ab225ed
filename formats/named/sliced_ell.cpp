// Sliced ELL: rows sorted by their length and cut into slices of a few, each as wide as its longest row. The
// places of a slice come in chunks: `pad` of its first row, `pad` of the second, and so on, so that lanes
// that have a row each read one run of memory. Offsets count chunks; in places left over the column is -1
// and the value +0. Row numbers that fill up the last slice are -1.
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/formats/named/common.h>

#include <algorithm>

namespace weft::named {
namespace {

constexpr std::int64_t most_rows_of_slice = 32, most_padding = 1024, most_dealt = 1 << 20;

/// The slices of one weight, in the order in which they are stored.
class Slices {
 public:
  Slices(const WeightMatrix& weights, std::int64_t slice, std::int64_t pad, std::int64_t deal)
      : weights_(weights), slice_(slice), pad_(pad), order_(row_order(weights, RowOrder::by_length, 1)) {
    order_.resize(count() * slice, -1);
    if (deal > 0) deal_out(deal);
    for (std::int64_t number = 0; number < count(); ++number)
      chunks_.push_back(chunks_.back() + chunks_of(number));
  }

  std::int64_t count() const { return ceil_divide(weights_.rows, slice_); }
  std::int64_t places() const { return chunks_.back() * slice_ * pad_; }

  std::vector<SparseTensor::NamedArray> arrays(DType type) const {
    Array column = index_array(places(), -1);
    Array values(weights_.values.dtype(), {places()});
    const auto column_of = column.as<std::int32_t>();
    for (std::size_t stored = 0; stored < order_.size(); ++stored) {
      const auto number = static_cast<std::int64_t>(stored);
      const std::int64_t chunk = chunks_[number / slice_];
      if (order_[stored] < 0) continue;
      std::int64_t i = 0;  // the entry's number in its row
      for (const std::int64_t entry : weights_.entries(order_[stored])) {
        const std::int64_t place = ((chunk + i / pad_) * slice_ + number % slice_) * pad_ + i % pad_;
        column_of[place] = weights_.column[entry];
        values.copy_element(place, weights_.values, entry);
        ++i;
      }
    }
    return arrays_of({{"row_order", Array::of(order_)},
                      {"begin", indices_of(chunks_)},
                      {"column", type == DType::i32 ? std::move(column) : column.converted(type)},
                      {"values", std::move(values)}});
  }

 private:
  std::span<const std::int32_t> rows_of(std::int64_t number) const {
    return std::span(order_).subspan(number * slice_, static_cast<std::size_t>(slice_));
  }
  std::int64_t chunks_of(std::int64_t number) const {
    std::int64_t longest = 0;
    for (const std::int32_t row : rows_of(number))
      longest = std::max(longest, row < 0 ? 0 : weights_.length(row));
    return ceil_divide(longest, pad_);
  }

  /// As rows are dealt to blocks, with the chunks of a slice for the entries of a row.
  void deal_out(std::int64_t deal) {
    WeightMatrix of_slices;
    of_slices.rows = count();
    of_slices.row_begin = {0};
    for (std::int64_t number = 0; number < count(); ++number)
      of_slices.row_begin.push_back(of_slices.row_begin.back() + chunks_of(number));
    std::vector<std::int32_t> dealt;
    for (const std::int32_t number : row_order(of_slices, RowOrder::dealt, deal))
      dealt.insert(dealt.end(), rows_of(number).begin(), rows_of(number).end());
    order_ = std::move(dealt);
  }

  const WeightMatrix& weights_;
  std::int64_t slice_, pad_;
  std::vector<std::int32_t> order_;
  std::vector<std::int64_t> chunks_{0};  ///< before each slice, and of all
};

SparseTensor pack_sliced_ell(const WeightMatrix& weights, const Format& format) {
  check_parameters(format, {"slice", "pad", "deal", "index"});
  const formats::SliceOptions usual;
  const std::int64_t slice = number_within(format, "slice", usual.slice, 1, most_rows_of_slice);
  const std::int64_t pad = number_within(format, "pad", usual.pad, 1, most_padding);
  const DType type = column_type(weights, format);
  const Slices slices(weights, slice, pad, number_within(format, "deal", usual.deal, 0, most_dealt));
  check_positions(weights, format, slices.places(), "places, slices being as wide as their longest row");
  std::vector<Level> levels{
      {.dimension = Dimension::none, .extent = slices.count(), .loop = "slice"},
      {.dimension = Dimension::none, .extent = slice, .loop = "row"},
      {.kind = LevelKind::singleton,
       .dimension = Dimension::row,
       .index = "row_order",
       .padded = slices.count() * slice != weights.rows},
      {.kind = LevelKind::compressed,
       .dimension = Dimension::none,
       .begin = "begin",
       .parent = 0,
       .loop = "chunk"},
      {.dimension = Dimension::none, .extent = slice, .across = 1},
      {.dimension = Dimension::none, .extent = pad, .loop = "place"},
      padded_columns(),
  };
  return packed(weights, format, std::move(levels), slices.arrays(type));
}

constexpr std::array<FormatParameter, 4> sliced_ell_parameters{{
    {"slice", "1 to 32", "8", "rows of a slice"},
    {"pad", "1 to 1024", "4", "places of a row beside each other"},
    {"deal", "0 to 1048576", "0, the longest come first", "slices are dealt evenly to blocks of so many"},
    index_parameter,
}};

}  // namespace

NamedFormat sliced_ell() {
  return {
      .name = "sliced_ell",
      .summary = "rows by length, in slices (8) as wide as their longest row, places of all rows in turn",
      .pack = pack_sliced_ell,
      .purpose = "Unstructured weights whose rows are taken by the lanes of a warp, several rows at a time.",
      .parameters = sliced_ell_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::SlicedEll::operator()(const SliceOptions& options) const {
  Format format{"sliced_ell", {{"slice", options.slice}, {"pad", options.pad}}};
  if (options.index != 32) format.parameters["index"] = options.index;
  if (options.deal > 0) format.parameters["deal"] = options.deal;
  return format;
}
