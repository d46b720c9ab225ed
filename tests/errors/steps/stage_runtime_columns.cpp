#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(stage_runtime_columns, "do not fill a tile of constant size") {
  spmm_schedule("sm_80", formats::csr(), Extent::any("N")).stage("B", shared, m);  // refused here
}
