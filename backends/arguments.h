// What a kernel is called with.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/formats/array.h>

#include <cstdint>
#include <map>
#include <string>

namespace weft {

/// Dense operands by name, the output among them, and scalars by name. Arrays are borrowed.
struct Arguments {
  std::map<std::string, Array*> tensors;
  std::map<std::string, double> scalars;
};

/// The sizes that the algorithm left open, as the arrays have them. UserError, naming the operand, when one
/// is missing, has another element type or shape, or two disagree about a size; when a scalar is missing.
std::map<std::string, std::int64_t> check_arguments(const Algorithm& algorithm, const Arguments& arguments);

}  // namespace weft
