// expect: there is no such knob
// expect: TuneOptions::limits
// expect: accepted: width
// fix: options.limits = {{"width", {"16"}}};
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(search_of_a_misspelled_knob) {
  auto s = spmm_schedule("cpu");
  s.split(n = knob("width", {16, 32}));
  TuneOptions options{.trials = 1};
  options.limits = {{"widht", {"16"}}};  // there
  tune(s, "cpu", options);               // here
}
