#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(stage_inside_a_warp_loop, "is bound to warp") {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4).bind(m.inner, warp);
  s.stage("B", shared, m.inner);  // refused here
}
