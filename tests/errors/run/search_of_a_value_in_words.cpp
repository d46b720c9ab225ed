// expect: a knob does not have that value
// expect: --set width (TuneOptions::limits)
// expect: found:    sixteen
// expect: accepted: 16, 32
// fix: options.limits = {{"width", {"16"}}};
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(search_of_a_value_in_words) {
  auto s = spmm_schedule("cpu");
  s.split(n = knob("width", {16, 32}));
  TuneOptions options{.trials = 1};
  options.limits = {{"width", {"sixteen"}}};  // there
  tune(s, "cpu", options);                    // here
}
