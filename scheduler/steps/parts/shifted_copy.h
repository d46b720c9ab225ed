// Copies of an image in which vectors of pixels lie beside one another, wherever a filter reads it.
#pragma once

#include <weft/scheduler/program/step.h>

#include <variant>

namespace weft::steps {

/// The body behind a copy of what it reads of the buffer, in which the dimension that a vectorized loop steps
/// through is two: where in the filter the column of a weight lies, and what the loops over results step
/// through, without gaps. So a vector begins where the vector of any other column of the filter does, and the
/// loop's step in the buffer (a stride) is 1 in the copy. Precondition 4 where there is no such dimension.
std::variant<ir::Stmt, Reason> with_shifted_copy(const ir::Stmt& body, const ir::BufferRef& buffer,
                                                 const ir::Program& program, const StepContext& context,
                                                 const std::string& name);

}  // namespace weft::steps
