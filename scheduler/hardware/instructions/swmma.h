// The generic sparse tensor core of HB-ELL: Wu, Yi, Tian, Li, "Generic, Sparse Tensor Core for Neural
// Networks", section III-C, after Zhu, Zhang, Gu, Xie, "Sparse Tensor Core", MICRO 2019. No hardware has it:
// rows of the instruction table that the simulator runs (docs/simulator.md, "The sparse tensor core").
#pragma once

#include <weft/scheduler/hardware/instructions.h>

#include <array>
#include <string>
#include <string_view>

namespace weft {

/// A block is 16 x 16: what one instruction multiplies.
constexpr std::int64_t swmma_block = 16;
/// PW: values that a row of the block has. 4 and 8 are sparse, each value with its offset, the column in the
/// block; 12 and 16 stand for the dense instruction, whose block is stored whole and has no offsets.
inline constexpr std::array swmma_widths{4, 8, 12, 16};
constexpr bool is_sparse_width(int width) {
  return width <= 8;
}

/// A block's values, its offsets, which share one register of a lane, and the tile below the block: two lanes
/// share a row.
constexpr Layout swmma_layout(int in_row) {
  return {.lane = {over_columns(2, in_row / 2), over_rows(16, 1)}, .element = {over_columns(in_row / 2, 1)}};
}
constexpr TensorOperand swmma_left(int width) {
  return {DType::f16, swmma_layout(is_sparse_width(width) ? width : static_cast<int>(swmma_block))};
}
inline constexpr TensorOperand swmma_right = swmma_left(16), swmma_sums{DType::f32, layout_of_sums(16)};

/// Names of the rows: "swmma_load_a_4", "swmma_load_offset_4", "swmma_load_b", "swmma_mma_4".
std::string swmma_load_a(int width);
std::string swmma_load_offset(int width, int bits = 8);  ///< loads of an offset in memory, 8 or 4
std::string swmma_mma(int width);
inline constexpr std::string_view swmma_load_b = "swmma_load_b";

}  // namespace weft
