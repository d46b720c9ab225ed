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

/// Elements of 16 bytes, of which rows of the copy are multiples.
std::int64_t elements_of_vector(const Buffer& buffer);

/// That of the operand of that name; null where the program has it as the caller does.
const Transposition* transposed_operand(const Program& program, const std::string& name);

/// The number that a dimension of an operand, as the algorithm has it, has in the program.
std::size_t dimension_in(const Program& program, const std::string& operand, std::size_t dimension);

/// The name that the copy has where both are arguments.
std::string name_of_copy(const Transposition& transposition);

/// What has to be asked before an element of the copy of an input is read, where `condition` is asked now:
/// beyond the columns that the caller has, its rows are filled up with zeros.
Expr asked_of_copy(const Program& program, const std::vector<Expr>& indices, const BufferRef& buffer,
                   const Expr& condition);

}  // namespace weft::ir
