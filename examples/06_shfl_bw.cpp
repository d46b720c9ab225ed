// Lesson 6: tensor cores multiply a pruned layer.
//
// Tensor cores want dense tiles; pruning leaves holes. Huang et al. (Shfl-BW, DAC 2022) keep whole columns of
// V rows, and let these be any V rows of the layer: stored tiles are dense, and more of what matters stays
// than blocks would keep. This lesson prunes a layer that way, makes the kernel step by step, and then takes
// the recipe.

#include <weft/backends/runtime/driver.h>
#include <weft/backends/runtime/libraries/libraries.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/simulator/device.h>
#include <weft/scheduler/hardware/simulated_target.h>
#include <weft/weft.h>

#include <cmath>
#include <iomanip>
#include <iostream>
#include <optional>

using namespace weft;

namespace {

constexpr std::int64_t outputs = 512, inputs = 1024;
using Weights = std::shared_ptr<const SparseTensor>;

/// A layer before pruning. Its neurons are of a few kinds, which care for different inputs, and neurons of a
/// kind stand anywhere: what a row order can make use of.
WeightMatrix dense_layer() {
  constexpr std::size_t kinds = 8;
  Random random(6);
  std::vector<double> interest(kinds * inputs);
  for (double& each : interest) each = std::exp2(random.normal());
  Array values(DType::f16, {outputs, inputs});
  for (std::int64_t row = 0; row < outputs; ++row) {
    const auto kind = static_cast<std::size_t>(random.below(kinds));
    for (std::int64_t column = 0; column < inputs; ++column) {
      const double scale = interest[kind * inputs + static_cast<std::size_t>(column)];
      values.set(row * inputs + column, 0.03 * scale * random.normal());
    }
  }
  return from_dense(values, "a layer made by the lesson");
}

/// C = relu(A B + bias) over so many columns.
Algorithm linear(std::int64_t width) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f16, 2, sparse> A("A", {outputs, inputs});
  const Tensor<f16, 2> B("B", {inputs, width});
  const Tensor<f16, 1> bias("bias", {outputs});
  const Tensor<f16, 2> C("C", {outputs, width});
  return algorithm("linear", C(m, n) = relu(sum(k, A(m, k) * B(k, n)) + bias(m)));
}

/// Which share of the score, the sum of |w|, is left at 75 %. The freer the structure, the more.
Pruning prune_and_compare(const WeightMatrix& layer) {
  PruneOptions options;
  options.sparsity = 0.75;
  options.attempts = 1;
  const Pruning chosen = choose_weights(layer, parse_format("shfl_bw:V=64"), options);
  std::cout << "kept score at 75 %:\n" << std::fixed << std::setprecision(1);
  const auto line = [](const Pruning& pruning, const char* what) {
    std::cout << "  " << std::setw(18) << std::left << pruning.format.text() << 100 * pruning.kept_score
              << " %  " << what << "\n";
  };
  line(choose_weights(layer, parse_format("csr"), options), "single weights: nothing for tensor cores");
  line(chosen, "columns of 64 rows, any 64");
  line(choose_weights(layer, parse_format("vector_wise:V=64"), options), "columns of 64 neighbouring rows");
  line(choose_weights(layer, parse_format("bcsr:b=64"), options), "blocks of 64 x 64");
  return chosen;
}

/// A program is built from a format's answers to three questions. Which rows are the rows of a stored tile?
/// (`row_order`, a list: the row comes from data.) Which columns? (`column`, one list for the whole group.)
/// How does a stored tile become an operand? (`values`: 64 rows x 64 places, dense, in the order in which
/// tensor cores take them.)
void answer_three_questions(const SparseTensor& weights) {
  std::cout << "\nthe format " << weights.format().text() << " packs:\n";
  for (const char* name : {"row_order", "begin", "column", "values"}) {
    const Array& array = weights.array(name);
    std::cout << "  " << std::setw(10) << name << std::setw(5) << name_of(array.dtype());
    for (const std::int64_t extent : array.shape()) std::cout << ' ' << extent;
    std::cout << "\n";
  }
  std::cout << "\n";
}

void show(const char* title, const Schedule& schedule) {
  std::cout << "---- " << title << "\n" << ir::print(schedule.program()) << "\n";
}

Schedule by_hand(const Weights& weights, std::int64_t width) {
  WEFT_INDEX(n);
  const LoopName group("m.block"), row("m.row"), block("k.block"), place("k.place");
  const LoopName row_warp("m.row.outer"), warp_row("m.row.inner");
  const LoopName column_warp("n.inner.outer"), warp_column("n.inner.inner");
  Schedule s = schedule(linear(width), weights, target_named("sm_80"));
  show("as the format has it: groups, rows of a group, blocks of its columns, places of a block", s);

  // A thread block takes a group and 64 columns of the output; four warps take 32 x 32 of that each. The
  // loop over places goes inside: its sums become 32 x 32 registers.
  s.split(n = 64)
      .split(LoopFactor{LoopName("n.inner"), 32}, LoopFactor{row, 32})
      .reorder(n.outer, group, block, row_warp, column_warp, warp_row, warp_column, place)
      .bind(n.outer, block_y)
      .bind(group, block_x);

  // A tile of the weights is dense, but the rows of B that it meets are scattered: those that the group
  // keeps. They have to be copied to shared memory in any case, and a copy may read from anywhere. So they
  // are stitched together on the way: what arrives is dense, and tensor cores notice nothing. A row of B is
  // read in whole runs of 16 bytes, so gathering rows costs what copying them does.
  //
  // Two buffers, used in turn: while one is multiplied, the next is on its way.
  //
  // "swizzled" in the declaration of a tile: a tensor core takes eight rows of 16 bytes at once, one below
  // the other. In lines of 128 bytes all eight would lie in the same four banks of shared memory and be read
  // one after the other. The swizzle moves the chunks of each line to other places, by the number of the
  // line, so that the eight lie in all 32 banks. The format has packed the values in that order already.
  s.stage("A.values", shared, at = block, depth = 2).stitch("B", shared, at = block, depth = 2);
  show("values are copied ahead, rows of B stitched together", s);

  // The innermost loops are a product of dense tiles now: an instruction does 16 x 8 x 16 of it.
  s.bind(row_warp, warp).bind(column_warp, warp).tensorize("mma_m16n8k16");
  show("tensor cores", s);

  // Accumulators lie scattered over the lanes of a warp; through shared memory they become whole lines of
  // C. Each line goes to the row that row_order names. A line has to be given an address anyway, so that the
  // rows were shuffled costs one load of an index a line; nothing is ever sorted back.
  s.reorder_writeback("C");
  show("lines of results go to the rows that the format names", s);
  return s;
}

/// Host arrays of a launch.
struct Operands {
  Array b, bias, c;
  Arguments arguments;

  explicit Operands(std::int64_t width)
      : b(random_array(DType::f16, {inputs, width}, 7)),
        bias(random_array(DType::f16, {outputs}, 8)),
        c(DType::f16, {outputs, width}),
        arguments{{{"B", &b}, {"bias", &bias}, {"C", &c}}, {}} {}
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;
};

bool is_right(const Schedule& schedule, std::int64_t width) {
  Operands operands(width);
  const std::string& target = schedule.target().name;
  const Verification on_cpu =
      verify(compile(schedule, {.by_meaning = true}), Device::cpu(), operands.arguments);
  std::cout << "by its meaning: " << on_cpu.text() << "\n";
  const Verification on_gpu =
      verify(compile(schedule, {.assemble = false}), Device::simulator(target), operands.arguments);
  std::cout << "simulated on " << target << ": " << on_gpu.text() << "\n\n";
  return on_cpu.passed && on_gpu.passed;
}

/// Code for sm_90a runs on devices of sm_90 alone; what others have, newer ones have, too.
const Target& target_of(int sm) {
  const Target* best = &target_named("sm_75");
  for (const Target& target : targets()) {
    if (!target.is_gpu() || is_simulated_only(target)) continue;
    if (target.architecture_specific ? target.sm == sm : target.sm <= sm) best = &target;
  }
  return *best;
}

/// The recipe on this machine's GPU, and the product of the same matrix with its zeros by cuBLAS.
bool run_on_device(const Weights& weights, const WeightMatrix& matrix) {
  constexpr std::int64_t width = 4096;
  const Device device = Device::cuda();
  const Kernel kernel = compile(shfl_bw(linear(width), weights, target_of(device.description().sm)));
  Operands operands(width);
  const Verification verification = verify(kernel, device, operands.arguments);
  std::cout << "on " << device.description().model << ": " << verification.text() << "\n";

  const BoundKernel bound = kernel.bind(device, operands.arguments);
  const Timing ours = time(device, [&](StreamHandle stream) { bound.launch(stream); });
  std::cout << outputs << " x " << inputs << " x " << width << ": recipe " << ours.median << " us\n";
  std::string reason;
  const std::optional<Dense> cublas = Dense::open(device, &reason);
  if (!cublas) {
    std::cout << "no dense product beside it: " << reason << "\n";
    return verification.passed;
  }
  const Array zeros_filled_in = to_dense(matrix);
  DeviceMemory dense(device, zeros_filled_in.bytes());
  dense.upload(zeros_filled_in.data(), zeros_filled_in.bytes());
  const Timing theirs = time(device, [&](StreamHandle stream) {
    cublas->multiply({.m = outputs, .n = width, .k = inputs, .type = DenseType::f16}, dense.address(),
                     bound.address("B"), bound.address("C"), stream);
  });
  std::cout << cublas->version() << ", without bias and ReLU: " << theirs.median << " us\n";
  return verification.passed;
}

}  // namespace

int main() {
  const WeightMatrix layer = dense_layer();
  // The command does the same to a file: weft prune layer.safetensors --format shfl_bw:V=64 --sparsity 0.75
  // -o pruned.safetensors. Packing finds the groups again, wherever their rows stand.
  const WeightMatrix matrix = pruned(layer, prune_and_compare(layer));
  const auto weights = std::make_shared<const SparseTensor>(pack(matrix, formats::shfl_bw({.rows = 64})));
  answer_three_questions(*weights);

  constexpr std::int64_t width = 72;  // not a multiple of a block's columns: the edge is right, too
  if (!is_right(by_hand(weights, width), width)) return 1;

  // The recipe takes the same steps. On sm_90a a warpgroup, four warps, multiplies by wgmma, which reads both
  // tiles from shared memory; other warps do nothing but start copies, and thread blocks go through several
  // tiles, so that copies for the next one begin while results of the last one leave.
  const Schedule chosen = shfl_bw(linear(1024), weights, target_named("sm_90a"));
  std::cout << "---- the recipe for sm_90a\n" << chosen.cpp() << "\n" << compile(chosen).explain() << "\n";
  if (!is_right(shfl_bw(linear(width), weights, target_named("sm_90a")), width)) return 1;

  if (!driver::status().ready()) {
    std::cout << driver::status().sentence << "\n";
    return 0;
  }
  return run_on_device(weights, matrix) ? 0 : 1;
}
