// expect: no cut of the convolution fits sm_75
// expect: bytes of shared memory
// expect: as with rows =
// fix: sparsert(algorithm, weights, target_named("sm_75"), {.image = SparseRtImage::clamped});
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(recipe_lines_beyond_shared_memory) {
  Convolution c;
  c.channels = 4096;
  c.filters = 2;
  c.image = {8, 8};
  c.filter = {3, 3};
  c.pad = {1, 1};
  WeightMatrix matrix = synthetic_layer({.rows = 2, .columns = 4096 * 9, .sparsity = 0.999, .seed = 2});
  matrix.shape = {2, 4096, 3, 3};
  const auto weights = std::make_shared<const SparseTensor>(pack(matrix, formats::csr()));
  const Algorithm algorithm = convolution_algorithm(c, DType::f32);
  sparsert(algorithm, weights, target_named("sm_75"), {.image = SparseRtImage::staged});  // here
}
