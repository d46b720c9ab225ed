// Lesson 3b: the weights as instructions.
//
// Wang's SparseRT (PACT 2020) compiles the pruned weights of a layer into the code of its kernel. This lesson
// makes that kernel in four steps, and runs every stage: by its meaning on the CPU, and as PTX in the
// simulator.

#include <weft/backends/simulator/device.h>
#include <weft/weft.h>

#include <algorithm>
#include <iostream>
#include <string>

using namespace weft;

namespace {

constexpr std::int64_t rows = 8, inner = 16, width = 48;

void show(const char* title, const Schedule& schedule) {
  std::cout << "---- " << title << "\n" << ir::print(schedule.program()) << "\n";
}

bool is_right(const Schedule& schedule) {
  Array b = random_array(DType::f32, {inner, width}, 7);
  Array c(DType::f32, {rows, width});
  const Arguments arguments{{{"B", &b}, {"C", &c}}, {}};
  KernelOptions by_meaning;
  by_meaning.by_meaning = true;
  KernelOptions as_ptx;
  as_ptx.assemble = false;
  const Verification on_cpu = verify(compile(schedule, by_meaning), Device::cpu(), arguments);
  const Verification on_gpu = verify(compile(schedule, as_ptx), Device::simulator("sm_80"), arguments);
  std::cout << "by its meaning: " << on_cpu.text() << "\nas PTX:         " << on_gpu.text() << "\n\n";
  return on_cpu.passed && on_gpu.passed;
}

std::size_t occurrences(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

}  // namespace

int main() {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {rows, inner});
  const Tensor<f32, 2> B("B", {inner, width});
  const Tensor<f32, 2> C("C", {rows, width});
  const Algorithm layer = algorithm("layer", C(m, n) = sum(k, A(m, k) * B(k, n)));
  const WeightMatrix weights = synthetic_layer({.rows = rows, .columns = inner, .sparsity = 0.8, .seed = 11});
  const std::int64_t entries = weights.stored();

  // Figure 1: each block computes a tile of the output. In this generic sparse product every entry costs two
  // loads, for its value and its column, before the one of B can even start.
  Schedule s = schedule(layer, pack(weights, formats::csr()), target_named("sm_80"));
  s.split(m = 4, n = 32)
      .reorder(m.outer, n.outer, n.inner, m.inner)
      .bind(m.outer, block_y)
      .bind(n.outer, block_x)
      .bind(n.inner, lane);
  show("a block takes four rows, a lane one column", s);
  if (!is_right(s)) return 1;

  // Figure 3a: groups of threads share the sum of a tile, each with registers of its own; shared memory
  // brings them together.
  s.bind(s.split_k(k, 2), warp);
  show("two warps share what is summed over k", s);
  if (!is_right(s)) return 1;

  // Figure 3b and the paper's "compact" transformation: the entries become constants of the code. The columns
  // of the weights go outside and the rows inside, so that one load of B serves every row that needs it, and
  // every group except the last gets the same number of non-zeros.
  s.bake_values(m.inner);
  show("values and columns are constants, and the arrays of A are gone", s);
  if (!is_right(s)) return 1;

  KernelOptions as_ptx;
  as_ptx.assemble = false;
  const std::string ptx = compile(s, as_ptx).ptx();
  const std::size_t products = occurrences(ptx, "fma.rn.f32");
  const std::size_t loads = occurrences(ptx, "ld.global");
  std::cout << "---- the code: " << entries << " entries, " << products << " multiply-adds, " << loads
            << " loads of B\n\n";
  if (products > static_cast<std::size_t>(entries) || loads > static_cast<std::size_t>(entries)) return 1;

  // Code that does not fit the instruction caches is slow, so its size is a constraint like any other.
  Schedule too_large = schedule(layer, pack(weights, formats::csr()), target_named("sm_80"));
  too_large.split(m = 4);
  try {
    too_large.bake_values(m.inner, code_bytes = 64);
    return 1;
  } catch (const UserError& error) {
    std::cout << "---- a refusal\n" << std::string(error.what()).substr(0, 300) << "…\n\n";
  }

  // The recipe takes the same steps, with numbers that it chooses for the shape.
  const Schedule chosen = sparsert(layer, std::make_shared<const SparseTensor>(pack(weights, formats::csr())),
                                   target_named("sm_80"));
  std::cout << "---- the recipe\n" << chosen.cpp() << "\n";
  return is_right(chosen) ? 0 : 1;
}
