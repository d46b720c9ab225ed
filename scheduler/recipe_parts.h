// What recipes ask of an algorithm, and the arithmetic that they cut it with.
#pragma once

#include <weft/dsl/algorithm.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// The loop over what is summed, as csr's program calls it: after all its indices.
std::string sum_loop(const Algorithm& algorithm);

/// The loops of a product whose columns several indices may count together, as a convolution's do: C[row, p,
/// q, …] = sum of A[row, …] B[…, p, q, …], where B is not read by row.
struct GatheredProduct {
  std::string rows;
  std::vector<std::string> columns;  ///< in the output's order
  std::string sum;                   ///< over stored places
  std::string dense;                 ///< the operand that the weights are multiplied with
};
/// Of an algorithm of that form; an empty name of the rows where it is something else.
GatheredProduct gathered_product(const Algorithm& algorithm);

/// Of all columns together; no size where a launch says how many, which one loop of columns alone may leave
/// to it.
Extent columns_of(const Algorithm& algorithm, const GatheredProduct& loops);

/// The loops of C[row, column] = sum of A[row, k] B[k, column].
struct ProductLoops {
  std::string rows, columns;
  std::string sum;    ///< over stored places
  std::string dense;  ///< the operand that the weights are multiplied with
};
/// Of an algorithm of that form; empty names where it is something else.
ProductLoops product_loops(const Algorithm& algorithm);

/// The extent of the algorithm's index of that name.
Extent extent_of(const Algorithm& algorithm, const std::string& name);

/// The factor that the weights are multiplied with: its place among the operands.
std::size_t dense_operand(const Algorithm& algorithm);

/// How many parts of that size hold the whole; the last may be smaller.
constexpr std::int64_t pieces(std::int64_t whole, std::int64_t part) {
  return (whole + part - 1) / part;
}

/// Knobs that were given to a recipe and that nothing would follow.
class IdleKnobs {
 public:
  /// `where` the knobs have no effect: "the form baked".
  IdleKnobs(std::string algorithm, std::string where)
      : algorithm_(std::move(algorithm)), where_(std::move(where)) {}
  /// UserError unless the value is 0; `accepted` says where the knob has an effect.
  void refuse(std::int64_t value, const char* knob, const char* accepted) const;

 private:
  std::string algorithm_, where_;
};

}  // namespace weft
