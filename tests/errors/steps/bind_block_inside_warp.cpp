#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(bind_block_inside_warp, "block loops outside") {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4).bind(m.inner, warp);
  s.bind(n, block_x);  // refused here
}
