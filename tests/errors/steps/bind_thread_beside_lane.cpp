#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(bind_thread_beside_lane, "either thread, or warp and lane") {
  auto s = spmm_schedule("sm_80");
  s.split(m = 4, n = 32).bind(n.inner, lane);
  s.bind(m.inner, thread);  // refused here
}
