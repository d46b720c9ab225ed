// What illegal uses of tensor cores start from: C[m, n] = A[m, k] B[k, n] of 128 x 192 weights in groups of
// 64 rows, tiles of both factors copied an iteration ahead.
#pragma once

#include <weft/scheduler/program/schedule.h>
#include <weft/search/spaces/problems.h>

#include "illegal_recipe.h"
#include "illegal_schedule.h"

namespace weft::tests {

inline Schedule tensor_product(const Extent& all_columns, std::int64_t tile_columns) {
  const WeightMatrix matrix =
      synthetic_layer({.rows = 128, .columns = 192, .sparsity = 0.8, .dtype = DType::f16, .seed = 3});
  const LoopName row("m.row"), block("m.block"), sum("k.block"), place("k.place"), warps("m.row.outer");
  Schedule s =
      schedule(spmm_algorithm(128, 192, all_columns, DType::f16), pack(matrix, formats::shfl_bw()), gpu());
  s.split(n = tile_columns).split(n.inner = 64, LoopFactor{row, 64});
  s.reorder(n.inner.outer, n.outer, block, sum, warps, LoopName("m.row.inner"), n.inner.inner, place);
  s.bind(n.inner.outer, block_z).bind(n.outer, block_y).bind(block, block_x);
  s.stage("A.values", shared, at = sum, depth = 2).stitch("B", shared, at = sum, depth = 2);
  s.bind(warps, warp).tensorize("wgmma_m64n64k16");
  return s;
}

}  // namespace weft::tests
