// Names that programs give to what the user did not name. Most have a dot in them, which no name of a user
// has; those here have none where that is unmistakable.
#pragma once

#include <weft/dsl/algorithm.h>

#include <string>
#include <vector>

namespace weft {

/// `wanted`, or, where a tensor, an index, a scalar or a size of the algorithm is called so, a name like it.
std::string own_name(const Algorithm& algorithm, const std::string& wanted);

/// The indices of the sparse operand's rows and of its columns, which are summed over, outermost first.
struct SparseIndices {
  std::vector<std::string> rows, columns;
};
SparseIndices sparse_indices(const Algorithm& algorithm);

/// Indices of the algorithm as one name, "p_q"; that of the loop over them together. "p__q" where "p_q" could
/// be read otherwise: names of a user have no two underscores in a row.
std::string joined_indices(const Algorithm& algorithm, const std::vector<std::string>& names);

}  // namespace weft
