#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(parallel_twice, "one parallel loop in a nest") {
  auto s = spmm_schedule("cpu");
  s.parallel(m);
  s.parallel(n);  // refused here
}
