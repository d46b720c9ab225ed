// expect: has a text where a number stands
// expect: found:    n = "64"
// expect: accepted: ["n", 64], a number without quotes
// fix: const std::string text = R"([{"step": "split", "arguments": [["n", 64]]}])";
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(file_number_in_quotes) {
  auto s = spmm_schedule("cpu");
  const std::string text = R"([{"step": "split", "arguments": [["n", "64"]]}])";  // there
  s.apply(steps_of_json(text, "best.json").front());                              // here
}
