// What the pack functions of several formats share.
#pragma once

#include <weft/formats/sparse_tensor.h>

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace weft::named {

/// UserError when `format` has a parameter that is not among `known`.
void check_parameters(const Format& format, std::initializer_list<std::string_view> known);

/// UserError when `positions` places cannot be numbered in i32. `what` says what is counted.
void check_positions(const WeightMatrix& weights, const Format& format, std::int64_t positions,
                     std::string_view what);

/// An i32 array of `size` elements.
Array index_array(std::int64_t size);

/// The row offsets of the weights as i32. The number of entries has been checked.
Array row_offsets(const WeightMatrix& weights);

}  // namespace weft::named
