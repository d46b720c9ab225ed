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
#include <weft/formats/prune.h>
#include <weft/formats/random.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/statistics.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/default_schedule.h>
#include <weft/scheduler/hb_ell.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/schedule.h>
#include <weft/scheduler/shfl_bw.h>
#include <weft/scheduler/sparsert.h>
#include <weft/scheduler/v_n_m.h>
#include <weft/search/verify.h>
