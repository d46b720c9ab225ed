// Weights that a package has split into several tensors of a .safetensors file.
#pragma once

#include <weft/formats/io/safetensors.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::io {

/// One such weight. Its parts live as long as the tensors they were found among.
struct SplitWeight {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<const StoredTensor*> parts;  ///< that of the values first
  WeightMatrix (*read)(const SplitWeight& weight, std::optional<DType> reinterpret_as) = nullptr;

  const StoredTensor& values() const { return *parts.front(); }
  /// The weight without entries.
  WeightMatrix matrix() const;
  /// Gives each column of the matrix its value. UserError unless there are as many, all finite.
  WeightMatrix with_values(WeightMatrix matrix, std::optional<DType> reinterpret_as) const;
};

/// Those of the compressed-tensors package, formats sparse-bitmask and sparse-24-bitmask: every `.compressed`
/// ([stored], or [rows, columns / 2] for 2:4) with a `.bitmask` (u8 [rows, ceil(columns / 8)], low bit first)
/// and a `.shape` (i64, rows and columns) of the same prefix; `.row_offsets` (i64 [rows]) is absent for 2:4.
/// The name is `<prefix>.weight`, and the stored entries are all there, explicit zeros included. UserError
/// when a shape is not two extents, and, when a weight is read, naming tensor and row when the parts
/// contradict each other, when a group of four of a 2:4 weight does not have two entries, and for NaN and
/// infinity.
std::vector<SplitWeight> compressed_tensors_among(std::span<const StoredTensor> tensors);

/// 2:4 weights in the layout of PyTorch's SparseSemiStructuredTensorCUTLASS, saved as the two tensors that
/// such a weight `w` consists of:
///
///   save_file({"fc1.weight.packed": w.packed, "fc1.weight.meta": w.meta}, "layer.safetensors")
///
/// `packed` (f16, bf16 or i8 [rows, columns / 2]) holds the two values of every group of four, `meta` their
/// places in it: a code of four bits a group, 16-bit words of four groups for f16 and bf16, 32-bit words of
/// eight for i8, in the order of words that CUTLASS's reorder_meta makes
/// (tools/util/include/cutlass/util/host_reorder.h). The name is what stands before ".packed".
///
/// Every group of four columns has two stored entries, explicit zeros included. UserError, when a weight is
/// read, naming tensor, row and column for a code that is no pair of ascending places (0x0, 0x5, 0xA, 0xF and
/// those in descending order), for element types and shapes other than those above, for rows and columns that
/// are no multiples of what the order of words asks for (32 and 32; 16 and 64 for i8), and for NaN and
/// infinity.
std::vector<SplitWeight> semi_structured_among(std::span<const StoredTensor> tensors);

[[noreturn]] void refuse_tensor(const StoredTensor& tensor, std::string found, std::string accepted);
/// UserError unless the tensor has that element type and that shape.
void expect(const StoredTensor& tensor, std::string_view dtype, const std::vector<std::int64_t>& shape);
/// The tensors by their names. Null where there is none.
std::function<const StoredTensor*(const std::string& name)> finder(std::span<const StoredTensor> tensors);

}  // namespace weft::io
