// How a record says what was computed.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/formats/weight_matrix.h>
#include <weft/search/records/records.h>

#include <cstdint>

namespace weft {

/// A product of two matrices and nothing more, in either layout, whose sizes are all known.
bool is_plain_product(const Algorithm& algorithm);
/// Whether the first dimension of the operand counts columns of the product, as B[n, k] and C[n, m] do.
bool begins_with_columns(const Algorithm& algorithm, const TensorAccess& access);

/// The algorithm's text, its types and its sizes: "M" and "K" are those of the weights, "N" the columns of
/// the equivalent dense product, and "extent_p" those of a problem that three sizes do not tell.
Record::Problem recorded_problem(const Algorithm& algorithm, const WeightMatrix& weights, std::int64_t width);

}  // namespace weft
