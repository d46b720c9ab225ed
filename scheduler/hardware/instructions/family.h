// What rows of the instruction table are made of, and its families: a file each, and a line in list.cpp.
#pragma once

#include <weft/scheduler/hardware/instructions.h>

#include <string>
#include <string_view>
#include <vector>

namespace weft::families {

using Rows = std::vector<Instruction>;

/// The text, which lives as long as the table.
std::string_view kept_text(std::string text);
/// "{$3, $4, $5}"
std::string numbered(int first, int count);
/// A row that ir::Execute names, which writes so many registers.
Instruction effect(std::string_view name, int lowest_sm, std::vector<DType> operands, std::string text,
                   DType result = DType::i64, int results = 0);
/// One that multiplies tiles from registers or shared memory and adds to its sums.
Instruction multiplying(const TensorProduct& product, int lowest_sm, int inputs, std::string text);
/// As PTX calls it: "s8" of i8.
std::string_view type_in_ptx(DType type);
/// What products of such factors are summed in.
constexpr DType sums_of(DType factors) {
  return factors == DType::i8 ? DType::i32 : DType::f32;
}
/// Codes of 2:4 sparsity for mma.sp, or for a warp of wgmma.sp.
Layout layout_of_codes(DType factors);

Rows arithmetic();
Rows bits();
Rows threads();
Rows synchronisation();
Rows copies();
Rows warp_products();
Rows warpgroup_products();
Rows block_products();
Rows streams();

}  // namespace weft::families
