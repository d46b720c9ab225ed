// Reads of an image that may lie outside of it.
#pragma once

#include <weft/scheduler/ir/node.h>

namespace weft::ir {

/// Where the condition keeps the reads in `value` inside of an image, clamps their indices instead, so that
/// they may be made without asking; what was read then counts only where the condition holds. True when
/// `value` has been changed; false when the condition is anything but comparisons 0 <= x and x < end of
/// indices of what is read.
bool clamp_reads(const Expr& condition, Expr& value);

}  // namespace weft::ir
