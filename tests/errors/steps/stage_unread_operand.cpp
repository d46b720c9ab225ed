#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(stage_unread_operand, "reads no input called C") {
  spmm_schedule("sm_80").stage("C", shared, m);  // refused here
}
