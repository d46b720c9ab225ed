#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(vectorize_the_sum, "add to the same sums") {
  spmm_schedule("cpu", formats::dense()).vectorize(k);  // refused here
}
