#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(reorder_unsplit_columns, "each of which needs a register") {
  auto s = spmm_schedule("cpu", formats::csr(), Extent::any("N"));
  s.reorder(k, n);  // refused here
}
