#pragma once

/// Everything a program needs to write an algorithm, choose a format and a schedule, and compile it.

#include <weft/backends/runtime/device.h>
#include <weft/dsl/algorithm.h>
#include <weft/dsl/dtype.h>
#include <weft/dsl/errors.h>
#include <weft/formats/format.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/scheduler/schedule.h>
#include <weft/scheduler/target.h>
