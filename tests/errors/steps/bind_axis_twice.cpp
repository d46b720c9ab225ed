#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(bind_axis_twice, "is bound to block_x already") {
  auto s = spmm_schedule("sm_80");
  s.bind(m, block_x);
  s.bind(n, block_x);  // refused here
}
