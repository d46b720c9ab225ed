// The rows of the list of steps, one a primitive. What each does, and its numbered preconditions, stand in
// its file.
#pragma once

#include <weft/scheduler/program/step.h>

namespace weft::steps {

extern const StepKind split, tile, fuse, peel, reorder, unroll, vectorize, parallel, bind, stagger, stage,
    stitch, decode, tensorize, reorder_writeback, persist, specialize_warps, multicast, resident,
    stream_results, overlap_launches, transpose, align, balance, pool, split_k, bake_values;

}  // namespace weft::steps
