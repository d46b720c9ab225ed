#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(stage_sparse_row, "do not fill a tile of constant size") {
  spmm_schedule("sm_80").stage("A", shared, m);  // refused here
}
