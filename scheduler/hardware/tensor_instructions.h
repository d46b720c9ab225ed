// Instructions that multiply tiles: what each computes, and how its operands lie in memory and registers.
#pragma once

#include <weft/dsl/dtype.h>
#include <weft/scheduler/hardware/layout.h>

#include <optional>
#include <span>
#include <string_view>

namespace weft {

struct Instruction;

/// Where an instruction finds its two factors.
enum class TensorOperands : std::uint8_t {
  in_registers,  ///< both in registers, brought there from shared memory by ldmatrix
  in_shared,     ///< both in shared memory, in rows that are swizzled as their buffers say
  in_blocks,     ///< both in global memory: a block of hb_ell, sparse or dense, and the tile of rows below it
};

/// An operand in registers of lanes: the left factor [m, k], the right one [k, n] or the sums [m, n].
struct TensorOperand {
  DType type = DType::f16;
  Layout layout = {};

  /// Of 32 bits, a lane.
  constexpr int registers() const { return layout.elements() * static_cast<int>(size_of(type)) / 4; }
};

/// What such an instruction computes: sum[m, n] += left[m, k] * right[k, n].
struct TensorProduct {
  std::string_view name;  ///< "mma_m16n8k16": what .tensorize() takes
  int m = 0, n = 0, k = 0;
  TensorOperands place = TensorOperands::in_registers;
  /// Factors in shared memory are no lane's: of them there is the type alone.
  TensorOperand left = {}, right = {}, sum = {};
  /// Where the left factor holds two of each four k: the codes of its places (formats/kept_slots.h), two bits
  /// each, in a register of each lane. They may be those of several instructions, one after the other along
  /// k, whose number is the selector.
  std::optional<Layout> codes = {};

  constexpr DType operands() const { return left.type; }
  constexpr bool two_of_four() const { return codes.has_value(); }
  /// Who issues it together: one warp, or the four of a warpgroup.
  constexpr int warps() const { return sum.layout.warp.extent; }
  /// Elements of a row of the left factor.
  constexpr int kept() const { return two_of_four() ? k / 2 : k; }
  constexpr int bytes_of_operand() const { return static_cast<int>(size_of(operands())); }
  /// Both factors lie with their k contiguous: matrices of bytes are not transposed on the way.
  constexpr bool only_by_depth() const { return bytes_of_operand() == 1; }
};

/// Rows of the instruction table that have a product, in its order.
std::span<const Instruction* const> tensor_instructions();
/// The one of that name for factors of that type, or null.
const Instruction* find_tensor_instruction(std::string_view name, DType operands);
/// That which the row of the instruction table computes; InternalError where it is none or computes no
/// product.
const TensorProduct& tensor_product(std::string_view instruction);

}  // namespace weft
