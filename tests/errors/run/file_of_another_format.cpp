// expect: best.json, step 1 of the schedule
// expect: no loop is called m.row
// expect: or the algorithm, format and target that best.json was made for
// fix: Schedule s = schedule(product(), as(formats::shfl_bw({.rows = 64})), gpu());
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(file_of_another_format) {
  const std::string text = R"([{"step": "split", "arguments": [["m.row", 16]]}])";
  Schedule s = schedule(product(), as(formats::csr()), gpu());  // there
  s.apply(steps_of_json(text, "best.json").front());            // here
}
