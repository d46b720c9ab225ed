#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(split_vectorized_loop, "is vectorized already") {
  auto s = spmm_schedule("cpu");
  s.split(n = 32).vectorize(n.inner);
  s.split(n.inner = 4);  // refused here
}
