#include "support/examples.h"

#include <weft/formats/synthetic.h>
#include <weft/search/spaces/problems.h>

namespace weft::test {

Schedule spmm_schedule(const char* target, const Format& format, Extent n) {
  const WeightMatrix matrix = synthetic_layer({.rows = 12, .columns = 20, .sparsity = 0.7, .seed = 3});
  return schedule(spmm_algorithm(12, 20, n, DType::f32), pack(matrix, format), target_named(target));
}

Schedule convolution_schedule(const char* target, const Format& format) {
  Convolution c;
  c.channels = 4;
  c.filters = 6;
  c.image = {9, 9};
  c.filter = {3, 3};
  c.pad = {1, 1};
  WeightMatrix matrix = synthetic_layer({.rows = 6, .columns = 36, .sparsity = 0.7, .seed = 3});
  matrix.shape = {6, 4, 3, 3};
  return schedule(convolution_algorithm(c, DType::f32), pack(matrix, format), target_named(target));
}

}  // namespace weft::test
