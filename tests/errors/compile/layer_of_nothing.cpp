// expect: weft: synthetic_layer is not given what it takes
// fix: return synthetic_layer({.rows = 64, .columns = 96});
#include <weft/formats/synthetic.h>

using namespace weft;

WeightMatrix program() {
  return synthetic_layer();  // here
}
