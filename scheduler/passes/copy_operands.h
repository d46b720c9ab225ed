// What keeps the promises of the steps transpose and align: copies of operands that the caller has otherwise.
#pragma once

#include <weft/scheduler/ir/program.h>

#include <cstddef>

namespace weft::passes {

/// The kernel that copies: its two buffers, with the extents of `program`.
ir::Program copying_program(const ir::Program& program, const ir::OperandCopy& copy, std::size_t number);

/// One program, for machines without launches: plain loops copy, and the copies are workspaces.
ir::Program with_copies_inside(ir::Program program);

}  // namespace weft::passes
