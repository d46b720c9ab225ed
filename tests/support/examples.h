// Small problems that tests of schedules start from.
#pragma once

#include <weft/scheduler/program/schedule.h>

namespace weft::test {

/// C[m, n] = A[m, k] B[k, n] with a 12 x 20 weight at 70 %.
Schedule spmm_schedule(const char* target, const Format& format = formats::csr(), Extent n = 100);
/// A 3x3 convolution of 4 channels to 6 filters over a 9 x 9 image, pad 1.
Schedule convolution_schedule(const char* target, const Format& format = formats::csr());

}  // namespace weft::test
