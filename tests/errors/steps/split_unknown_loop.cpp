#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(split_unknown_loop, "no loop is called z") {
  spmm_schedule("cpu").split(LoopName("z") = 4);  // refused here
}
