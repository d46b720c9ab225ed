// What a tile of decoded blocks comes to: bytes, warps, sums of a thread. Written once, for the recipe, its
// space and its bound.
#pragma once

#include <weft/scheduler/recipes/parts/number.h>

#include <cstdint>

namespace weft::block_tiles {

inline constexpr std::int64_t block = 16;  ///< rows and columns
inline constexpr std::int64_t lanes_of_warp = 32, warps_of_warpgroup = 4, rows_of_warpgroup = 64;
inline constexpr std::int64_t places_of_line = 64, least_columns = 64;
inline constexpr std::int64_t bytes_of_element = 2;
/// Columns of the lines that results leave through, at most, and of the gap behind one.
inline constexpr std::int64_t longest_line = 64, gap = 8;

template <class Number>
struct Tile {
  Number rows, columns, places;    ///< size of a tile
  Number rows_each, columns_each;  ///< size of what a warp or warpgroup takes
  Number stages;
  shapes::Condition<Number> may_have_warpgroups;  ///< whether target and stored blocks allow them

  /// By wgmma, which reads decoded tiles of lines of 128 bytes.
  shapes::Condition<Number> by_warpgroups() const {
    return may_have_warpgroups && shapes::equal(rows_each, Number(rows_of_warpgroup)) &&
           shapes::equal(places, Number(places_of_line)) && Number(least_columns) <= columns_each &&
           Number(1) < stages;
  }
  /// At least one: a point without any is refused by another condition.
  Number warps() const {
    return shapes::maximum(rows / rows_each * (columns / columns_each), Number(1)) *
           shapes::select(by_warpgroups(), Number(warps_of_warpgroup), Number(1));
  }
  Number threads() const { return warps() * Number(lanes_of_warp); }
  /// Sums of a thread.
  Number sums() const {
    return rows_each * columns_each /
           shapes::select(by_warpgroups(), Number(warps_of_warpgroup * lanes_of_warp), Number(lanes_of_warp));
  }

  /// Rows of B of a stage.
  Number bytes_of_dense() const { return places * columns * Number(bytes_of_element); }
  Number bytes_of_decoded() const { return rows * places * Number(bytes_of_element); }
  /// The stages, with so many bytes of stored blocks each, and the decoded tile.
  Number bytes(const Number& stored) const {
    return stages * (bytes_of_dense() + stored) + bytes_of_decoded();
  }
};

}  // namespace weft::block_tiles
