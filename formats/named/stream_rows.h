// Streams for lanes, before they are packed: their shape, where a column lies in them, and an order of the
// rows of each group.
#pragma once

#include <weft/formats/lane_streams.h>
#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <span>
#include <vector>

namespace weft::named {

/// What a weight's streams are like.
struct StreamShape {
  std::int64_t blocks = 0;  ///< a stream's, of rows
  std::int64_t slices = 0, groups = 0, steps = 0;
  std::int64_t columns = 0;          ///< a stream has
  std::int64_t columns_of_step = 0;  ///< columns_of_bits or columns_of_pairs

  StreamShape(const WeightMatrix& weights, std::int64_t columns_of_stream, std::int64_t groups_of_stream,
              bool in_pairs);

  bool in_pairs() const { return columns_of_step == columns_of_pairs; }
  std::int64_t counts() const { return in_pairs() ? 1 : 2; }
  std::int64_t steps_of_stream() const { return groups * steps; }
  std::int64_t rows() const { return groups * rows_of_stream; }
  std::int64_t streams() const { return blocks * slices; }
  std::int64_t words_of_stream() const { return steps_of_stream() * lanes_of_stream; }
  std::int64_t words() const { return streams() * words_of_stream(); }
};

/// Where the elements of a row 0 lie; row r of a group has stream_place(r, 0) more.
struct ColumnOfStreams {
  std::int64_t word = 0;  ///< from the first word of the block of rows on
  std::int64_t bit = 0;
  std::int64_t element = 0;
  std::size_t count = 0;  ///< among those that a row has: of its four lanes in each slice
};
/// Those of all columns; none where the weights have no entry.
std::vector<ColumnOfStreams> columns_of_streams(const WeightMatrix& weights, const StreamShape& shape);

/// The rows of one block in an order in which no lane of a stream has many more places than others: rows stay
/// in their groups of 32. -1 for those that the weight does not have.
void order_rows(const WeightMatrix& weights, const StreamShape& shape,
                std::span<const ColumnOfStreams> columns, std::int64_t block, std::span<std::int32_t> rows);

}  // namespace weft::named
