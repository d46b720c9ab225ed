// Orders in which the rows of a weight are stored.
#pragma once

#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace weft {

/// Which row is stored first, second, … Formats that have a row order keep it in the array "row_order".
enum class RowOrder : std::uint8_t {
  given,      ///< as in the weight; nothing is kept
  by_length,  ///< most entries first; rows of equal length as in the weight
  dealt,      ///< so that blocks of `rows` consecutive rows have about the same number of entries
  similar,    ///< so that the rows of such a block have entries in the same columns, as far as a quick search
              ///< finds them
};

/// "given", "length", "dealt", "similar": as in "csr:order=dealt,rows=64". "?" for what is none.
std::string_view name_of(RowOrder order);
std::optional<RowOrder> row_order_named(std::string_view name);

/// A permutation: element i is the row that is stored as number i. `rows` is the number of rows in a block,
/// at least 1; only `dealt` and `similar` look at it. Takes time of entries times 64 at most.
std::vector<std::int32_t> row_order(const WeightMatrix& weights, RowOrder order, std::int64_t rows);

/// The rows of the weight in that order, and only those that it names.
WeightMatrix with_row_order(const WeightMatrix& weights, std::span<const std::int32_t> order);

}  // namespace weft
