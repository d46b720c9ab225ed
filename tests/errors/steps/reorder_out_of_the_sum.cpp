#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(reorder_out_of_the_sum, "would have to move out") {
  auto s = spmm_schedule("cpu");
  s.split(n = 32).reorder(k, n.inner);
  s.reorder(n.inner, k);  // refused here
}
