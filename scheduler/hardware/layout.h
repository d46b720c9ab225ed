// Which elements of a tile each lane of a warp holds, as numbers. Those of PTX are in its ISA, "Matrix
// fragments for mma".
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace weft {

/// A digit of a number that counts lanes, elements or warps: how many values it has, and how many rows or
/// columns a step of it goes on.
struct LayoutDigit {
  int extent = 1;
  int rows = 0, columns = 0;
};
constexpr LayoutDigit over_rows(int extent, int step) {
  return {extent, step, 0};
}
constexpr LayoutDigit over_columns(int extent, int step) {
  return {extent, 0, step};
}
/// The lowest first.
using LayoutDigits = std::array<LayoutDigit, 3>;

template <class Number>
struct TilePlace {
  Number row, column;
  bool operator==(const TilePlace&) const = default;
};

/// What a number stands for whose digits these are; for numbers and for expressions. Digits that go on where
/// the one below ends are one.
template <class Number>
constexpr TilePlace<Number> place_in(std::span<const LayoutDigit> digits, const Number& number) {
  TilePlace<Number> place{0, 0};
  int below = 1;
  for (std::size_t i = 0; i < digits.size();) {
    LayoutDigit digit = digits[i];
    while (++i < digits.size() && digits[i].rows == digit.rows * digit.extent &&
           digits[i].columns == digit.columns * digit.extent)
      digit.extent *= digits[i].extent;
    const Number value = number / below % digit.extent;
    if (digit.rows > 0) place.row = place.row + value * digit.rows;
    if (digit.columns > 0) place.column = place.column + value * digit.columns;
    below *= digit.extent;
  }
  return place;
}

/// Elements of a lane are counted in the order of its registers: those that share one follow one another, the
/// first in its lowest bits.
struct Layout {
  LayoutDigits lane, element;
  LayoutDigit warp = {};

  constexpr TilePlace<int> place(int of_lane, int of_element, int of_warp = 0) const {
    const auto a = place_in(lane, of_lane), b = place_in(element, of_element);
    return {a.row + b.row + of_warp * warp.rows, a.column + b.column + of_warp * warp.columns};
  }
  /// Elements of a lane.
  constexpr int elements() const { return element[0].extent * element[1].extent * element[2].extent; }
  /// Rows and columns of the tile.
  constexpr TilePlace<int> size() const {
    TilePlace<int> last{1, 1};
    for (const LayoutDigits& digits : {lane, element, LayoutDigits{warp}}) {
      for (const LayoutDigit& digit : digits) {
        last.row += (digit.extent - 1) * digit.rows;
        last.column += (digit.extent - 1) * digit.columns;
      }
    }
    return last;
  }
};

/// Sums of m16n8, several of them beside one another and those of warps below one another.
constexpr Layout layout_of_sums(int n, int warps = 1) {
  return {.lane = {over_columns(4, 2), over_rows(8, 1)},
          .element = {over_columns(2, 1), over_rows(2, 8), over_columns(n / 8, 8)},
          .warp = over_rows(warps, 16)};
}

}  // namespace weft
