#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/prune/scores.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace weft::pruning {
namespace {

[[noreturn]] void refuse(const WeightMatrix& weights, std::string where, std::string found,
                         std::string accepted) {
  throw UserError("a weight cannot be pruned",
                  (weights.origin.empty() ? "" : weights.origin + ", ") + std::move(where), std::move(found),
                  std::move(accepted));
}

/// The scores by the entries of `weights`, in double precision and their own scale.
std::vector<double> magnitudes(const WeightMatrix& weights) {
  std::vector<double> result(weights.stored());
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    for (const std::int64_t i : weights.entries(row)) {
      const double value = weights.values.get(i);
      if (!std::isfinite(value))
        refuse(weights, fmt::format("row {}, column {}", row, weights.column_of(i)), fmt::format("{}", value),
               "finite numbers");
      result[i] = std::abs(value);
    }
  }
  return result;
}

std::vector<double> given_scores(const WeightMatrix& weights, const WeightMatrix& given) {
  if (given.rows != weights.rows || given.columns != weights.columns)
    refuse(given, "PruneOptions::scores (--scores)",
           fmt::format("{} rows and {} columns", given.rows, given.columns),
           fmt::format("{} rows and {} columns, as the weights have", weights.rows, weights.columns));
  std::vector<double> result(weights.stored());
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    auto place = static_cast<std::size_t>(weights.row_begin[at]);
    const auto end = static_cast<std::size_t>(weights.row_begin[at + 1]);
    for (const std::int64_t i : given.entries(row)) {
      const std::int32_t column = given.column[i];
      const double score = given.values.get(i);
      if (!std::isfinite(score) || score < 0)
        refuse(given, fmt::format("PruneOptions::scores (--scores), row {}, column {}", row, column),
               fmt::format("{}", score), "finite scores of at least 0");
      while (place < end && weights.column[place] < column) ++place;
      if (place < end && weights.column[place] == column) result[place] = score;
    }
  }
  return result;
}

}  // namespace

Scores scores_of(const WeightMatrix& weights, const WeightMatrix* given) {
  // Given scores or not, a weight that is no number is refused.
  std::vector<double> score = magnitudes(weights);
  if (given != nullptr) score = given_scores(weights, *given);
  Scores result{weights.rows, weights.columns, weights.row_begin, weights.column, {}, 0};
  const double largest = score.empty() ? 0 : *std::ranges::max_element(score);
  int exponent = 0;
  std::frexp(largest, &exponent);
  result.value.reserve(score.size());
  for (const double value : score) {
    const auto scaled = static_cast<float>(std::ldexp(value, -exponent));
    result.value.push_back(scaled);
    result.total += static_cast<double>(scaled);
  }
  return result;
}

std::vector<bool> greatest(std::span<const float> values, std::int64_t count) {
  if (count >= std::ssize(values)) return std::vector<bool>(values.size(), true);
  if (count <= 0) return std::vector<bool>(values.size(), false);
  std::vector<float> sorted(values.begin(), values.end());
  std::ranges::nth_element(sorted, sorted.begin() + (count - 1), std::greater<>());
  const float threshold = sorted[count - 1];
  std::int64_t equal = count - std::ranges::count_if(values, [&](float v) { return v > threshold; });
  std::vector<bool> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    result[i] = values[i] > threshold || (values[i] == threshold && equal-- > 0);
  return result;
}

}  // namespace weft::pruning
