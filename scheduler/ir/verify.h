// What must hold of every program, after every step and every pass.
#pragma once

#include <weft/scheduler/ir/program.h>

namespace weft::ir {

/// Throws InternalError, with the program, when
///  - a variable is used outside the loop or Let that makes it, or made twice in one nest;
///  - a buffer is used that is no argument, no workspace and not allocated around the use;
///  - the number of indices is not the rank, an index is not an integer, or a stored value has another type;
///  - a read-only buffer is written;
///  - one axis is bound twice in a nest, or a vectorized loop stands inside another;
///  - the chunks of a buffer are swizzled that does not hold whole groups of lines.
void verify(const Program& program);

/// Whether a swizzle, which moves chunks inside groups of lines, stays inside the buffer. Extents that are
/// known at launch fill some groups, whatever they are, where the known ones do.
bool holds_whole_lines(const Buffer& buffer, int swizzle);

}  // namespace weft::ir
