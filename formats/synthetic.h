// A seeded weight that looks like a layer of a pruned network, for the demonstration, tests and measurements
// where no real one is at hand.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>
#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <optional>
#include <type_traits>

namespace weft {

struct SyntheticLayer {
  std::int64_t rows = 256;
  std::int64_t columns = 2304;
  double sparsity = 0.9;
  /// Coefficient of variation of the row lengths. Without it, that of a magnitude-pruned 3x3 convolution of
  /// ResNet-50 at this sparsity: 0.08 at 50 %, 0.275 at 90 %, 0.4 at 98 %.
  std::optional<double> row_spread = std::nullopt;
  DType dtype = DType::f32;
  std::uint64_t seed = 1;
};

/// A weight with exactly round((1 - sparsity) * rows * columns) entries.
///
/// What it has in common with the magnitude-pruned 3x3 convolutions of ResNet-50 in the Deep Learning Matrix
/// Collection (medians over the layers of each sparsity): the coefficient of variation of the row lengths;
/// that of the column lengths beyond what chance alone gives; and that lengths lean to the right, as a
/// log-normal distribution does, the longest row being about twice the mean at 90 %. What it lacks:
/// any tie between neighbouring columns of one input channel. Values are normal with standard deviation
/// sqrt(2 / columns), as such a layer has before training, and never zero.
///
/// The same on every machine. UserError for negative extents, a sparsity outside 0 … 1, a negative spread, or
/// an element type that is not floating.
WeightMatrix synthetic_layer(const SyntheticLayer& layer, CallPlace place = {});
namespace detail {

/// What fields of a layer may be called by mistake, in the order in which they are usually given.
struct NamesOfLayer {
  Anything name = {}, rows = {}, m = {}, columns = {}, cols = {}, k = {}, sparsity = {}, density = {},
           row_spread = {}, spread = {}, dtype = {}, type = {}, seed = {};
};

}  // namespace detail
/// Always refused: names that a layer does not have.
template <class Never = void>
WeightMatrix synthetic_layer(const detail::NamesOfLayer&, CallPlace = {}) {
  static_assert(detail::never<Never>,
                "weft: a synthetic layer has no field of that name; accepted: synthetic_layer({.rows = 64, "
                ".columns = 96, .sparsity = 0.9}), and behind them .row_spread, .dtype, .seed");
  return {};
}
/// Always refused: numbers of which nothing says what they are.
template <class... Numbers>
  requires(sizeof...(Numbers) > 0 && (std::is_arithmetic_v<Numbers> && ...))
WeightMatrix synthetic_layer(Numbers...) {
  static_assert(detail::never<Numbers...>,
                "weft: a synthetic layer is given numbers; found: numbers without their names; accepted: "
                "synthetic_layer({.rows = 64, .columns = 96, .sparsity = 0.9})");
  return {};
}
WEFT_CALL_REFUSED(WeightMatrix, synthetic_layer,
                  "synthetic_layer({.rows = 64, .columns = 96, .sparsity = 0.9})")

}  // namespace weft
