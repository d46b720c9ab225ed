#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(parallel_sum, "add to the same sums") {
  spmm_schedule("cpu").parallel(k);  // refused here
}
