// Weights of a byte and their scales: w = value * scale, one scale a row or one for the whole tensor.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/formats/array.h>
#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace weft {

/// One scale for each of the rows, from a tensor with one for all ([1], or no dimension) or one a row ([rows]
/// or [rows, 1]); nothing for other shapes.
std::optional<std::vector<float>> scales_of_rows(const Array& scale, std::int64_t rows);
/// The shapes of that, for messages.
std::string shapes_of_scales(std::int64_t rows);

/// What shares a scale.
enum class ScaledTogether : std::uint8_t { row, tensor };

/// Weights as a type of a byte has them.
struct Quantized {
  WeightMatrix weights;  ///< with `row_scale`
  Array scale;           ///< f32, [rows, 1], or [1] of the whole tensor: as files have it
  double largest_error = 0;
  double root_mean_square_error = 0;  ///< over the entries that are stored
};

/// Each row (or all) divided by its scale and rounded: by the largest absolute value over the largest number
/// of the type, 1 where all is zero. Those of weights that have scales already are w = value * scale.
/// UserError for types that are not of a byte and for a scale that f32 does not hold.
Quantized quantized(const WeightMatrix& weights, DType type, ScaledTogether together, CallPlace place = {});
/// The same with scales that are given, in a shape of scales_of_rows(). UserError for others, for scales that
/// are not above zero, and for weights that by them are beyond the numbers of the type.
Quantized quantized(const WeightMatrix& weights, DType type, const Array& scale, CallPlace place = {});

/// value * scale as f32; weights without scales as they are.
WeightMatrix dequantized(const WeightMatrix& weights);

}  // namespace weft
