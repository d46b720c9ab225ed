// What a tile of row groups comes to: bytes, warps, sums of a thread. Written once, for the recipes, their
// space and their bound.
#pragma once

#include <weft/scheduler/passes/word_gather.h>
#include <weft/scheduler/recipes/parts/knob.h>
#include <weft/scheduler/recipes/parts/number.h>

#include <cstdint>

namespace weft::grouped {

inline constexpr std::int64_t rows_of_warp = 16, rows_of_warpgroup = 64;
using recipe_knobs::lanes_of_warp;
inline constexpr std::int64_t warps_of_warpgroup = 4;
inline constexpr std::int64_t bytes_of_result = 2;
/// Runs of 16 bytes: what one asynchronous copy moves, of f16 or bf16.
inline constexpr std::int64_t columns_of_run = 8;
/// Sums of the widest tiles, which two warpgroups keep.
inline constexpr std::int64_t most_sums = 32'768;
/// Columns whose sums of a stage a thread keeps beside its others, where those are added up in f32: of 64
/// rows and more of a warpgroup there is no room for all.
inline constexpr std::int64_t columns_promoted = 128;

/// Whether iterations of warps with roles take two blocks of mixed that keep all: where a quarter of the
/// tiles does, of which the others store half. With fewer of them it pays less than the stage that its room
/// takes (docs/measurements/two_of_four.md).
constexpr bool takes_two_blocks(std::int64_t stored, std::int64_t rows, std::int64_t columns) {
  return 8 * stored >= 5 * rows * columns;
}

template <class Number>
struct Tile {
  bool two_of_four;                         ///< whether rows keep two of four places
  shapes::Condition<Number> by_warpgroups;  ///< else by warps
  Number rows, columns, places;             ///< size of a tile
  Number rows_each, columns_each;           ///< size of what a warp or warpgroup takes
  std::int64_t element_bytes = 2;           ///< an element of the factors has
  shapes::Condition<Number> promotes = {};  ///< whether sums of a stage are added to others in f32
  /// Whether a stage has room for two blocks that keep all of their columns, where others keep two of four.
  shapes::Condition<Number> takes_two = {};
  /// Whether producers turn words of the dense operand, whose rows they copy ahead.
  shapes::Condition<Number> turns_words = {};

  /// Values of a stage. Half of the places of pairs have one, and two bits.
  Number bytes_of_weights() const {
    const Number values = rows * places * Number(element_bytes);
    return two_of_four ? values * Number(4 * element_bytes + 1) / Number(8 * element_bytes) : values;
  }
  /// Rows of the dense operand of a stage.
  Number bytes_of_dense() const { return places * columns * Number(element_bytes); }
  Number bytes_of_stage() const { return bytes_of_weights() + bytes_of_dense(); }
  /// What there is room for in a buffer of the weights: values of two blocks are as many as of pairs again.
  Number room_of_weights() const {
    if (shapes::is_left_out(takes_two)) return bytes_of_weights();
    const Number second = rows * places * Number(element_bytes) / Number(2);
    return bytes_of_weights() + shapes::select(takes_two, second, Number(0));
  }
  Number room_of_stage() const { return room_of_weights() + bytes_of_dense(); }
  /// Rows that producers copy before they turn them.
  Number bytes_ahead() const {
    if (shapes::is_left_out(turns_words)) return Number(0);
    const Number of_warp = shapes::minimum(bytes_of_dense(), Number(passes::WordGather::most_bytes_ahead));
    return shapes::select(turns_words, of_warp * Number(warps_of_warpgroup), Number(0));
  }
  Number warps() const {
    const Number parts = (rows / rows_each) * (columns / columns_each);
    return parts * shapes::select(by_warpgroups, Number(warps_of_warpgroup), Number(1));
  }
  /// The lines of so many columns that results leave through.
  Number bytes_of_lines(const Number& line) const {
    return Number(rows_of_warp * bytes_of_result) * (line + Number(columns_of_run)) * warps();
  }
  /// Columns that a warp or a warpgroup sums at a time.
  Number columns_at_once() const {
    if (shapes::is_left_out(promotes)) return columns_each;
    const Number of_warpgroup = shapes::minimum(columns_each, Number(columns_promoted));
    return shapes::select(promotes, shapes::select(by_warpgroups, of_warpgroup, columns_each), columns_each);
  }
  /// Sums of a thread, and those of a stage beside them.
  Number accumulators() const {
    Number all = columns_each;
    if (!shapes::is_left_out(promotes)) all = all + shapes::select(promotes, columns_at_once(), Number(0));
    return rows_each * all /
           shapes::select(by_warpgroups, Number(warps_of_warpgroup * lanes_of_warp), Number(lanes_of_warp));
  }
};

}  // namespace weft::grouped
