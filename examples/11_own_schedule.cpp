// Lesson 11: search a schedule of your own.
//
// A recipe is not needed for a search. Any number of a schedule may be left open: knob("depth", {2, 3, 4})
// stands where 3 would stand. Which values go together nobody has to say: the program that the steps make is
// asked what it takes of the target, before anything is built.

#include <weft/search/spaces/space.h>
#include <weft/weft.h>

#include <iostream>

using namespace weft;

int main() {
  constexpr std::int64_t outputs = 32, inputs = 128, width = 256;
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {outputs, inputs});
  const Tensor<f32, 2> B("B", {inputs, width});
  const Tensor<f32, 2> C("C", {outputs, width});
  const Algorithm product = algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));
  const WeightMatrix layer = synthetic_layer({.rows = outputs, .columns = inputs, .sparsity = 0.5});

  // Blocks take some columns of one row; pieces of B are copied ahead of the sums, several at a time.
  Schedule s = schedule(product, pack(layer, formats::dense()), target_named("sm_80"));
  s.split(n = knob("columns", {64, 128, 256}), k = 64);
  s.reorder(n.outer, m, k.outer, n.inner, k.inner).bind(n.outer, block_x).bind(m, block_y);
  s.stage("B", shared, at = k.outer, depth = knob("depth", {2, 3, 4}));
  s.bind(n.inner, thread);

  // Three pieces of 64 x 256 numbers are more than a block may have, and four are: no such point is built.
  const Space space = space_of(s);
  const Points points = space.feasible();
  std::cout << space.size() << " points, " << points.size() << " can run\n";
  const Constraint* broken = space.violated({{"columns", 256}, {"depth", 4}});
  if (broken != nullptr) std::cout << "256 columns, 4 pieces: " << broken->text << "\n";

  // All of it is tried, each kernel compared with the f64 reference. On a machine with a GPU say "cuda"; with
  // the name of a database behind the options, a search that was stopped goes on where it was.
  const Tuned found = tune(s, "sim:sm_80");
  std::cout << "\n" << found.verdict << "\n" << found.schedule.cpp();

  // What was found is a schedule like any other.
  Array b = random_array(DType::f32, {inputs, width}, 7), c(DType::f32, {outputs, width});
  const Verification result =
      verify(compile(found.schedule), Device::simulator("sm_80"), {{{"B", &b}, {"C", &c}}, {}});
  std::cout << "\n" << result.text() << "\n";
  const bool tried_all = found.result.status.trials == static_cast<std::int64_t>(points.size());
  return broken != nullptr && tried_all && result.passed ? 0 : 1;
}
