#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(stage_unknown_scope, "shared or registers") {
  spmm_schedule("sm_80").stage("B", block_x, n);  // refused here
}
