// expect: best.json, layer.cpp:12, step 1 of the schedule
// expect: .vectorize(m) does not apply
// fix: s.apply(steps_of_json(R"([{"step": "parallel", "arguments": [["", "m"]]}])", "best.json").front());
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(file_step_that_does_not_apply) {
  auto s = spmm_schedule("cpu");
  const std::string text = R"([{"step": "vectorize", "arguments": [["", "m"]], "place": "layer.cpp:12"}])";
  const Step step = steps_of_json(text, "best.json").front();
  s.apply(step);  // here
}
