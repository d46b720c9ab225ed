// Operands that lie in memory with their dimensions in the other order than the kernel has them.
#pragma once

#include <weft/scheduler/ir/program.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace weft::ir {

/// The operand with its first dimension innermost, which is filled up, so that rows begin at multiples of 16
/// bytes: an input's with zeros, an output's with anything.
Transposition transposition_of(const BufferRef& given, bool is_output, bool last_outermost);
/// What stands in the order of the caller's dimensions, in that of the kernel's.
template <class Each>
std::vector<Each> in_order(std::vector<Each> dimensions, bool last_outermost) {
  std::rotate(dimensions.begin(), dimensions.begin() + 1, dimensions.end());
  if (last_outermost) std::rotate(dimensions.begin(), dimensions.end() - 2, dimensions.end() - 1);
  return dimensions;
}

/// The number that a dimension of an operand, as the algorithm has it, has in the program.
std::size_t dimension_in(const Program& program, const std::string& operand, std::size_t dimension);

/// The name that the copy has where both are arguments.
std::string name_of_copy(const Transposition& transposition);

/// What has to be asked before an element of the copy of an input is read, where `condition` is asked now:
/// beyond the columns that the caller has, its rows are filled up with zeros.
Expr asked_of_copy(const std::vector<Transposition>& transposed, const std::vector<Expr>& indices,
                   const BufferRef& buffer, const Expr& condition);

/// The kernel that copies: its two buffers, with the extents of `program`. One tile a block of threads.
Program copying_program(const Program& program, const Transposition& transposition, std::size_t number);

/// One program, for machines without launches: plain loops copy, and the copies are workspaces.
Program with_copies_inside(Program program);

}  // namespace weft::ir
