#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(vectorize_twice, "is vectorized already") {
  auto s = spmm_schedule("cpu", formats::dense());
  s.split(n = 32, m = 4).vectorize(n.inner);
  s.vectorize(m.inner);  // refused here
}
