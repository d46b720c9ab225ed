#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(bind_on_the_cpu, "the target is cpu") {
  spmm_schedule("cpu").bind(m, block_x);  // refused here
}
