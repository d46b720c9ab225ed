// expect: has the wrong number of arguments
// expect: accepted: {"step": "split", "arguments": [["n", 64]]}
// fix: const std::string text = R"([{"step": "split", "arguments": [["n", 64]]}])";
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(file_step_of_no_argument) {
  auto s = spmm_schedule("cpu");
  const std::string text = R"([{"step": "split", "arguments": []}])";  // there
  s.apply(steps_of_json(text, "best.json").front());                   // here
}
