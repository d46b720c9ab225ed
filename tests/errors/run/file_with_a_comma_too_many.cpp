// expect: a schedule is no JSON
// expect: ] after a comma, at line 2, column 1
// expect: accepted: another step or argument, or no comma
// fix: const auto steps = steps_of_json(right, "best.json");
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(file_with_a_comma_too_many) {
  const std::string_view text = "[{\"step\": \"split\", \"arguments\": [[\"n\", 64]]},\n]";
  [[maybe_unused]] const std::string_view right = R"([{"step": "split", "arguments": [["n", 64]]}])";
  const auto steps = steps_of_json(text, "best.json");  // here
  auto s = spmm_schedule("cpu");
  for (const Step& step : steps) s.apply(step);
}
