// expect: there is no such step
// expect: best.json, step 1
// expect: "splti"
// expect: did you mean split
// fix: const auto steps = steps_of_json(right, "best.json");
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(file_of_an_unknown_step) {
  const std::string_view text = R"([{"step": "splti", "arguments": [["n", 64]]}])";
  [[maybe_unused]] const std::string_view right = R"([{"step": "split", "arguments": [["n", 64]]}])";
  const auto steps = steps_of_json(text, "best.json");  // here
  auto s = spmm_schedule("cpu");
  for (const Step& step : steps) s.apply(step);
}
