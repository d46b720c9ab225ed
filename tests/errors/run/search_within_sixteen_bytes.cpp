// expect: MeasureOptions::memory_bytes
// expect: 16 bytes, in which no process runs
// expect: std::uint64_t{16} << 30U
// fix: options.measure.memory_bytes = std::uint64_t{16} << 30U;
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(search_within_sixteen_bytes) {
  Schedule s = schedule(product(DType::f32), as(formats::csr(), DType::f32), target_named("cpu"));
  s.tile(m = knob("rows", {4, 8}), n = 64).parallel(m.outer);
  TuneOptions options;
  options.trials = 1;
  options.baselines = false;
  options.measure.memory_bytes = 16;  // there
  tune(s, "cpu", options);            // here
}
