// Marking the output as what leaves the caches first.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/scheduler/ir/program.h>

namespace weft::steps {

/// The program with an output whose stores stream (Buffer::streams), and no other buffer's.
ir::Program with_streamed_output(ir::Program program, const Algorithm& algorithm);

}  // namespace weft::steps
