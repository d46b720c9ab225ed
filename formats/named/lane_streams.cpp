// lane_streams and pair_words: weights in the order in which the lanes of a warp take them, a bit for every
// element, or for every two beside one another. A stream goes through the steps of a group of 32 rows, and
// then of the next ones. `bits` has a word for each stream, group, step and lane, `values` the streams, rows
// of two elements a lane, of which stream i has those from begin[i] on; `before` counts the rows that a lane
// has taken before each step. A stream is as long as its longest lane asks for, so the rows of a group stand
// in an order in which lanes come out about equally long: `row_order`. Entries that are +0 are left out.
#include <weft/dsl/arithmetic.h>
#include <weft/formats/lane_streams.h>
#include <weft/formats/named/common.h>
#include <weft/formats/named/lane_streams.h>
#include <weft/formats/named/stream_rows.h>
#include <weft/formats/parallel.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace weft::named {
namespace {

constexpr std::int64_t usual_stream = 512, widest_stream = 1 << 20, most_groups = 64;

constexpr std::array<FormatParameter, 2> stream_parameters{
    {{"columns", "a multiple of 64 from 64 to 1048576", "512", "columns of a stream"},
     {"groups", "1 to 64", "1", "groups of 32 rows that a stream goes through"}}};

/// Sets bits and copies values of the streams of one block of rows.
class StreamFilling {
 public:
  StreamFilling(const WeightMatrix& weights, const StreamShape& shape,
                std::span<const ColumnOfStreams> columns, const Array& order, Array& bits, Array& before)
      : weights_(weights),
        shape_(shape),
        columns_(columns),
        order_(order.as<std::int32_t>()),
        bits_(bits.as<std::int32_t>()),
        before_(before.as<std::int32_t>()),
        width_(size_of(weights.values.dtype())) {}

  /// The bits of the block, and the rows of each of its streams.
  void count(std::int64_t block, std::span<std::int32_t> rows) const {
    each_entry(block, [&](const Place& at, std::int64_t) {
      bits_[at.word] = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits_[at.word]) | 1U << at.bit);
    });
    const auto counts = static_cast<std::size_t>(shape_.counts());
    for (std::int64_t slice = 0; slice < shape_.slices; ++slice) {
      std::array<std::int32_t, lanes_of_stream * 2> all{};
      const auto taken = std::span(all).first(std::size_t{lanes_of_stream} * counts);
      const std::int64_t first = (block * shape_.slices + slice) * shape_.steps_of_stream();
      for (std::int64_t step = first; step < first + shape_.steps_of_stream(); ++step) {
        std::ranges::copy(taken, before_.begin() + step * std::ssize(taken));
        for (std::size_t i = 0; i < taken.size(); ++i) taken[i] += std::popcount(own_bits(step, i));
        // A lane that falls behind takes zeros, of places that have no entry.
        const std::int32_t least = std::ranges::max(taken) - most_rows_ahead;
        for (std::size_t i = 0; i < taken.size(); ++i)
          for (; taken[i] < least; ++taken[i]) set_lowest(step, i);
      }
      rows[slice] = std::ranges::max(taken);
    }
  }

  void copy(std::int64_t block, std::span<const std::int32_t> begin, Array& values) const {
    each_entry(block, [&](const Place& at, std::int64_t entry) {
      const auto bits = static_cast<std::uint32_t>(bits_[at.word]);
      const std::int64_t low = shape_.in_pairs() || at.bit < bits_of_half ? 0 : bits_of_half;
      const std::int64_t count = shape_.in_pairs() ? at.word : at.word * 2 + low / bits_of_half;
      const std::uint32_t below = bits >> low & ((1U << (at.bit - low)) - 1);
      const std::int64_t row =
          begin[at.word / shape_.words_of_stream()] + before_[count] + std::popcount(below);
      const std::int64_t place =
          (row * lanes_of_stream + at.word % lanes_of_stream) * elements_of_lane + at.element;
      std::memcpy(values.data() + static_cast<std::size_t>(place) * width_,
                  weights_.values.data() + static_cast<std::size_t>(entry) * width_, width_);
    });
  }

 private:
  struct Place {
    std::int64_t word, bit, element;
  };

  /// The word that count i of a step is about, and which of its bits are.
  std::int64_t word_of(std::int64_t step, std::size_t i) const {
    return step * lanes_of_stream + static_cast<std::int64_t>(i) / shape_.counts();
  }
  std::uint32_t mask_of(std::size_t i) const {
    if (shape_.in_pairs()) return ~std::uint32_t{0};
    return i % 2 == 0 ? 0xffffU : 0xffff0000U;
  }
  std::uint32_t own_bits(std::int64_t step, std::size_t i) const {
    return static_cast<std::uint32_t>(bits_[word_of(step, i)]) & mask_of(i);
  }
  void set_lowest(std::int64_t step, std::size_t i) const {
    std::int32_t& word = bits_[word_of(step, i)];
    const std::uint32_t left = ~static_cast<std::uint32_t>(word) & mask_of(i);
    word = static_cast<std::int32_t>(static_cast<std::uint32_t>(word) | (left & -left));
  }

  template <class Visit>
  void each_entry(std::int64_t block, const Visit& visit) const {
    const std::int64_t first = block * shape_.slices * shape_.words_of_stream();
    for (std::int64_t place = 0; place < shape_.rows(); ++place) {
      const std::int64_t row = order_[block * shape_.rows() + place], group = place / rows_of_stream;
      if (row < 0) continue;
      const auto of_row = stream_place<std::int64_t>(place % rows_of_stream, 0, shape_.in_pairs());
      const std::int64_t word = first + group * shape_.steps * lanes_of_stream + of_row.lane;
      for (const std::int64_t i : weights_.entries(row)) {
        if (weights_.values.is_zero_bits(i)) continue;
        const ColumnOfStreams& column = columns_[weights_.column_of(i)];
        visit(Place{word + column.word, of_row.bit + column.bit, column.element}, i);
      }
    }
  }

  const WeightMatrix& weights_;
  const StreamShape& shape_;
  std::span<const ColumnOfStreams> columns_;
  std::span<const std::int32_t> order_;
  std::span<std::int32_t> bits_, before_;
  std::size_t width_;
};

/// The words of all streams, and how long these are.
struct CountedStreams {
  std::vector<ColumnOfStreams> columns;
  Array order, bits, before;
  std::vector<std::int32_t> rows;

  CountedStreams(const WeightMatrix& weights, const StreamShape& shape)
      : columns(columns_of_streams(weights, shape)),
        order(index_array(shape.blocks * shape.rows())),
        bits(index_array(shape.words())),
        before(index_array(shape.words() * shape.counts())),
        rows(static_cast<std::size_t>(shape.streams())) {
    const StreamFilling filling(weights, shape, columns, order, bits, before);
    const auto orders = order.as<std::int32_t>();
    parallel_for_on(threads_for(weights.stored()), shape.blocks, [&](std::int64_t block) {
      order_rows(weights, shape, columns, block, orders.subspan(block * shape.rows(), shape.rows()));
      filling.count(block, std::span(rows).subspan(block * shape.slices, shape.slices));
    });
  }
};

SparseTensor pack_streams(const WeightMatrix& weights, const Format& format, bool in_pairs) {
  check_parameters(format, {"columns", "groups"});
  const std::int64_t columns = parameter(format, "columns", usual_stream);
  if (columns < columns_of_pairs || columns > widest_stream || columns % columns_of_pairs != 0)
    refuse_parameter(format, "columns", columns, std::string(stream_parameters[0].values));
  const std::int64_t groups = number_within(format, "groups", 1, 1, most_groups);
  const StreamShape shape(weights, columns, groups, in_pairs);
  check_positions(weights, format, shape.words() * shape.counts(), "counts of lanes");
  CountedStreams counted(weights, shape);
  const std::int64_t streams = std::ssize(counted.rows);
  Array begin_array = index_array(streams + 1);
  const auto begin = begin_array.as<std::int32_t>();
  std::int64_t all = 0;
  for (std::int64_t i = 0; i < streams; ++i) {
    all += counted.rows[i];
    check_positions(weights, format, all * lanes_of_stream * elements_of_lane, "places of streams");
    begin[i + 1] = static_cast<std::int32_t>(all);
  }
  Array values(weights.values.dtype(), {all * lanes_of_stream * elements_of_lane});
  const StreamFilling filling(weights, shape, counted.columns, counted.order, counted.bits, counted.before);
  parallel_for_on(threads_for(weights.stored()), shape.blocks,
                  [&](std::int64_t block) { filling.copy(block, begin, values); });
  return packed(weights, format,
                {{.dimension = Dimension::none, .extent = shape.blocks, .loop = "block"},
                 {.dimension = Dimension::none, .extent = shape.groups, .loop = "group"},
                 {.dimension = Dimension::none, .extent = rows_of_stream, .loop = "row"},
                 {.kind = LevelKind::singleton,
                  .dimension = Dimension::row,
                  .index = "row_order",
                  .padded = shape.blocks * shape.rows() != weights.rows},
                 {.dimension = Dimension::column,
                  .extent = shape.slices,
                  .stride = shape.columns,
                  .parent = 0,
                  .loop = "slice"},
                 {.dimension = Dimension::none, .extent = shape.groups, .across = 1},
                 {.dimension = Dimension::column,
                  .extent = shape.steps,
                  .stride = shape.columns_of_step,
                  .loop = "step"},
                 {.kind = LevelKind::streamed,
                  .dimension = Dimension::column,
                  .extent = shape.columns_of_step,
                  .begin = "begin",
                  .index = "bits",
                  .loop = "place",
                  .width = "before",
                  .across = 2}},
                arrays_of({{"row_order", std::move(counted.order)},
                           {"begin", std::move(begin_array)},
                           {"bits", std::move(counted.bits)},
                           {"before", std::move(counted.before)},
                           {"values", std::move(values)}}));
}

SparseTensor pack_lane_streams(const WeightMatrix& weights, const Format& format) {
  return pack_streams(weights, format, false);
}

SparseTensor pack_pair_words(const WeightMatrix& weights, const Format& format) {
  return pack_streams(weights, format, true);
}

}  // namespace

std::int64_t bytes_of_streams(const WeightMatrix& weights, bool in_pairs) {
  const StreamShape shape(weights, usual_stream, 1, in_pairs);
  const CountedStreams counted(weights, shape);
  const auto width = static_cast<std::int64_t>(size_of(weights.values.dtype()));
  std::int64_t bytes = 4 * (shape.blocks * shape.rows() + shape.words() + std::ssize(counted.rows) + 1);
  for (const std::int32_t rows : counted.rows) bytes += rows * lanes_of_stream * elements_of_lane * width;
  return bytes;
}

NamedFormat lane_streams() {
  return {
      .name = "lane_streams",
      .summary = "32 rows and some columns (512) as a stream for each lane of a warp, and a bit an element",
      .pack = pack_lane_streams,
      .purpose = "Unstructured 16-bit weights that keep about a half, on tensor cores, for few columns.",
      .parameters = stream_parameters};
}

NamedFormat pair_words() {
  return {.name = "pair_words",
          .summary = "the same with a bit for every two columns beside one another, stored together",
          .pack = pack_pair_words,
          .purpose = "The same weights where less than a half is kept.",
          .parameters = stream_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::LaneStreams::operator()(std::int64_t columns) const {
  return {"lane_streams", {{"columns", columns}}};
}
weft::Format weft::formats::PairWords::operator()(std::int64_t columns) const {
  return {"pair_words", {{"columns", columns}}};
}
