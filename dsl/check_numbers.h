// What the numbers of an epilogue do to a result, whatever the tensors hold.
#pragma once

#include <weft/dsl/algorithm.h>

#include <string>

namespace weft {

/// Throws UserError, with `where`, when a number of the epilogue is not finite, when the type in which the
/// sum runs holds it only as infinity or as 0, or when the result leaves that type or the output's element
/// type although every tensor and scalar is 0. Terms have to have their arguments.
void check_numbers(const Algorithm& algorithm, const std::string& where);

}  // namespace weft
