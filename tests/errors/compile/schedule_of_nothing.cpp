// expect: weft: a schedule of nothing
// fix: Schedule s = schedule(program(), target_named("cpu"));
#include <weft/dsl/assignment.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(i);
WEFT_INDEX(j);

Algorithm program() {
  const Tensor<f32, 2> D("D", {64, 32});
  const Tensor<f32, 1> X("X", {32}), Y("Y", {64});
  return algorithm("program", Y(i) = sum(j, D(i, j) * X(j)));
}

void apply() {
  Schedule s;  // here
  s.split(i = 8);
}
