// Whether two lists of numbers are in the same order.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace weft {

/// The place of each number in order, from 0; equal ones share the mean of theirs.
inline std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> result(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) result[order[j]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return result;
}

/// Spearman's: 1 where the order is the same, -1 where it is reversed; 0 where all numbers of a list are
/// equal.
inline double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = (static_cast<double>(x.size()) - 1) / 2;
  double covariance = 0, of_x = 0, of_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    covariance += (x[i] - mean) * (y[i] - mean);
    of_x += (x[i] - mean) * (x[i] - mean);
    of_y += (y[i] - mean) * (y[i] - mean);
  }
  return of_x > 0 && of_y > 0 ? covariance / std::sqrt(of_x * of_y) : 0;
}

}  // namespace weft
