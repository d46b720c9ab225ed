// expect: weft: auto_kernel is not given options that it has
// expect: .recipes
// fix: return auto_kernel(a, w, t, {.recipes = {"default"}});
#include <weft/search/choice/choice.h>

using namespace weft;

AutoKernel program(const Algorithm& a, const WeightMatrix& w, const Target& t) {
  return auto_kernel(a, w, t, {.recipe = "default"});  // here
}
