// The generic sparse tensor core of HB-ELL: Wu, Yi, Tian, Li, "Generic, Sparse Tensor Core for Neural
// Networks", section III-C, after Zhu, Zhang, Gu, Xie, "Sparse Tensor Core", MICRO 2019. No hardware has it:
// rows of the instruction table that the simulator runs (docs/simulator.md, "The sparse tensor core").
#pragma once

#include <weft/scheduler/hardware/instructions.h>

#include <array>
#include <string>
#include <vector>

namespace weft {

/// A block is 16 x 16: what one instruction multiplies.
constexpr std::int64_t swmma_block = 16;
/// PW: values that a row of the block has. 4 and 8 are sparse, each value with its offset, the column in the
/// block; 12 and 16 stand for the dense instruction, whose block is stored whole and has no offsets.
inline constexpr std::array swmma_widths{4, 8, 12, 16};
constexpr bool is_sparse_width(int width) {
  return width <= 8;
}

/// Registers of a lane.
constexpr int swmma_registers_of_a(int width) {
  return is_sparse_width(width) ? width / 4 : 4;
}
constexpr int swmma_registers_of_b = 4;
constexpr int swmma_accumulators = 8;

/// Names of the rows: "swmma_load_a_4", "swmma_load_offset_4", "swmma_load_b", "swmma_mma_4".
std::string swmma_load_a(int width);
std::string swmma_load_offset(int width, int bits = 8);  ///< loads of an offset in memory, 8 or 4
std::string swmma_mma(int width);
inline constexpr std::string_view swmma_load_b = "swmma_load_b";

/// The rows, added to the table by effect_instructions().
std::vector<Instruction> swmma_instructions();

}  // namespace weft
