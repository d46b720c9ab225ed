// What parts of an algorithm have to be on their own.
#pragma once

#include <weft/dsl/algorithm.h>

#include <string>

namespace weft {

/// Throws UserError, with `where`, when a size is below 1, when strides do not fit the shape, or when the
/// operand has more elements than any memory. Different elements of an output may not lie at one place.
void check_operand(const Operand& operand, bool is_output, const std::string& where);

/// Throws UserError, with `where`, when a number of the epilogue is not finite, when the type in which the
/// sum runs holds it only as infinity or as 0, or when the result leaves that type or the output's element
/// type although every tensor and scalar is 0. Terms have to have their arguments.
void check_numbers(const Algorithm& algorithm, const std::string& where);

}  // namespace weft
