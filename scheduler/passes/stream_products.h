// Products of weights that lie in streams for the lanes of a warp.
#pragma once

#include <weft/dsl/arithmetic.h>
#include <weft/formats/lane_streams.h>
#include <weft/scheduler/ir/node.h>

#include <cstdint>

namespace weft::passes {

/// The ring of a warp: chunks of rows of a stream. Behind its end lie as many of its first rows once more as
/// a half of a word takes, so that lanes ask only between halves where the ring ends.
struct StreamRing {
  static constexpr std::int64_t chunk_rows = 32, rows_once_more = bits_of_half;
  /// Rows that a lane takes of 64 columns at most: a word's bits, or a half of each of two words.
  static constexpr std::int64_t rows_of_step = 2 * bits_of_half;
  /// As many as the lanes of a warp read from at a time.
  static constexpr std::int64_t chunks =
      ceil_divide(most_rows_ahead + rows_of_step + chunk_rows - 1, chunk_rows);
  static constexpr std::int64_t rows = chunks * chunk_rows;
  static constexpr std::int64_t bytes() {
    constexpr std::int64_t of_row = lanes_of_stream * elements_of_lane * 2;
    return (rows + rows_once_more) * of_row;
  }
};
// 64 columns set one chunk free at most, and are read from one more at most.
static_assert(StreamRing::rows_of_step <= StreamRing::chunk_rows);

/// Who copies streams.
struct StreamCopies {
  std::int64_t warps = 1;  ///< a block has, each of which copies its own
  bool in_bulk = false;    ///< one copy for a chunk, which sm_90 and newer have; else 16 bytes a lane
};

/// Operations that take their weights from streams become instructions: each warp has a ring of its own in
/// shared memory, to which it copies its stream ahead of what its lanes take.
Stmt lower_stream_products(const Stmt& body, const StreamCopies& copies);

}  // namespace weft::passes
