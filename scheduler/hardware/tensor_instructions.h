// Instructions that multiply tiles: what each computes, and how its operands lie in memory and registers.
#pragma once

#include <weft/dsl/dtype.h>

#include <span>
#include <string>
#include <string_view>

namespace weft {

/// Where an instruction finds its two factors.
enum class TensorOperands : std::uint8_t {
  registers,  ///< both in registers, brought there from shared memory by ldmatrix
  shared,     ///< both in shared memory, in rows that are swizzled as their buffers say
  blocks,     ///< both in global memory: a block of hb_ell, sparse or dense, and the tile of rows below it
};

/// One row: accumulator[m, n] += left[m, k] * right[k, n], sums in f32, of i8 in i32. The m x n accumulators
/// lie in the registers of `warps` warps, 16 rows each, as m16n8 fragments: of eight columns from 8 j on,
/// lane 4 r + c has columns 2 c and 2 c + 1 of rows r and r + 8.
struct TensorInstruction {
  std::string_view name;  ///< "mma_m16n8k16": what .tensorize() takes
  int m = 0, n = 0, k = 0;
  DType operands = DType::f16;
  int warps = 1;
  TensorOperands place = TensorOperands::registers;
  int lowest_sm = 0;          ///< or simulated_only
  bool only_that_sm = false;  ///< sm_90a code runs on sm_90 alone
  std::string_view executed;  ///< the row of the instruction table that does it; of blocks, the dense one's
  /// The left factor holds two of each four k, and a register of each lane says which: half a word's codes
  /// (formats/kept_slots.h), those of the first 32 slots with selector 0, of the others with 1. Of elements
  /// of a byte it is the codes of 32 slots of one row, and the selector 0: lanes 0 and 2 of four have those
  /// of the upper row, 1 and 3 of the one eight below.
  bool two_of_four = false;

  /// Elements of a row of the left factor.
  constexpr int kept() const { return two_of_four ? k / 2 : k; }
  constexpr DType sums() const { return operands == DType::i8 ? DType::i32 : DType::f32; }
  /// As PTX calls it.
  std::string_view operand_in_ptx() const { return operands == DType::i8 ? "s8" : name_of(operands); }
  std::string_view sums_in_ptx() const { return operands == DType::i8 ? "s32" : "f32"; }
  constexpr int bytes_of_operand() const { return static_cast<int>(size_of(operands)); }
  /// Of 32 bits, a lane.
  constexpr int registers_of_left() const { return kept() * bytes_of_operand() / 8; }
  constexpr int registers_of_right() const { return k * bytes_of_operand() / 16; }
  /// Elements of a row of an 8 x 8 matrix of 16-bit elements, which ldmatrix takes.
  constexpr int elements_of_16_bytes() const { return 16 / bytes_of_operand(); }
  /// Both factors lie with their k contiguous: matrices of bytes are not transposed on the way.
  constexpr bool only_by_depth() const { return bytes_of_operand() == 1; }
};

std::span<const TensorInstruction> tensor_instructions();
/// The row of that name for factors of that type, or null.
const TensorInstruction* find_tensor_instruction(std::string_view name, DType operands);
/// The row that this row of the instruction table does, or null.
const TensorInstruction* tensor_instruction_done_by(std::string_view executed);
/// "mma_m16n8k8, mma_m16n8k16, …"
std::string names_of_tensor_instructions();

}  // namespace weft
