// expect: these weights cannot be used
// expect: first dimensions whose product is 4
// fix: weights.shape = {4, 4};
#include <weft/formats/statistics/statistics.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(statistics_of_half_a_matrix) {
  WeightMatrix weights;
  weights.shape = {4, 3};  // there
  weights.rows = weights.columns = 4;
  weights.row_begin = {0, 0, 0, 0, 0};
  statistics(weights);  // here
}
