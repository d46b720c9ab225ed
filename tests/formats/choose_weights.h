// What tests of pruning share: formats, and what a pruning has to be.
#pragma once

#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/prune/prune.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace weft {

inline const Format csr = formats::csr();
inline Format vector_wise(std::int64_t v) {
  return {"vector_wise", {{"V", v}}};
}
inline Format shfl_bw(std::int64_t v) {
  return {"shfl_bw", {{"V", v}}};
}
inline Format bcsr(std::int64_t b) {
  return {"bcsr", {{"b", b}}};
}
inline Format v_n_m(std::int64_t v, std::int64_t m) {
  return {"v_n_m", {{"V", v}, {"M", m}}};
}

inline Pruning choose(const WeightMatrix& weights, const Format& format, double sparsity) {
  return choose_weights(weights, format, {.sparsity = sparsity});
}

/// One for each place of the matrix.
inline std::vector<bool> places(const WeightMatrix& weights, const Pruning& pruning) {
  std::vector<bool> result(static_cast<std::size_t>(weights.rows * weights.columns));
  for (std::size_t row = 0; row + 1 < pruning.row_begin.size(); ++row) {
    for (auto i = pruning.row_begin[row]; i < pruning.row_begin[row + 1]; ++i) {
      const auto column = static_cast<std::size_t>(pruning.column[static_cast<std::size_t>(i)]);
      result[row * static_cast<std::size_t>(weights.columns) + column] = true;
    }
  }
  return result;
}

inline std::vector<std::int32_t> as_given(std::int64_t rows) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// The matrix is pruned in columns of `v` rows in this order, each kept or dropped as a whole.
inline void expect_whole_vectors(const WeightMatrix& weights, const Pruning& pruning,
                                 const std::vector<std::int32_t>& order, std::int64_t v) {
  const std::vector<bool> kept_at = places(weights, pruning);
  ASSERT_EQ(std::set<std::int32_t>(order.begin(), order.end()).size(),
            static_cast<std::size_t>(weights.rows));
  for (std::int64_t first = 0; first < weights.rows; first += v) {
    const std::int64_t height = std::min(v, weights.rows - first);
    for (std::int64_t column = 0; column < weights.columns; ++column) {
      std::int64_t kept = 0;
      for (std::int64_t i = first; i < first + height; ++i) {
        const std::int64_t row = order[static_cast<std::size_t>(i)];
        kept += kept_at[static_cast<std::size_t>(row * weights.columns + column)] ? 1 : 0;
      }
      EXPECT_TRUE(kept == 0 || kept == height) << "group from " << first << ", column " << column;
    }
  }
}

inline void expect_consistent(const WeightMatrix& weights, const Pruning& pruning, double sparsity) {
  const std::int64_t target =
      std::llround((1 - sparsity) * static_cast<double>(weights.rows * weights.columns));
  EXPECT_LE(pruning.kept(), target);
  ASSERT_EQ(weights.stored(), weights.rows * weights.columns);
  const std::vector<bool> kept_at = places(weights, pruning);
  double kept = 0;
  double total = 0;
  for (std::int64_t i = 0; i < weights.stored(); ++i) {
    const double score = std::abs(weights.values.get(i));
    total += score;
    kept += kept_at[static_cast<std::size_t>(i)] ? score : 0;
  }
  EXPECT_NEAR(pruning.kept_score, total > 0 ? kept / total : 1, 1e-6);
}

inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace weft
