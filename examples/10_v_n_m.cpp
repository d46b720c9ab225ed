// Lesson 10: sparse tensor cores multiply a pruned layer.
//
// Since Ampere a tensor core can leave out half of a product: of every four neighbouring weights of a row it
// takes two, told by two bits each which ones they are, and multiplies twice as much at a time. That is 2:4:
// half of the weights gone, and any two of four may stay. Castro et al. (VENOM, SC 2023) go further with the
// same instruction: V rows keep four columns of every M, and each row two of these. Four of M columns are
// gathered as lesson 6 gathers kept columns, two of four are what the hardware leaves out. This lesson prunes
// a layer both ways, makes the kernel step by step, and compares what is kept with what is won. At the end
// the same instruction multiplies weights that were pruned without any pattern.

#include <weft/search/model/bound.h>
#include <weft/search/model/dense_bound.h>
#include <weft/weft.h>

#include <cmath>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace weft;

namespace {

constexpr std::int64_t outputs = 256, inputs = 512;
using Weights = std::shared_ptr<const SparseTensor>;

/// A layer before pruning: some inputs matter more than others, to neighbouring neurons alike.
WeightMatrix dense_layer() {
  constexpr std::int64_t neighbours = 64;
  Random random(10);
  std::vector<double> interest(outputs / neighbours * inputs);
  for (double& each : interest) each = std::exp2(random.normal());
  Array values(DType::f16, {outputs, inputs});
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const std::int64_t place = i / inputs / neighbours * inputs + i % inputs;
    values.set(i, 0.03 * interest[place] * random.normal());
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

/// Pruned as the format wants it, and packed. Which four columns a block of V x M keeps is tried out: the
/// four that leave most once every row has taken its best two of them.
Weights pruned_and_packed(const WeightMatrix& layer, const Format& format) {
  return std::make_shared<const SparseTensor>(pack(pruned(layer, choose_weights(layer, format, {})), format));
}

/// The three questions again. Rows of a tile: 64 that follow one another. Columns: for 2:4 none are listed,
/// all are there; V:2:M lists four of each M for 64 rows. Operands: half as many values as places, and the
/// places themselves as `metadata`, a word for each lane of a warp, in the order in which the instruction
/// takes it: no lane ever has to look for its bits.
void answer_three_questions(const SparseTensor& weights) {
  std::cout << "\nthe format " << weights.format().text() << " packs:\n";
  for (const SparseTensor::NamedArray& named : weights.arrays()) {
    std::cout << "  " << std::setw(10) << std::left << named.name << std::setw(5)
              << name_of(named.array.dtype());
    for (const std::int64_t extent : named.array.shape()) std::cout << ' ' << extent;
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
  show("as the format has it: a place of a row is where its two bits say", s);

  // A thread block takes a group of 64 rows and 64 columns of the output; four warps take 32 x 32 of that.
  s.split(n = 64)
      .split(LoopFactor{LoopName("n.inner"), 32}, LoopFactor{row, 32})
      .reorder(n.outer, group, block, row_warp, column_warp, warp_row, warp_column, place)
      .bind(n.outer, block_y)
      .bind(group, block_x);

  // Rows of B are copied for the places before two of four are chosen, because every row of the group chooses
  // others: 64 rows of B meet 32 values of each row of A. For V:2:M they are gathered on the way, as in
  // lesson 6; for 2:4 they follow one another, and the same step copies them as they lie. The bits come with
  // the values.
  s.stage("A.values", shared, at = block, depth = 2)
      .stitch("B", shared, at = block, depth = 2)
      .stage("A.metadata", shared, at = block, depth = 2);
  show("values, their bits and rows of B are copied ahead", s);

  // 16 rows with 16 values each, out of 32 places, times 32 rows of B: in the time of half of that.
  s.bind(row_warp, warp).bind(column_warp, warp).tensorize("mma_sp_m16n8k32");
  show("sparse tensor cores", s);
  s.reorder_writeback("C");
  return s;
}

/// By its meaning on the processor and in the simulator, where a wrong bit would be a wrong sum.
bool is_right(const Schedule& schedule, std::int64_t width) {
  Array b = random_array(DType::f16, {inputs, width}, 7);
  Array bias = random_array(DType::f16, {outputs}, 8);
  Array c(DType::f16, {outputs, width});
  const Arguments arguments{{{"B", &b}, {"bias", &bias}, {"C", &c}}, {}};
  const std::string& target = schedule.target().name;
  const Verification on_cpu = verify(compile(schedule, {.by_meaning = true}), Device::cpu(), arguments);
  std::cout << "by its meaning: " << on_cpu.text() << "\n";
  const Verification on_gpu =
      verify(compile(schedule, {.assemble = false}), Device::simulator(target), arguments);
  std::cout << "simulated on " << target << ": " << on_gpu.text() << "\n\n";
  return on_cpu.passed && on_gpu.passed;
}

/// What is kept, and what the model of an H200 expects for so many columns, as if the layer were `times` as
/// high and wide.
void compare(const WeightMatrix& layer) {
  constexpr std::int64_t times = 16, width = 4096;
  const Target& target = target_named("sm_90a");
  std::cout << std::fixed << "pruned as              zero    score kept   H200, " << times * outputs << " x "
            << times * inputs << " x " << width << ", by the model\n";
  const auto line = [&](const std::string& format, const char* recipe, double sparsity) {
    PruneOptions options;
    if (!sparsity_of_pattern(parse_format(format))) options.sparsity = sparsity;
    const Pruning pruning = choose_weights(layer, parse_format(format), options);
    ProblemSummary problem = summary_of(linear(width), pruned(layer, pruning), parse_format(format));
    problem.m *= times;
    problem.k *= times;
    problem.stored *= times * times;
    problem.dense_elements *= times;
    const double dense = dense_bound(problem, ceilings_of(problem.dtype, target));
    const double own = bound_of(problem, recipe, {}, target).microseconds;
    std::cout << "  " << std::setw(20) << std::left << format << std::right << std::setw(5)
              << std::setprecision(1) << 100 * (1 - problem.density()) << " %" << std::setw(10)
              << 100 * pruning.kept_score << " %" << std::setw(12) << std::setprecision(0) << own << " us, "
              << std::setprecision(2) << dense / own << " times as fast as dense\n";
  };
  line("n_m", "v_n_m", 0.5);
  line("shfl_bw:V=64", "shfl_bw", 0.5);
  for (const char* columns : {"8", "16"}) {
    line("v_n_m:V=64,M=" + std::string(columns), "v_n_m", 0);
    line("shfl_bw:V=64", "shfl_bw", 1 - 2 / std::stod(columns));
  }
  // V:2:M gathers what row groups gather at a density of 4 / M, and multiplies half of that: at one sparsity
  // row groups move less, and V:2:M keeps more of the score. 2:4 moves everything, and keeps the most.
}

/// Any weights can be had as 2:4: a group of rows puts the columns that it has entries in together in fours
/// of which no row has more than two. What is stored beyond the entries are zeros that fill fours up, fewer
/// the more alike the rows are; columns without an entry are not read. Nothing is lost, and pruning
/// may keep the largest weights wherever they stand.
Weights in_fours(const WeightMatrix& layer) {
  const Pruning pruning = choose_weights(layer, formats::csr(), {.sparsity = 0.9});
  const WeightMatrix kept = pruned(layer, pruning);
  const Weights weights =
      std::make_shared<const SparseTensor>(pack(kept, formats::column_quads({.rows = 64})));
  const auto stored = static_cast<double>(weights->array("values").size());
  std::cout << "single weights at 90 %: " << 100 * pruning.kept_score
            << " % of the score; in fours of columns " << stored / static_cast<double>(kept.stored())
            << " values are stored for an entry, and " << 100 * stored / static_cast<double>(outputs * inputs)
            << " % of a dense layer's\n\n";
  return weights;
}

}  // namespace

int main() {
  const WeightMatrix layer = dense_layer();
  compare(layer);

  // The command does the same to a file: weft prune layer.safetensors --format v_n_m:V=64,M=16 -o
  // pruned.safetensors. The sparsity, 1 - 2 / M, follows from the pattern.
  const Weights two_of_four = pruned_and_packed(layer, formats::n_m({.rows = 64}));
  const Weights pairs = pruned_and_packed(layer, formats::v_n_m({.rows = 64, .columns = 16}));
  answer_three_questions(*two_of_four);
  answer_three_questions(*pairs);

  constexpr std::int64_t width = 72;  // not a multiple of a block's columns: the edge is right, too
  if (!is_right(by_hand(two_of_four, width), width) || !is_right(by_hand(pairs, width), width)) return 1;

  // The recipe takes the same steps; on sm_90a warpgroups multiply by wgmma.sp.
  const Schedule chosen = v_n_m(linear(width), pairs, target_named("sm_90a"));
  std::cout << "---- the recipe for sm_90a\n" << chosen.cpp() << "\n" << compile(chosen).explain() << "\n";
  if (!is_right(chosen, width)) return 1;

  // The list of columns is a row group's, the two of four are 2:4's: the same kernel takes it.
  const Weights any = in_fours(layer);
  answer_three_questions(*any);
  const bool all_right = is_right(by_hand(any, width), width) &&
                         is_right(v_n_m(linear(width), any, target_named("sm_90a")), width);
  return all_right ? 0 : 1;
}
