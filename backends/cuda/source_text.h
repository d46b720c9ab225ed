// Spelling of CUDA C++: types, numbers, names, lines. For files of this folder.
#pragma once

#include <weft/dsl/dtype.h>
#include <weft/scheduler/ir/node.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cuda {

/// "float", "__half", "unsigned char": what an element of a buffer is.
std::string_view type_in_memory(DType dtype);
constexpr bool is_narrow_float(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || is_float_of_a_byte(dtype);
}

/// "+" or "&&". InternalError for operators that are functions in C++.
std::string_view sign_of(ir::BinaryOperator op);

/// A number of a floating type, exactly: "0.1f", "-2.0", "__float2half_rn(1.5f)", infinities and NaN by bits.
std::string float_literal(double value, DType dtype);

/// "$1", "$2" of a text of the instruction table become the operands.
std::string with_operands(std::string_view text, const std::vector<std::string>& operands);

/// Whether CUDA C++, or the helpers that stand in printed files, already mean something by that name.
bool is_reserved(std::string_view name);

/// The line with `indent` blanks before it and an end; one of more than 100 columns is broken where the
/// fewest parentheses are open, and goes on below the innermost of them.
std::string wrapped(const std::string& line, std::size_t indent);

/// Names of the program as C++ identifiers: unique, and never a word that means something else.
class Names {
 public:
  enum class Kind : std::uint8_t { variable, buffer };
  /// The same answer for the same question.
  const std::string& of(Kind kind, const std::string& name);
  /// A new name like `name`.
  std::string fresh(const std::string& name);

 private:
  std::map<std::pair<Kind, std::string>, std::string> given_;
  std::set<std::string> taken_;
};

}  // namespace weft::cuda
