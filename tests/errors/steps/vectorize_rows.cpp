#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(vectorize_rows, "depends on m.inner") {
  auto s = spmm_schedule("cpu");
  s.split(m = 4);
  s.vectorize(m.inner);  // refused here
}
