#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(split_by_zero, "n = 0") {
  spmm_schedule("cpu").split(n = 0);  // refused here
}
