#include <fmt/format.h>
#include <weft/formats/quantized.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace weft {
namespace {

/// What is beyond it becomes it.
double largest_number(DType type) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (type == DType::e4m3) return static_cast<float>(e4m3(infinity));
  if (type == DType::e5m2) return static_cast<float>(e5m2(infinity));
  if (type == DType::i8) return std::numeric_limits<i8>::max();
  throw UserError("weights are not quantised to that type", "the type", std::string(name_of(type)),
                  "e4m3, e5m2 or i8");
}

/// A scale below the normal numbers of f32 would have few digits.
float scale_of(double largest, DType type, const std::string& origin) {
  if (largest == 0) return 1;
  const double scale = largest / largest_number(type);
  if (scale > std::numeric_limits<float>::max())
    throw UserError("a scale is beyond the numbers of f32", origin, fmt::format("{}", largest),
                    "weights of which f32 holds the scale");
  return std::max(static_cast<float>(scale), std::numeric_limits<float>::min());
}

std::vector<float> scales_by_largest(const WeightMatrix& weights, DType type, ScaledTogether together) {
  std::vector<double> largest(static_cast<std::size_t>(weights.rows), 0);
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    for (const std::int64_t i : weights.entries(row))
      largest[row] = std::max(largest[row], std::abs(weights.values.get(i)));
  }
  if (together == ScaledTogether::tensor && !largest.empty())
    std::ranges::fill(largest, std::ranges::max(largest));
  std::vector<float> scales;
  for (const double each : largest) scales.push_back(scale_of(each, type, weights.origin));
  return scales;
}

void check_scales(const std::vector<float>& scales, const std::string& origin) {
  for (std::size_t row = 0; row < scales.size(); ++row) {
    if (scales[row] > 0 && std::isfinite(scales[row])) continue;
    throw UserError("a scale cannot divide", fmt::format("{}, row {}", origin, row),
                    fmt::format("{}", scales[row]), "a finite number above zero");
  }
}

Quantized by_scales(const WeightMatrix& weights, DType type, std::vector<float> scales) {
  Quantized result;
  result.weights = weights;
  result.weights.values = Array(type, {weights.stored()});
  const double most = largest_number(type);
  double squares = 0;
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const double scale = scales[row];
    for (const std::int64_t i : weights.entries(row)) {
      const double before = weights.values.get(i);
      // The scale is rounded itself, by which the largest may come out a little larger.
      constexpr double rounded = 1 + 1e-6;
      if (std::abs(before / scale) > most * rounded)
        throw UserError(
            "a weight is beyond the numbers of the type",
            fmt::format("{}, row {}, column {}", weights.origin, row, weights.column_of(i)),
            fmt::format("{} over the scale {}", before, scale),
            fmt::format("scales by which {} holds it: at least {}", name_of(type), std::abs(before) / most));
      result.weights.values.set(i, is_float(type) ? before / scale : std::nearbyint(before / scale));
      const double error = std::abs(result.weights.values.get(i) * scale - before);
      result.largest_error = std::max(result.largest_error, error);
      squares += error * error;
    }
  }
  if (weights.stored() > 0)
    result.root_mean_square_error = std::sqrt(squares / static_cast<double>(weights.stored()));
  result.weights.row_scale = std::move(scales);
  return result;
}

/// As files have them: [rows, 1].
Array one_a_row(const std::vector<float>& scales) {
  return Array::of(scales).reshaped({std::ssize(scales), 1});
}

}  // namespace

std::optional<std::vector<float>> scales_of_rows(const Array& scale, std::int64_t rows) {
  const std::vector<std::int64_t>& shape = scale.shape();
  const bool of_all = shape.empty() || shape == std::vector<std::int64_t>{1};
  const bool of_rows = shape == std::vector{rows} || shape == std::vector<std::int64_t>{rows, 1};
  if (!of_all && !of_rows) return std::nullopt;
  std::vector<float> scales;
  for (std::int64_t row = 0; row < rows; ++row)
    scales.push_back(static_cast<float>(scale.get(of_all ? 0 : row)));
  return scales;
}

std::string shapes_of_scales(std::int64_t rows) {
  return fmt::format("[1], one for all, or [{0}] or [{0}, 1]", rows);
}

Quantized quantized(const WeightMatrix& weights, DType type, ScaledTogether together, CallPlace place) {
  return user_call(place, [&] {
    const WeightMatrix before = dequantized(weights);
    Quantized result = by_scales(before, type, scales_by_largest(before, type, together));
    const std::vector<float>& scales = result.weights.row_scale;
    result.scale = together == ScaledTogether::row
                       ? one_a_row(scales)
                       : Array::of(std::vector<float>{scales.empty() ? 1.0F : scales.front()});
    return result;
  });
}

Quantized quantized(const WeightMatrix& weights, DType type, const Array& scale, CallPlace place) {
  return user_call(place, [&] {
    std::optional<std::vector<float>> scales = scales_of_rows(scale, weights.rows);
    if (!scales)
      throw UserError("scales have another shape", weights.origin, text_of_shape(scale.shape()),
                      shapes_of_scales(weights.rows));
    check_scales(*scales, weights.origin);
    Quantized result = by_scales(dequantized(weights), type, std::move(*scales));
    result.scale = scale.size() == 1 && weights.rows != 1 ? scale.converted(DType::f32).reshaped({1})
                                                          : one_a_row(result.weights.row_scale);
    return result;
  });
}

WeightMatrix dequantized(const WeightMatrix& weights) {
  if (weights.row_scale.empty()) return weights;
  WeightMatrix result = converted(weights, DType::f32);
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    for (const std::int64_t i : weights.entries(row))
      result.values.set(i, weights.values.get(i) * weights.row_scale[row]);
  }
  result.row_scale.clear();
  return result;
}

}  // namespace weft
