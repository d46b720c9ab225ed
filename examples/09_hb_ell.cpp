// Lesson 9: weights without any structure on tensor cores that nobody has built.
//
// The largest weights of a matrix stand anywhere. HB-ELL cuts it into blocks of 16 x 16 and stores each by
// itself: a block with few values in ELL, as wide as its longest row asks for, a full one as it is. A sparse
// tensor core that multiplies such blocks does not exist; the simulator has one, with the instructions that
// the paper proposes (Wu et al., "Generic, Sparse Tensor Core for Neural Networks"; docs/simulator.md says
// what each does and costs).

#include <weft/backends/simulator/device.h>
#include <weft/scheduler/recipes/blocks/hb_ell_swmma.h>
#include <weft/weft.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>
#include <string>
#include <utility>

using namespace weft;

namespace {

constexpr const char* simulated = "sm_70_swmma";
constexpr std::int64_t M = 128, K = 256, N = 128;

/// A trained layer, for want of one: every weight has a value.
WeightMatrix layer() {
  Array all = random_array(DType::f16, {M, K}, 1);
  for (std::int64_t i = 0; i < all.size(); ++i) {
    if (all.get(i) == 0) all.set(i, 0.5);
  }
  return from_dense(all, "a layer");
}

/// Top-K: the weights of the greatest magnitude stay, wherever they are.
WeightMatrix largest(const WeightMatrix& weights, double sparsity) {
  return pruned(weights, choose_weights(weights, formats::csr(), {.sparsity = sparsity}));
}

void show_storage(const WeightMatrix& weights) {
  const auto bytes = [&](const Format& format) { return pack(weights, format).bytes(); };
  std::cout << "bytes: dense " << M * K * 2 << ", csr " << bytes(formats::csr()) << ", ell "
            << bytes(formats::ell()) << ", blocks of one width "
            << bytes(formats::hb_ell({.step = 4, .uniform = true})) << ", hb_ell "
            << bytes(formats::hb_ell({.step = 4})) << ", with offsets of four bits "
            << bytes(formats::hb_ell({.offset = 4, .step = 4})) << "\n";
  const SparseTensor packed = pack(weights, formats::hb_ell({.step = 4}));
  std::map<std::int32_t, int> blocks;
  for (const std::int32_t each : packed.array("bcols").as<std::int32_t>()) ++blocks[each];
  std::cout << "hb_ell stores";
  for (const auto& [columns, count] : blocks)
    std::cout << " " << count << (columns == 16 ? " dense blocks" : " blocks of width ")
              << (columns == 16 ? std::string() : std::to_string(columns)) << ",";
  std::cout << " of " << M / 16 * (K / 16) << "\n";
}

/// C = A B + C on a simulated device, compared with the reference.
bool is_right(const Schedule& schedule, const Device& device) {
  Array b = random_array(DType::f16, {K, N}, 2);
  Array c = random_array(DType::f16, {M, N}, 3);
  const Verification verification =
      verify(compile(schedule), device, {{{"B", &b}, {"C", &c}}, {{"alpha", 1}, {"beta", 1}}});
  if (!verification.passed) std::cout << verification.text() << "\n";
  return verification.passed;
}

/// Clocks without the launch, 0 where it is wrong.
double clocks_of(const Schedule& schedule) {
  const Device device = Device::simulator(simulated);
  const bool right = is_right(schedule, device);
  const auto& parameters = simulator::time_parameters_of(target_named(simulated).sm);
  const double microseconds = simulator::last_estimate(device).microseconds - parameters.launch_microseconds;
  return right ? microseconds * 1e3 * parameters.gigahertz : 0;
}

/// How many fours of columns the blocks take, and a kernel for sparse tensor cores that there are.
bool on_real_tensor_cores(const Algorithm& algorithm, const WeightMatrix& weights) {
  const auto packed = std::make_shared<const SparseTensor>(pack(weights, parse_format("hb_ell:pairs=1")));
  std::map<std::pair<std::int64_t, std::int32_t>, int> fours;  // fours of each block row and block column
  const auto begin = packed->array("begin").as<std::int32_t>(),
             column = packed->array("column").as<std::int32_t>();
  for (std::size_t row = 0; row + 1 < begin.size(); ++row) {
    for (std::int64_t slot = 64 * begin[row]; slot < 64 * begin[row + 1]; slot += 4) {
      const std::int32_t first = column[slot];
      if (first >= 0) ++fours[{static_cast<std::int64_t>(row), first / 16}];
    }
  }
  const auto fit = std::ranges::count_if(fours, [](const auto& block) { return block.second <= 4; });
  const Schedule schedule = hb_ell(algorithm, packed, target_named("sm_80"));
  std::cout << fit << " of " << fours.size() << " blocks keep two of four, " << packed->bytes()
            << " bytes, by "
            << (schedule.cpp().find("mma_sp_m16n8k32") == std::string::npos ? "no sparse instruction\n"
                                                                            : "mma.sp.m16n8k32\n");
  return is_right(schedule, Device::simulator("sm_80"));
}

/// The recipe, which writes the same steps as `main`, for weights in any form of hb_ell.
double clocks_by_recipe(const Algorithm& algorithm, const WeightMatrix& weights, const Format& format) {
  return clocks_of(hb_ell_swmma(algorithm, std::make_shared<const SparseTensor>(pack(weights, format)),
                                target_named(simulated)));
}

}  // namespace

int main() {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f16, 2, sparse> A("A", {M, K});
  const Tensor<f16, 2> B("B", {K, N}), C("C", {M, N});
  const Scalar alpha("alpha"), beta("beta");
  const Algorithm product =
      algorithm("product", C(m, n) = alpha * sum(k, A(m, k) * B(k, n)) + beta * C(m, n));

  const WeightMatrix dense = layer();
  const WeightMatrix weights = largest(dense, 0.8);
  show_storage(weights);

  // Algorithm 1, step by step. A warp makes a tile of 16 x 16 of the output: four by four of them are a
  // thread block. It goes over the blocks of its block row, and its sums stay in registers meanwhile.
  const Target& target = target_named(simulated);
  Schedule algorithm_1 = schedule(product, pack(weights, formats::hb_ell({.step = 4})), target);
  algorithm_1.split(LoopFactor{LoopName("m.block"), 4}, n = 64)
      .split(n.inner = 16)
      .reorder(LoopName("m.block.outer"), n.outer, LoopName("m.block.inner"), LoopName("n.inner.outer"),
               LoopName("k.block"), LoopName("m.row"), LoopName("n.inner.inner"), LoopName("k.place"));
  std::cout << "\nthe loops:\n" << ir::print(algorithm_1.program());
  algorithm_1.bind(LoopName("m.block.outer"), block_x)
      .bind(n.outer, block_y)
      .bind(LoopName("m.block.inner"), warp)
      .bind(LoopName("n.inner.outer"), warp)
      // A block of A times the tile of B below it: one instruction, chosen by the width of the block.
      .tensorize("swmma_m16n16k16");
  std::cout << "\nwith the instruction:\n" << ir::print(algorithm_1.program());

  std::cout << "\n" << clocks_of(algorithm_1) << " clocks\n\n";

  // The sparse tensor core that the paper compares with has one width for the whole matrix: that of the
  // longest row of any block, in pieces of four. It needs no arrays that say where a block is, which pays
  // where few weights are left; the wider the longest row, the more pieces it multiplies. The layer before it
  // was pruned has dense blocks alone.
  const Format hybrid = formats::hb_ell({.step = 4}), uniform = formats::hb_ell({.step = 4, .uniform = true});
  const double of_dense = clocks_by_recipe(product, dense, hybrid);
  std::cout << "sparsity  hb_ell  one width  dense\n" << std::fixed << std::setprecision(0);
  bool right = of_dense > 0;
  for (const double sparsity : {0.5, 0.8, 0.95}) {
    const WeightMatrix kept = largest(dense, sparsity);
    const double ours = clocks_by_recipe(product, kept, hybrid);
    const double theirs = clocks_by_recipe(product, kept, uniform);
    std::cout << std::setw(6) << 100 * sparsity << " %" << std::setw(8) << ours << std::setw(11) << theirs
              << std::setw(7) << of_dense << "\n";
    right = right && ours > 0 && theirs > 0 && (sparsity > 0.8 || ours < theirs);
  }

  // The sparse tensor cores that GPUs have take two of each four columns. With its columns in an order of its
  // own, nearly every block of few weights fits, and one that does not takes more fours. The rows of B are
  // brought in that order while they are copied.
  std::cout << "\n";
  for (const double sparsity : {0.5, 0.8, 0.95}) {
    std::cout << std::setw(6) << 100 * sparsity << " %: ";
    right = on_real_tensor_cores(product, largest(dense, sparsity)) && right;
  }
  return right ? 0 : 1;
}
