#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(reorder_rows_into_columns, "depends on it") {
  auto s = spmm_schedule("cpu");
  s.split(m = 4);
  s.reorder(k, m.inner);  // refused here
}
