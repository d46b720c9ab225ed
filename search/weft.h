// Everything a program that uses weft needs.
#pragma once

// clang-format off: first, so that a compiler that is too old reads nothing else
#include <weft/dsl/compiler.h>
// clang-format on

#include <weft/backends/export/program.h>
#include <weft/backends/kernel.h>
#include <weft/backends/reference.h>
#include <weft/backends/runtime/timing.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/index.h>
#include <weft/dsl/tensor.h>
#include <weft/formats/io/read.h>
#include <weft/formats/prune/prune.h>
#include <weft/formats/random.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/statistics/statistics.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/scheduler/recipes/blocks/hb_ell.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/scheduler/recipes/unstructured/lane_streams.h>
#include <weft/scheduler/recipes/unstructured/sliced_rows.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/choice/choice.h>
#include <weft/search/measure/verify.h>
#include <weft/search/network/network_export.h>
#include <weft/search/network/network_tuning.h>
#include <weft/search/trials/tune_schedule.h>
