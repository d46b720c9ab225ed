// The rows of the list of steps, one a primitive. What each does, and its numbered preconditions, stand in
// its file.
#pragma once

#include <weft/scheduler/program/step.h>

namespace weft::steps {

extern const StepKind split;
extern const StepKind tile;
extern const StepKind fuse;
extern const StepKind peel;
extern const StepKind reorder;
extern const StepKind unroll;
extern const StepKind vectorize;
extern const StepKind parallel;
extern const StepKind bind;
extern const StepKind stagger;
extern const StepKind stage;
extern const StepKind stitch;
extern const StepKind decode;
extern const StepKind tensorize;
extern const StepKind reorder_writeback;
extern const StepKind persist;
extern const StepKind specialize_warps;
extern const StepKind multicast;
extern const StepKind resident;
extern const StepKind stream_results;
extern const StepKind balance;
extern const StepKind pool;
extern const StepKind split_k;
extern const StepKind bake_values;

}  // namespace weft::steps
