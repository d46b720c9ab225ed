// 2:4 weights in the layout of PyTorch's SparseSemiStructuredTensorCUTLASS, saved into a .safetensors file as
// the two tensors that such a weight `w` consists of:
//
//   save_file({"fc1.weight.packed": w.packed, "fc1.weight.meta": w.meta}, "layer.safetensors")
//
// `packed` [rows, columns / 2] holds the two values of every group of four, `meta` their places in it: a code
// of four bits a group, 16-bit words of four groups for f16 and bf16, 32-bit words of eight for i8, in the
// order of words that CUTLASS's reorder_meta makes (tools/util/include/cutlass/util/host_reorder.h).
#pragma once

#include <weft/formats/io/safetensors.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::io {

/// One such weight: its parts, which live as long as the tensors they were found among.
struct SemiStructuredTensor {
  std::string name;  ///< what stands before ".packed"
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  const StoredTensor* values = nullptr;  ///< <name>.packed: f16, bf16 or i8 [rows, columns / 2]
  const StoredTensor* meta = nullptr;  ///< <name>.meta: i16 [rows, columns / 16], or i32 [rows, columns / 32]
};

/// Every `.packed` of two dimensions with a `.meta` of the same name before it.
std::vector<SemiStructuredTensor> semi_structured_among(std::span<const StoredTensor> tensors);

/// Two stored entries of every group of four columns, explicit zeros included. UserError naming tensor, row
/// and column for a code that is no pair of ascending places (0x0, 0x5, 0xA, 0xF and those in descending
/// order), for element types and shapes other than those above, for rows and columns that are no multiples of
/// what the order of words asks for (32 and 32; 16 and 64 for i8), and for NaN and infinity.
WeightMatrix unpack_semi_structured(const SemiStructuredTensor& weight,
                                    std::optional<DType> reinterpret_as = {});

}  // namespace weft::io
