#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(bind_too_many_lanes, "at most 32") {
  auto s = spmm_schedule("sm_80");
  s.split(n = 64);
  s.bind(n.inner, lane);  // refused here
}
