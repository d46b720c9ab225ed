#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(unroll_sparse_row, "a constant number") {
  spmm_schedule("cpu").unroll(k);  // refused here
}
