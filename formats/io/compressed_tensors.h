// Weights that the compressed-tensors package has split into several tensors of a .safetensors file: the
// formats sparse-bitmask and sparse-24-bitmask.
#pragma once

#include <weft/formats/io/safetensors.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::io {

/// One such weight: its parts, which live as long as the tensors they were found among.
struct CompressedTensor {
  std::string name;  ///< "<prefix>.weight"
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  const StoredTensor* values = nullptr;   ///< <prefix>.compressed: [stored], or [rows, columns / 2] for 2:4
  const StoredTensor* bitmask = nullptr;  ///< <prefix>.bitmask: u8 [rows, ceil(columns / 8)], low bit first
  const StoredTensor* shape = nullptr;    ///< <prefix>.shape: i64, rows and columns
  const StoredTensor* row_offsets = nullptr;  ///< <prefix>.row_offsets: i64 [rows]; absent for 2:4
};

/// Every `.compressed` with a `.bitmask` and a `.shape` of the same prefix. UserError when a shape is not two
/// extents.
std::vector<CompressedTensor> compressed_tensors_among(std::span<const StoredTensor> tensors);

/// The stored entries, explicit zeros included. UserError naming tensor and row when the parts contradict
/// each other, when a group of four of a 2:4 weight does not have two entries, and for NaN and infinity.
WeightMatrix decompress(const CompressedTensor& weight, std::optional<DType> reinterpret_as = {});

}  // namespace weft::io
