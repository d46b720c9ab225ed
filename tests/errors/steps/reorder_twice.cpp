#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(reorder_twice, "every loop once") {
  spmm_schedule("cpu").reorder(m, n, m);  // refused here
}
