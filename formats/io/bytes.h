// What every reader shares: the bytes of a file with their name, how a bad one is refused, and the checks
// that do not depend on the format.
#pragma once

#include <weft/formats/array.h>
#include <weft/formats/weight_matrix.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft {

struct ReadOptions {
  /// Which tensor of a .safetensors or .npz file. Without a name the only one of two or more dimensions is
  /// taken.
  std::string tensor = {};
  /// For element types that a format cannot name, such as bf16 in .npy and .npz: the bits of integers or raw
  /// bytes of the same width are seen as this type. Formats of text have no such bits and refuse it.
  std::optional<DType> reinterpret_as = {};
  /// How many of the first dimensions are the rows, the others being the columns: as many as the sparse
  /// operand has indices that are not summed over. 1 for A(m, k) and for a filter F(f, c, r, s), 2 for
  /// A(g, m, k).
  std::int64_t row_dimensions = 1;
};

}  // namespace weft

namespace weft::io {

/// The whole content of a file, wherever it lies. Readers never look outside it.
using Bytes = std::span<const std::byte>;

/// Throws the UserError "cannot read <origin>". `where` is a byte, a line, a tensor.
[[noreturn]] void refuse(const std::string& origin, std::string where, std::string found,
                         std::string accepted);

/// Text from a file made fit for a message: quoted, control bytes and bytes above 126 as \xNN, cut after 60.
std::string in_quotes(std::string_view text);

std::string_view text_of(Bytes bytes);
/// "a text that begins with "1 2 3"", or "bytes that begin with "\x80\x81"": what a message says of a file
/// that is none of its kind.
std::string beginning_of(Bytes bytes);
/// "] after a comma", where that stands at the byte of a JSON text and is no JSON; else nothing.
std::string end_after_comma(std::string_view text, std::size_t byte);
bool starts_with(Bytes bytes, std::string_view prefix);

/// The unsigned little-endian integer of `width` bytes at `offset`. The caller has checked that it is inside.
std::uint64_t little_endian(Bytes bytes, std::size_t offset, std::size_t width);

/// Refuses extents that no weight has: none at all, zero or negative ones, columns past 2^31 - 1, and more
/// rows than the file warrants: at most one for each of its bytes, 2^20 being always allowed, because the
/// offsets of empty rows take memory although they take no room in the file.
void check_weight_shape(std::span<const std::int64_t> shape, std::size_t file_bytes,
                        const std::string& origin, const std::string& where);

/// Refuses the first element that is NaN or infinite. `where` turns its index into a place in the file.
void check_finite(const Array& array, const std::string& origin,
                  const std::function<std::string(std::int64_t)>& where);

/// Refuses boolean bytes other than 0 and 1, which no C++ program may read as bool.
void check_booleans(const Array& array, const std::string& origin,
                    const std::function<std::string(std::int64_t)>& where);

/// "[3, 5]" of the element at `index` in row-major order.
std::string text_of_position(std::int64_t index, std::span<const std::int64_t> shape);

/// `stored` with its bits seen as `asked` instead: for 16-bit floats that a file could only store as integers
/// or raw bytes. Refused when the widths differ or when the file stores another floating type.
DType reinterpreted(DType stored, std::optional<DType> asked, const std::string& origin);

}  // namespace weft::io
