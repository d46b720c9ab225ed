// Spelling of C. For files of this folder.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/scheduler/ir/node.h>

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace weft::exporting {

/// What a tensor, scalar or size is called in the arguments of a call: lower case, other characters than
/// letters and digits as underscores, no word of C, C++, CUDA C++ or Python, and no macro of their headers.
std::string field_name(const std::string& name);
/// "127,69,76," in lines of at most 120 columns.
std::string c_bytes(std::span<const unsigned char> bytes);
/// A literal of the text, quotes included; what is no printable ASCII stands as octal numbers.
std::string c_string(std::string_view text);
inline std::span<const unsigned char> bytes_of(std::string_view text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}
/// An integer expression of launch sizes, none of them negative; variables become what `names` says.
std::string c_expression(const ir::Expr& expr, const std::map<std::string, std::string>& names);
/// The product of the extents, "96 * n".
std::string c_product(const std::vector<Extent>& extents);
inline std::string c_extent(const Extent& extent) {
  return extent.is_static() ? std::to_string(extent.value) : "n";
}
/// "float", "double", "uint16_t"
std::string_view c_type(DType dtype);

}  // namespace weft::exporting
