// expect: weft: read is not given options that it has
// expect: {.tensor = "fc1.weight"}
// fix: return read("layer.npz", {.tensor = "fc1.weight"});
#include <weft/formats/io/read.h>

using namespace weft;

WeightMatrix program() {
  return read("layer.npz", {.name = "fc1.weight"});  // here
}
