#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(vectorize_runtime_extent, "a constant number") {
  spmm_schedule("cpu", formats::csr(), Extent::any("N")).vectorize(n);  // refused here
}
