#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(vectorize_around_parallel, "is parallel") {
  auto s = spmm_schedule("cpu", formats::dense());
  s.parallel(n);
  s.vectorize(m);  // refused here
}
