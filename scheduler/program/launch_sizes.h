// Sizes that are known only at launch: the variables that stand for them in programs, and their values.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/scheduler/ir/node.h>

#include <cstdint>
#include <map>
#include <string>

namespace weft {

/// The name of the buffer that holds an array of the sparse operand: "A.begin".
std::string array_buffer_name(const std::string& operand, const std::string& array);

/// The variable that a launch gives for a size: "N", or "N.parts" where the size is a multiple.
std::string variable_of(const Extent& extent);
/// A size in programs: a number, a variable, or a multiple of one.
ir::Expr size_of_extent(const Extent& extent);

/// Of weights that are given at launch: the variables for the entries of an array's first dimension, and of
/// the outermost level.
std::string entries_variable(const std::string& operand, const std::string& array);
std::string outermost_variable(const std::string& operand);

/// The values of Program::extents in a launch: `sizes` by the names of extents ("N"), and weights that take
/// the place of the example. A size that is a multiple of 8 counts eighths: "N.parts".
std::map<std::string, std::int64_t> launch_sizes(const Algorithm& algorithm, const SparseTensor* weights,
                                                 const std::map<std::string, std::int64_t>& sizes);

}  // namespace weft
