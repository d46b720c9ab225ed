// What an operand has to be on its own, whatever it is used for.
#pragma once

#include <weft/dsl/algorithm.h>

#include <string>

namespace weft {

/// Throws UserError, with `where`, when a size is below 1, when strides do not fit the shape, or when the
/// operand has more elements than any memory. Different elements of an output may not lie at one place.
void check_operand(const Operand& operand, bool is_output, const std::string& where);

}  // namespace weft
