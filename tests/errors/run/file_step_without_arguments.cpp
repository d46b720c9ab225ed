// expect: a step of a schedule cannot be read
// expect: best.json, step 1
// expect: no field "arguments"
// fix: const auto steps = steps_of_json(right, "best.json");
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(file_step_without_arguments) {
  const std::string_view text = R"([{"step": "split"}])";
  [[maybe_unused]] const std::string_view right = R"([{"step": "split", "arguments": [["n", 64]]}])";
  const auto steps = steps_of_json(text, "best.json");  // here
  auto s = spmm_schedule("cpu");
  for (const Step& step : steps) s.apply(step);
}
