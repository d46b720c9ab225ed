// Weights that a package has split into several tensors of a .safetensors file.
#pragma once

#include <weft/formats/io/choose.h>
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
  std::string_view stored_as;              ///< as ListedWeight has it
  std::vector<std::int64_t> shape;         ///< unknown_extent where only reading tells
  std::vector<const StoredTensor*> parts;  ///< that of the values first; null for one that may be absent
  /// UserError for what headers and extents alone show to be wrong. Comes before `read`.
  void (*check)(const SplitWeight& weight) = nullptr;
  WeightMatrix (*read)(const SplitWeight& weight, std::optional<DType> reinterpret_as) = nullptr;

  const StoredTensor& values() const { return *parts.front(); }
  /// Of two dimensions.
  std::int64_t rows() const { return shape[0]; }
  std::int64_t columns() const { return shape[1]; }
  /// The weight, of two dimensions, without entries.
  WeightMatrix matrix() const;
  /// Gives each column of the matrix its value. UserError unless there are as many, all finite.
  WeightMatrix with_values(WeightMatrix matrix, std::optional<DType> reinterpret_as) const;
};

/// Those of the compressed-tensors package, formats sparse-bitmask and sparse-24-bitmask: every `.compressed`
/// ([stored], or [rows, columns / 2] for 2:4) with a `.bitmask` (u8 [rows, ceil(columns / 8)], low bit first)
/// and a `.shape` (i64, rows and columns) of the same prefix; `.row_offsets` (i64 [rows]) is absent for 2:4.
/// The name is `<prefix>.weight`, and the stored entries are all there, explicit zeros included. UserError,
/// when a weight is read, naming tensor and row when a shape is not two extents, when the parts contradict
/// each other, when a group of four of a 2:4 weight does not have two entries, and for NaN and infinity.
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

/// What torch.nn.utils.prune leaves until its remove(): every `<name>_orig` with a `<name>_mask` of the same
/// shape, however many dimensions, is the weight `<name>`, their product. Elements of a mask are 0 or 1, in
/// any element type. Where it is 0 nothing is stored, whatever stands in `<name>_orig`, NaN included; where
/// it is 1 the entry is stored when it is not zero, as in every dense file. Where the file has a tensor
/// `<name>` too, that is the weight. UserError, when a weight is read, naming tensor and element for other
/// masks, and for NaN and infinity that a mask keeps.
std::vector<SplitWeight> masked_weights_among(std::span<const StoredTensor> tensors);

/// A CSR tensor `w` of PyTorch saved as its three tensors:
///
///   save_file({"fc1.weight.crow_indices": w.crow_indices(), "fc1.weight.col_indices": w.col_indices(),
///              "fc1.weight.values": w.values(), "fc1.weight.shape": torch.tensor(w.shape)}, …)
///
/// The name is what stands before ".crow_indices"; '_' may stand in place of every '.' there. Indices are I64
/// or I32; `shape`, which may be called `size`, is I64 [2]. Without it rows follow from `crow_indices`,
/// columns from the largest index, and the origin of the matrix ends with `counted_columns`. Columns of a row
/// may stand in any order. Every value is stored, explicit zeros included. Where the file has a tensor of
/// that name too, that is the weight. UserError, when a weight is read, naming tensor and row for parts that
/// contradict each other, for indices out of range and given twice in a row, and for NaN and infinity.
std::vector<SplitWeight> csr_parts_among(std::span<const StoredTensor> tensors);
constexpr std::string_view counted_columns = " (its columns counted up to the largest index)";

/// Those of every kind above.
std::vector<SplitWeight> split_weights_among(std::span<const StoredTensor> tensors);

[[noreturn]] void refuse_tensor(const StoredTensor& tensor, std::string found, std::string accepted);
/// UserError unless the tensor has that element type and that shape.
void expect(const StoredTensor& tensor, std::string_view dtype, const std::vector<std::int64_t>& shape);
/// check_weight_shape of a tensor as it stands.
void check_shape(const StoredTensor& tensor);
/// "tensor "w", element [0, 1], byte 69"
std::string place_of(const StoredTensor& tensor, std::int64_t index, DType dtype);
/// An element of a tensor of I64.
std::int64_t integer_at(const StoredTensor& tensor, std::int64_t index);
/// The two extents that a tensor of I64 holds; unknown ones where it is another, which check_extents refuses.
std::vector<std::int64_t> extents_in(const StoredTensor& tensor);
void check_extents(const StoredTensor& tensor);
/// The tensors by their names. Null where there is none.
std::function<const StoredTensor*(const std::string& name)> finder(std::span<const StoredTensor> tensors);

}  // namespace weft::io
