#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(unroll_runtime_extent, "a constant number") {
  spmm_schedule("cpu", formats::csr(), Extent::any("N")).unroll(n);  // refused here
}
