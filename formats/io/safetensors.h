// .safetensors: a length, a JSON header, and one buffer with all tensors.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/formats/io/bytes.h>
#include <weft/formats/io/weight_list.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::io {

/// One tensor of a file, not yet read.
struct StoredTensor {
  std::string name;
  std::string dtype;  ///< the file's spelling: "BF16"
  std::vector<std::int64_t> shape;
  Bytes bytes;                                                              ///< its part of the file
  std::size_t offset = 0;                                                   ///< where that begins in the file
  std::string origin;                                                       ///< the file
  std::shared_ptr<const std::map<std::string, std::string>> metadata = {};  ///< that of the file
};

/// An element type of the format.
struct StoredType {
  std::string_view name;
  unsigned bits;
  std::optional<DType> dtype = {};  ///< nothing where weft has no such elements
};
std::span<const StoredType> stored_types();

/// All tensors by their place in the file, everything that the format demands checked: a header inside the
/// file, no key twice, sizes that follow from shapes, no gap, no overlap, nothing after the last.
std::vector<StoredTensor> parse_safetensors_header(Bytes bytes, const std::string& origin);

/// UserError for element types that weft does not have (floats of fewer bits than F8, and F8_E8M0).
DType element_type_of(const StoredTensor& tensor);
/// Copies a tensor. UserError as from element_type_of.
Array array_of(const StoredTensor& tensor, std::optional<DType> reinterpret_as = {});

/// The tensor of the name that is asked for, or the only one of two or more dimensions, as a weight. A weight
/// that a package has split into parts counts as one tensor (see split_weight.h): `<prefix>.weight` of the
/// compressed-tensors package, `<name>` of PyTorch's 2:4 weights (`<name>.packed` and `<name>.meta`), of its
/// masked ones (`<name>_orig` and `<name>_mask`), and of its CSR tensors (`<name>.crow_indices` and so on). A
/// floating `<name>_scale` beside a weight of F8 or I8 becomes its row_scale: [1], [rows] or [rows, 1], as
/// compressed-tensors and vLLM write it. UserError for others, and for a `<name>_zero_point` beyond 0.
WeightMatrix weights_among(std::span<const StoredTensor> tensors, const std::string& origin,
                           const ReadOptions& options);
/// The same weights by what the header says, split ones as one.
std::vector<ListedWeight> list_among(std::span<const StoredTensor> tensors, const std::string& path);
/// The tensor of that name, or the only one.
Array array_among(std::span<const StoredTensor> tensors, const std::string& origin,
                  const ReadOptions& options);

bool looks_like_safetensors(Bytes bytes);

}  // namespace weft::io

namespace weft {

/// Writes the tensors under their names with the given metadata, in the order that the format's own library
/// uses: wide elements first, then by name. UserError for a name twice, "__metadata__", or text that is not
/// UTF-8; otherwise errors as write_file.
void write_safetensors(const std::string& path, const std::vector<std::pair<std::string, Array>>& tensors,
                       const std::map<std::string, std::string>& metadata = {}, CallPlace place = {});

}  // namespace weft
