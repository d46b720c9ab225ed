// Whether the levels of a tensor fit together, and whether one that was made by hand is laid out as its
// format lays weights out.
#pragma once

#include <weft/formats/sparse_tensor.h>

#include <string>

namespace weft {

/// The UserError for a tensor whose arrays or levels cannot be.
[[noreturn]] void refuse_damaged(const SparseTensor& tensor, std::string where, std::string found,
                                 std::string accepted);

/// The numbers in levels, which the other checks take for granted: of parents, of levels that go across
/// others, of those that values are ordered by. UserError naming the level.
void check_levels(const SparseTensor& tensor);

/// The shape, the levels, and the sizes of arrays, which follow from them and from offsets. UserError naming
/// what does not fit.
void check_sizes(const SparseTensor& tensor);

/// UserError, naming the level or the array, when a tensor of rows, columns and an element type that are
/// right does not have the levels, the arrays (in number, name, type and rank) and the order of values that a
/// weight of that size has in that format, or when there is no format of that name.
void check_layout(const SparseTensor& tensor);

}  // namespace weft
