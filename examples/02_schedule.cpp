// Lesson 2: scheduling, one step at a time.
//
// A schedule is a list of steps. Each step is a checked rewrite of the program, applied at once: after every
// line below, the program can be printed and run. A step that would be wrong is refused with the reason.

#include <weft/weft.h>

#include <iostream>

using namespace weft;

namespace {

void show(const char* title, const Schedule& schedule) {
  std::cout << "---- " << title << "\n" << ir::print(schedule.program()) << "\n";
}

/// Compiles the schedule for this machine, runs it and compares it with the reference.
bool is_right(const Schedule& schedule) {
  Array b = random_array(DType::f32, {128, 100}, 7);
  Array c(DType::f32, {96, 100});
  const Verification check = verify(compile(schedule), Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
  std::cout << check.text() << "\n\n";
  return check.passed;
}

}  // namespace

int main() {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {96, 128});
  const Tensor<f32, 2> B("B", {128, 100});
  const Tensor<f32, 2> C("C", {96, 100});
  const Algorithm spmm = algorithm("spmm", C(m, n) = sum(k, A(m, k) * B(k, n)));
  const WeightMatrix weights = synthetic_layer({.rows = 96, .columns = 128, .sparsity = 0.85, .seed = 2});

  Schedule s = schedule(spmm, pack(weights, formats::csr()), target_named("cpu"));
  show("the unscheduled program: one sum at a time", s);
  if (!is_right(s)) return 1;

  s.split(n = 64);
  show("the columns in pieces of 64; 100 is no multiple, so the tail is guarded", s);

  s.reorder(k, n.inner);
  show("one walk over a row serves 64 columns: the sum became 64 registers", s);

  s.vectorize(n.inner);
  show("which are the elements of vectors", s);

  s.parallel(m);
  show("and threads share the rows", s);
  if (!is_right(s)) return 1;

  // A step that cannot be right says why, and changes nothing.
  try {
    s.vectorize(k);
  } catch (const UserError& error) {
    std::cout << "---- a refusal\n" << error.what() << "\n\n";
  }

  // A schedule prints as the C++ that makes it, and is stored as JSON.
  std::cout << "---- the schedule\n" << s.cpp() << "\n" << s.json() << "\n";
  Schedule again = schedule(spmm, pack(weights, formats::csr()), target_named("cpu"));
  for (const Step& step : steps_of_json(s.json())) again.apply(step);
  return ir::print(again.program()) == ir::print(s.program()) ? 0 : 1;
}
