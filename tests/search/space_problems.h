// Problems that tests of spaces share.
#pragma once

#include <weft/formats/prune/prune.h>
#include <weft/formats/synthetic.h>
#include <weft/search/measure/structured_weights.h>
#include <weft/search/spaces/problems.h>
#include <weft/search/spaces/space.h>

#include <memory>

namespace weft {

inline SpaceProblem unstructured_problem(std::int64_t rows, std::int64_t inner, std::int64_t width,
                                         DType dtype = DType::f32) {
  return {spmm_algorithm(rows, inner, width, dtype),
          std::make_shared<const WeightMatrix>(
              synthetic_layer({.rows = rows, .columns = inner, .sparsity = 0.9, .dtype = dtype})),
          formats::csr()};
}

inline SpaceProblem grouped_problem(std::int64_t rows, std::int64_t inner, std::int64_t width,
                                    std::int64_t group, DType dtype = DType::f16) {
  ShflBwWeights drawn = shfl_bw_weights(
      {.rows = rows, .columns = inner, .sparsity = 0.75, .group_rows = group, .dtype = dtype, .seed = 3});
  return {spmm_algorithm(rows, inner, width, dtype),
          std::make_shared<const WeightMatrix>(std::move(drawn.matrix)), formats::shfl_bw({.rows = group})};
}

/// 2:4, or V:2:M.
inline SpaceProblem pair_problem(std::int64_t rows, std::int64_t inner, std::int64_t width,
                                 PairPattern pattern, DType dtype = DType::f16) {
  WeightMatrix drawn = pair_weights({.rows = rows, .columns = inner, .pattern = pattern, .dtype = dtype});
  return {spmm_algorithm(rows, inner, width, dtype), std::make_shared<const WeightMatrix>(std::move(drawn)),
          pattern.format()};
}

/// Weights that keep two of four in some tiles of 128 rows.
inline SpaceProblem mixed_problem(std::int64_t rows, std::int64_t inner, std::int64_t width,
                                  DType dtype = DType::f16, double sparsity = 0.3) {
  SpaceProblem problem = unstructured_problem(rows, inner, width, dtype);
  const WeightMatrix layer = synthetic_layer({.rows = rows, .columns = inner, .sparsity = 0, .dtype = dtype});
  problem.format = formats::mixed();
  problem.matrix = std::make_shared<const WeightMatrix>(
      pruned(layer, choose_weights(layer, problem.format, {.sparsity = sparsity})));
  return problem;
}

/// Weights without a pattern for sparse tensor cores.
inline SpaceProblem quad_problem(std::int64_t rows, std::int64_t inner, std::int64_t width,
                                 DType dtype = DType::f16) {
  SpaceProblem problem = unstructured_problem(rows, inner, width, dtype);
  problem.format = Format{"column_quads", {}};
  return problem;
}

/// Blocks in ELL; `every` block rows and columns together, 0: blocks with entries alone.
inline SpaceProblem block_problem(std::int64_t rows, std::int64_t inner, std::int64_t width,
                                  std::int64_t every, double sparsity = 0.9, DType dtype = DType::f16) {
  const WeightMatrix drawn =
      synthetic_layer({.rows = rows, .columns = inner, .sparsity = sparsity, .dtype = dtype});
  Format format = formats::hb_ell();
  if (every > 0) format.parameters["every"] = every;
  return {spmm_algorithm(rows, inner, width, dtype), std::make_shared<const WeightMatrix>(drawn), format};
}

/// A convolution of 3 x 3 over 28 x 28 pixels.
inline SpaceProblem image_problem() {
  Convolution convolution;
  convolution.channels = 16;
  convolution.filters = 32;
  convolution.image = {28, 28};
  convolution.filter = {3, 3};
  convolution.pad = {1, 1};
  WeightMatrix matrix = synthetic_layer({.rows = 32, .columns = 16 * 9, .sparsity = 0.9});
  matrix.shape = {32, 16, 3, 3};
  return {convolution_algorithm(convolution, DType::f32),
          std::make_shared<const WeightMatrix>(std::move(matrix)), formats::csr()};
}

}  // namespace weft
