#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(parallel_stored_rows, "add to the same sums") {
  spmm_schedule("cpu", formats::csc()).parallel("m.stored");  // refused here
}
