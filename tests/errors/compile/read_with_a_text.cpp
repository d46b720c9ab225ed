// expect: weft: read is not given what it takes
// expect: {.tensor = "fc1.weight"}
// fix: return read("layer.safetensors", {.tensor = "fc1.weight"});
#include <weft/formats/io/read.h>

using namespace weft;

WeightMatrix program() {
  return read("layer.safetensors", "fc1.weight");  // here
}
