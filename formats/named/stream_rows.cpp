// An order of rows for which the lanes of a stream have about equally many places. A stream is as long as its
// longest lane, and all lanes of it are read.
#include <weft/dsl/arithmetic.h>
#include <weft/formats/named/stream_rows.h>

#include <algorithm>
#include <functional>

namespace weft::named {
namespace {

/// Rows that differ by a multiple of it go to the same lanes.
constexpr std::int64_t rows_with_own_lane = 8, lanes_of_row = 4;

/// Places of each lane of eight rows, slice by slice.
class LaneSums {
 public:
  LaneSums(const StreamShape& shape)
      : of_slice_(lanes_of_row * shape.counts()),
        of_row_(shape.slices * of_slice_),
        sums_(static_cast<std::size_t>(rows_with_own_lane * of_row_)) {}

  std::int64_t of_row() const { return of_row_; }
  std::span<std::int32_t> of(std::int64_t row) {
    return std::span(sums_).subspan(row % rows_with_own_lane * of_row_, of_row_);
  }
  std::vector<double> means() const {
    std::vector<double> means(static_cast<std::size_t>(of_row_ / of_slice_));
    for (std::size_t i = 0; i < sums_.size(); ++i)
      means[i % static_cast<std::size_t>(of_row_) / static_cast<std::size_t>(of_slice_)] += sums_[i];
    for (double& mean : means) mean /= static_cast<double>(rows_with_own_lane * of_slice_);
    return means;
  }

  /// Whether lanes that are longer than others get less so where two rows, with these places, change theirs.
  bool is_better(std::int64_t row, std::int64_t other, std::span<const std::int32_t> places,
                 std::span<const std::int32_t> other_places, std::span<const double> means) {
    const std::span<const std::int32_t> lanes = of(row), other_lanes = of(other);
    double change = 0;
    for (std::int64_t slice = 0, k = 0; k < of_row_; ++slice) {
      const auto cost = [mean = means[slice]](std::int32_t sum) {
        const double beyond = std::max(0.0, sum - mean);
        return beyond * beyond * beyond * beyond;
      };
      for (const std::int64_t end = k + of_slice_; k < end; ++k) {
        const std::int32_t more = other_places[k] - places[k];
        change += cost(lanes[k] + more) - cost(lanes[k]) + cost(other_lanes[k] - more) - cost(other_lanes[k]);
      }
    }
    return change < 0;
  }

 private:
  std::int64_t of_slice_, of_row_;
  std::vector<std::int32_t> sums_;
};

/// Places that each lane of a row has in each slice.
void count_places(const WeightMatrix& weights, const StreamShape& shape,
                  std::span<const ColumnOfStreams> columns, std::int32_t row,
                  std::span<std::int32_t> counts) {
  std::int64_t last = -1;
  for (const std::int64_t i : weights.entries(row)) {
    if (weights.values.is_zero_bits(i)) continue;
    const std::int64_t column = weights.column_of(i);
    if (shape.in_pairs() && column / 2 == last) continue;
    last = column / 2;
    ++counts[columns[column].count];
  }
}

/// Lets rows of a group change places as long as that makes the longest lanes shorter, and adds them.
void deal(const WeightMatrix& weights, const StreamShape& shape, std::span<const ColumnOfStreams> columns,
          std::span<std::int32_t> rows, LaneSums& lanes) {
  std::vector<std::int32_t> counts(static_cast<std::size_t>(rows_of_stream * lanes.of_row()));
  const auto of = [&](std::int64_t i) {
    return std::span(counts).subspan(i * lanes.of_row(), lanes.of_row());
  };
  for (std::int64_t i = 0; i < rows_of_stream; ++i) {
    if (rows[i] >= 0) count_places(weights, shape, columns, rows[i], of(i));
    std::ranges::transform(lanes.of(i), of(i), lanes.of(i).begin(), std::plus<>());
  }
  const std::vector<double> means = lanes.means();
  constexpr int sweeps = 2;  // more of them gain a thousandth of the bytes
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (std::int64_t i = 0; i < rows_of_stream; ++i) {
      for (std::int64_t other = i + 1; other < rows_of_stream; ++other) {
        if ((other - i) % rows_with_own_lane == 0 || !lanes.is_better(i, other, of(i), of(other), means))
          continue;
        for (std::int64_t k = 0; k < lanes.of_row(); ++k) {
          const std::int32_t more = of(other)[k] - of(i)[k];
          lanes.of(i)[k] += more;
          lanes.of(other)[k] -= more;
        }
        std::ranges::swap_ranges(of(i), of(other));
        std::swap(rows[i], rows[other]);
      }
    }
  }
}

}  // namespace

StreamShape::StreamShape(const WeightMatrix& weights, std::int64_t columns_of_stream,
                         std::int64_t groups_of_stream, bool in_pairs)
    : blocks(ceil_divide(weights.rows, groups_of_stream * rows_of_stream)),
      slices(ceil_divide(weights.columns, columns_of_stream)),
      groups(groups_of_stream),
      steps(columns_of_stream / (in_pairs ? columns_of_pairs : columns_of_bits)),
      columns(columns_of_stream),
      columns_of_step(in_pairs ? columns_of_pairs : columns_of_bits) {}

std::vector<ColumnOfStreams> columns_of_streams(const WeightMatrix& weights, const StreamShape& shape) {
  if (weights.stored() == 0) return {};
  std::vector<ColumnOfStreams> columns(static_cast<std::size_t>(weights.columns));
  for (std::int64_t column = 0; column < weights.columns; ++column) {
    const std::int64_t slice = column / shape.columns, inside = column % shape.columns;
    const auto at = stream_place<std::int64_t>(0, inside % shape.columns_of_step, shape.in_pairs());
    const std::int64_t step = inside / shape.columns_of_step;
    const std::int64_t of_lane = at.lane * shape.counts() + (shape.in_pairs() ? 0 : at.half);
    columns[column] = {.word = slice * shape.words_of_stream() + step * lanes_of_stream + at.lane,
                       .bit = at.half * bits_of_half + at.bit,
                       .element = at.element,
                       .count = static_cast<std::size_t>(slice * lanes_of_row * shape.counts() + of_lane)};
  }
  return columns;
}

void order_rows(const WeightMatrix& weights, const StreamShape& shape,
                std::span<const ColumnOfStreams> columns, std::int64_t block, std::span<std::int32_t> rows) {
  LaneSums lanes(shape);
  for (std::int64_t group = 0; group < shape.groups; ++group) {
    const auto own = rows.subspan(group * rows_of_stream, rows_of_stream);
    const std::int64_t first = block * shape.rows() + group * rows_of_stream;
    for (std::int64_t i = 0; i < rows_of_stream; ++i)
      own[i] = first + i < weights.rows ? static_cast<std::int32_t>(first + i) : -1;
    deal(weights, shape, columns, own, lanes);
  }
}

}  // namespace weft::named
