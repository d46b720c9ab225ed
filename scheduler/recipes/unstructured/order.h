// Which rows of weights in the code make up a block.
#pragma once

#include <weft/scheduler/recipes/unstructured/sparsert.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace weft {

/// The weights with rows dealt by their entries to blocks of so many, where the knob says so, or leaves it
/// open and blocks of rows as they come are uneven: the fullest decides how long all take. Null where they
/// stay as they come.
std::shared_ptr<const SparseTensor> dealt_to_blocks(const SparseTensor& weights, std::int64_t rows,
                                                    SparseRtOrder order);

/// Stored entries of each row.
std::vector<std::int64_t> entries_of_rows(const SparseTensor& weights);

}  // namespace weft
