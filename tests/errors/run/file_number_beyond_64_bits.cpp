// expect: best.json, step 1, split, argument 1
// expect: 9223372036854775808
// expect: a whole number up to 9223372036854775807
// fix: const auto steps = steps_of_json(right, "best.json");
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(file_number_beyond_64_bits) {
  const std::string_view text = R"([{"step": "split", "arguments": [["n", 9223372036854775808]]}])";
  [[maybe_unused]] const std::string_view right = R"([{"step": "split", "arguments": [["n", 64]]}])";
  const auto steps = steps_of_json(text, "best.json");  // here
  auto s = spmm_schedule("cpu");
  for (const Step& step : steps) s.apply(step);
}
