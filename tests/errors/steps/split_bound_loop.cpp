#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(split_bound_loop, "is block_x already") {
  auto s = spmm_schedule("sm_80");
  s.bind(m, block_x);
  s.split(m = 4);  // refused here
}
