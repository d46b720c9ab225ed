// expect: weft: there is no begin
// expect: for (const float x : array.as<f32>())
// fix: for (const float x : array.as<f32>()) sum += x;
#include <weft/formats/array.h>

using namespace weft;

float program(const Array& array) {
  float sum = 0;
  for (const auto x : array) sum += static_cast<float>(x);  // here
  return sum;
}
