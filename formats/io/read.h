// Pruned weights and dense arrays from files of any supported format.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>
#include <weft/formats/array.h>
#include <weft/formats/io/mtx.h>
#include <weft/formats/io/npy.h>
#include <weft/formats/io/safetensors.h>
#include <weft/formats/io/weight_list.h>
#include <weft/formats/weight_matrix.h>

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// Reads one pruned weight. UserError that names the file and the byte, line or tensor when the content is
/// not what its format demands, when it holds NaN or infinity, when the tensor is not there or more than one
/// could be meant, for row_dimensions that the weight does not have, and for pickles (with the way to convert
/// them). RuntimeError when the system cannot read the file.
WeightMatrix read(const std::string& path, const ReadOptions& options = {}, CallPlace place = {});
WEFT_TYPES_REFUSED(WeightMatrix, read,
                   "read(\"layer.npy\"), or read(\"layer.safetensors\", {.tensor = \"fc1.weight\"})")

namespace detail {

/// What options of reading may be called by mistake, in the order in which they are usually given.
struct NamesOfReadOptions {
  Anything name = {}, tensor = {}, tensor_name = {}, key = {}, layer = {}, weight = {}, reinterpret_as = {},
           dtype = {}, type = {}, row_dimensions = {}, rows = {}, format = {}, transpose = {}, mmap = {},
           device = {};
};

}  // namespace detail
WEFT_OPTION_REFUSED(
    WeightMatrix, read, detail::NamesOfReadOptions,
    ".tensor, .reinterpret_as, .row_dimensions in this order, such as {.tensor = \"fc1.weight\"}",
    const std::string&)

/// Always refused: a text in the place of options.
template <class Text>
  requires std::convertible_to<const Text&, std::string_view>
WeightMatrix read(const std::string&, const Text&) {
  static_assert(detail::never<Text>,
                "weft: read is not given what it takes; found: a text in the place of options; accepted: "
                "read(\"layer.npy\"), or read(\"layer.safetensors\", {.tensor = \"fc1.weight\"})");
  return {};
}

/// Reads one dense array (.npy, .npz, .safetensors): an operand, a bias. NaN and infinity are kept. Without a
/// name the only tensor is taken. Errors as read.
Array read_array(const std::string& path, const std::string& tensor = {},
                 std::optional<DType> reinterpret_as = std::nullopt, CallPlace place = {});

/// One row of the list of file formats. A new format is one file, and one line in the list in read.cpp.
struct FileFormat {
  std::string_view name;
  std::vector<std::string_view> extensions;             ///< with the dot; the end of a file name
  std::string_view summary;                             ///< one line, for --help and messages
  bool (*recognize)(std::span<const std::byte> bytes);  ///< by its first bytes
  WeightMatrix (*read)(std::span<const std::byte> bytes, const std::string& path, const ReadOptions& options);
  /// Null when the format holds no dense arrays.
  Array (*read_array)(std::span<const std::byte> bytes, const std::string& path, const ReadOptions& options);
  /// By headers alone. UserError where not even these can be read.
  std::vector<ListedWeight> (*list)(std::span<const std::byte> bytes, const std::string& path);
  bool has_names = true;  ///< whether tensors have names; else a name that is asked for is refused
  bool is_text = false;   ///< without bits that could be seen as another type
};

/// Every file format that is known, those that are refused with advice included.
std::span<const FileFormat> file_formats();

/// The format of a file: by its content where that is unmistakable, else by its extension. UserError that
/// lists the formats when neither helps.
const FileFormat& file_format_of(std::span<const std::byte> bytes, const std::string& path);

}  // namespace weft
