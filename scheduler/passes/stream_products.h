// Products of weights that lie in streams for the lanes of a warp.
#pragma once

#include <weft/dsl/arithmetic.h>
#include <weft/formats/lane_streams.h>
#include <weft/scheduler/ir/node.h>

#include <cstdint>

namespace weft::passes {

/// The ring of a warp: chunks of rows of a stream, and what it is filled up with behind its end.
struct StreamRing {
  static constexpr std::int64_t chunk_rows = 16;
  bool in_pairs = false;

  /// Rows that a lane takes in a step at most: its word's bits, or the half of them for one of two elements.
  constexpr std::int64_t rows_of_step() const { return in_pairs ? 2 * bits_of_half : bits_of_half; }
  /// The first ones, which lie behind the end once more: what a step takes.
  constexpr std::int64_t chunks_once_more() const { return rows_of_step() / chunk_rows; }
  /// As many as the lanes of a warp read from at a time.
  constexpr std::int64_t chunks() const {
    return ceil_divide(most_rows_ahead + rows_of_step() + chunk_rows - 1, chunk_rows);
  }
  constexpr std::int64_t bytes() const {
    constexpr std::int64_t of_row = lanes_of_stream * elements_of_lane * 2;
    return (chunks() + chunks_once_more()) * chunk_rows * of_row;
  }
};

/// Who copies streams.
struct StreamCopies {
  std::int64_t warps = 1;  ///< a block has, each of which copies its own
  bool early = false;      ///< those of the first turn are asked for before anything else is done
  bool in_bulk = false;    ///< one copy for a chunk, which sm_90 and newer have; else 16 bytes a lane
};

/// Operations that take their weights from streams become instructions: each warp has a ring of its own in
/// shared memory, to which it copies its streams ahead of what its lanes take. Those that a warp goes through
/// in turns, in a loop right around the operation, share the ring.
Stmt lower_stream_products(const Stmt& body, const StreamCopies& copies);

}  // namespace weft::passes
