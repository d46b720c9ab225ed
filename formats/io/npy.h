// NumPy .npy, versions 1 to 3: a header that is a Python dictionary, then the elements.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/formats/io/bytes.h>
#include <weft/formats/io/weight_list.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::io {

/// What the header says, checked.
struct NpyHeader {
  DType dtype = DType::f32;  ///< as stored, or as it was asked to be seen
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::size_t data_begin = 0;  ///< bytes from the start of the file
  std::size_t data_bytes = 0;  ///< what the shape and the element type ask for

  /// Where element `index`, in row-major order of the shape, lies in the file.
  std::size_t byte_of(std::int64_t index) const;
};

/// Reads the header only; `bytes` may end anywhere behind it. Raw two-byte elements (`|V2`) and integers are
/// seen as `reinterpret_as` where that is given. UserError naming the byte for everything that is not a plain
/// array of numbers, objects and records included.
NpyHeader parse_npy_header(Bytes bytes, const std::string& origin, std::optional<DType> reinterpret_as);

/// Refuses a file of `size` bytes unless it ends with the elements. `elements` says of what they are.
void check_npy_size(const NpyHeader& header, std::size_t size, const std::string& elements,
                    const std::string& origin);

/// The element type in NumPy's spelling and the shape, whether weft can read such elements or not.
std::pair<std::string, std::vector<std::int64_t>> summarize_npy(Bytes bytes, const std::string& origin);

/// The elements in row-major order and in the byte order of this machine. The file must end with them.
Array parse_npy(Bytes bytes, const std::string& origin, const ReadOptions& options = {});

/// The same as a weight: zeros are pruned, NaN and infinity refused.
WeightMatrix parse_npy_weights(Bytes bytes, const std::string& origin, const ReadOptions& options = {});

/// What is known against a weight from the beginning of a .npy file of `size` bytes; see fault_of.
std::string fault_of_npy(Bytes beginning, std::size_t size, const std::string& origin);
/// The weight of a .npy file, by its header.
std::vector<ListedWeight> list_npy(Bytes bytes, const std::string& path);

/// The text of a file that holds one string (`|S3`, `<U3`) and no more, at most 64 ASCII characters of it.
std::string parse_npy_string(Bytes bytes, const std::string& origin);

bool looks_like_npy(Bytes bytes);

}  // namespace weft::io

namespace weft {

/// Writes version 1, row-major, little-endian. bf16, which NumPy does not know, is written as raw `|V2`.
/// Errors as io::write_file.
void write_npy(const std::string& path, const Array& array, CallPlace place = {});

}  // namespace weft
