// Operands that lie in memory otherwise than the kernel has them: with their dimensions in another order, or
// with rows that begin anywhere.
#pragma once

#include <weft/scheduler/ir/program.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::ir {

/// The operand in another order, its innermost dimension filled up, so that rows begin at multiples of 16
/// bytes: an input's with zeros, an output's with anything. Where channels alone become the outermost
/// dimension, nothing is filled up.
OperandCopy operand_copy_of(const BufferRef& given, bool is_output, CopyOrder order);
/// What stands in the order of the caller's dimensions, in that of the kernel's.
template <class Each>
std::vector<Each> in_order(std::vector<Each> dimensions, CopyOrder order) {
  if (order == CopyOrder::none) return dimensions;
  if (order == CopyOrder::last_outermost) {
    std::rotate(dimensions.begin(), dimensions.end() - 1, dimensions.end());
    return dimensions;
  }
  std::rotate(dimensions.begin(), dimensions.begin() + 1, dimensions.end());
  if (order == CopyOrder::first_innermost_last_outermost)
    std::rotate(dimensions.begin(), dimensions.end() - 2, dimensions.end() - 1);
  return dimensions;
}

/// Elements of 16 bytes, of which rows of the copy are multiples.
std::int64_t elements_of_vector(const Buffer& buffer);

/// That of the operand of that name; null where the program has it as the caller does.
const OperandCopy* copied_operand(const Program& program, const std::string& name);

/// The number that a dimension of an operand, as the algorithm has it, has in the program.
std::size_t dimension_in(const Program& program, const std::string& operand, std::size_t dimension);

/// The caller's dimension that is innermost in the copy.
std::size_t innermost_of(const OperandCopy& copy);

/// "transposed" or "aligned": what has been done to an operand in that order.
std::string_view name_of(CopyOrder order);

/// The name that the copy has where both are arguments.
std::string name_of_copy(const OperandCopy& copy);

/// What has to be asked before an element of the copy of an input is read, where `condition` is asked now:
/// beyond the columns that the caller has, its rows are filled up with zeros.
Expr asked_of_copy(const Program& program, const std::vector<Expr>& indices, const BufferRef& buffer,
                   const Expr& condition);

}  // namespace weft::ir
