// Dense operands as a command line names them.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/formats/array.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tool {

/// Makes an array from "random:SEED", "ints:SEED", "zeros", or a .npy or .safetensors file of that shape, or
/// a tensor of one (file_and_tensor); `notes` hears what was rounded. UserError, naming the flag, for other
/// words, another shape, and values that become infinite. `other_layout` is the --layout in which a matrix
/// with its dimensions exchanged would be right; empty: there is none. What a flag ends
/// with "scale" for may be one value for all, or of two dimensions, the second 1.
Array array_of(const std::string& text, DType dtype, std::vector<std::int64_t> shape, const std::string& flag,
               std::vector<std::string>* notes = nullptr, std::string_view other_layout = {});

/// Whether elements that a file calls `found` are the bits of `wanted`, a type that .npy has no name for.
bool are_bits_of(DType found, DType wanted);

/// What `read(seen_as)` gives and `type_of` knows the element type of: as it is written, or, where words that
/// no other type explains are to be of a type without a name in .npy (bf16, e4m3, e5m2), seen as that.
template <class Read, class TypeOf>
auto read_as(DType wanted, const Read& read, const TypeOf& type_of) -> decltype(read(std::nullopt)) {
  if (wanted != DType::bf16 && !is_float_of_a_byte(wanted)) return read(std::nullopt);
  try {
    auto given = read(std::nullopt);
    return are_bits_of(type_of(given), wanted) ? read(wanted) : given;
  } catch (const UserError&) {
    // Raw bytes without a type: only the second way can read them, and its error is the better one.
    return read(wanted);
  }
}

}  // namespace weft::tool
