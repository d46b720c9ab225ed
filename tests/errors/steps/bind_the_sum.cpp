#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(bind_the_sum, "add to the same sums") {
  spmm_schedule("sm_80").bind(k, lane);  // refused here
}
