// expect: weft: a synthetic layer is given numbers; found: numbers without their names
// expect: .sparsity = 0.9
// fix: return synthetic_layer({.rows = 64, .columns = 96, .sparsity = 0.9});
#include <weft/formats/synthetic.h>

using namespace weft;

WeightMatrix program() {
  return synthetic_layer(64, 96, 0.9);  // here
}
