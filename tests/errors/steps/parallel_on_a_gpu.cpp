#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(parallel_on_a_gpu, "the target is sm_80") {
  spmm_schedule("sm_80").parallel(m);  // refused here
}
