#include <gtest/gtest.h>

#include "errors/steps/illegal.h"

ILLEGAL_SCHEDULE(tile_sparse_columns, "depends on it") {
  spmm_schedule("cpu").tile(m = 4, k = 8);  // refused here
}
