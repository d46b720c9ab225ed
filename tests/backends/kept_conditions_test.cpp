// Conditions around what is copied first: those that keep other reads inside of their operands stay, and so
// do those around what is stored; a copy asks them in their order.
#include <gtest/gtest.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/kernel.h>
#include <weft/dsl/assignment.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <cmath>

#include "formats/generated_matrices.h"

namespace weft {
namespace {

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);
WEFT_INDEX(p);
WEFT_INDEX(q);

/// The simulator ends a launch that reads or writes outside of an array, or at a place that nobody computed.
void expect_right(const Schedule& schedule, Emitter emitter = Emitter::llvm) {
  SCOPED_TRACE(schedule.cpp() + "\n" + ir::print(schedule.program()));
  std::map<std::string, Array> arrays;
  Arguments arguments;
  for (const Operand& operand : schedule.algorithm().operands) {
    if (operand.storage == Storage::sparse) continue;
    std::vector<std::int64_t> shape;
    for (const Extent& extent : operand.shape) shape.push_back(extent.value);
    Array array = random_array(operand.dtype, shape, 3, RandomValues::small_integers);
    if (operand.name == "C") {
      for (std::int64_t i = 0; i < array.size(); ++i) array.set(i, std::nan(""));
    }
    arguments.tensors[operand.name] = &arrays.emplace(operand.name, std::move(array)).first->second;
  }
  KernelOptions options;
  options.assemble = false;
  options.emitter = emitter;
  const Target& target = schedule.target();
  const Device device = target.is_gpu() ? Device::simulator(target.name) : Device::cpu();
  const Verification found = verify(compile(schedule, options), device, arguments);
  EXPECT_TRUE(found.passed) << found.text();
}

/// LLVM may choose a number for what nobody computed; compilers of CUDA leave a register unwritten.
void expect_right_by_both(const Schedule& schedule) {
  expect_right(schedule);
  if (cuda::compiler_status().found()) expect_right(schedule, Emitter::cuda);
}

std::shared_ptr<const SparseTensor> weights_in(const std::string& format, std::int64_t rows = 12,
                                               std::int64_t inner = 20, DType dtype = DType::f32) {
  const Format parsed = parse_format(format);
  WeightMatrix layer = synthetic_layer({.rows = rows, .columns = inner, .sparsity = 0.6, .seed = 4});
  layer.values = layer.values.converted(dtype);
  return std::make_shared<const SparseTensor>(pack(fitted(layer, parsed), parsed));
}

Schedule of_weights(const std::string& format, const char* target = "sm_80") {
  return schedule(spmm_algorithm(12, 20, 10, DType::f32), weights_in(format), target_named(target));
}

/// Sums of the rows that there are, none for those behind them: the loop is split once they are outside of
/// it.
TEST(KeptConditions, StitchKeepsSumsInside) {
  const Tensor<f32, 2> a("A", {17, 10}), b("B", {12, 17}), c("C", {10, 12});
  const Algorithm product = algorithm("product", c(n, m) = sum(k, a(k, n) * b(m, k)));
  for (const char* target : {"sm_80", "cpu"}) {
    Schedule s = schedule(product, target_named(target));
    s.reorder(m, k, n).split(n = 4).stitch(std::string("A"), shared, at = m);
    expect_right(s);
  }
}

/// What says which slots are kept is copied inside the loop, behind where the copies ahead are gathered.
TEST(KeptConditions, CopiesAheadAskNothingThatIsMadeInside) {
  const Tensor<f32, 2, sparse> a("A", {39, 15});
  const Tensor<f32, 2> x("X", {168, 15}), y("Y", {35, 39});
  const Algorithm linear = algorithm("linear", y(n, m) = sum(k, a(m, k) * x(5 * n, k)));
  const Format format = parse_format("n_m:V=16");
  const WeightMatrix layer = synthetic_layer({.rows = 39, .columns = 15, .sparsity = 0.5, .seed = 4});
  Schedule s = schedule(linear, pack(fitted(layer, format), format), target_named("sm_90a"));
  s.stage("A.metadata", shared, at = "m.block");
  EXPECT_THROW(s.stitch("A.values", shared, at = "m.block", depth = 4), UserError);
}

TEST(KeptConditions, BakedSumsHaveRoomForWhatLoopsReach) {
  for (const bool vectors : {false, true}) {
    for (const bool staged : {false, true}) {
      Schedule s = of_weights("csr", "cpu");
      const auto [rows, row] = s.split(m, 4);
      s.reorder(rows, row, k, n);
      const auto [columns, column] = s.split(n, 4);
      if (vectors) s.vectorize(column);
      if (staged) s.stage("B", shared, at = rows);
      s.bake_values(row);
      expect_right(s);
    }
  }
}

/// C[m, n] = sum(k, A[k, n] * B[k + m - 1]): B is read where 0 <= k + m - 1, which A does not need.
TEST(KeptConditions, StitchKeepsOtherReadsInside) {
  const Tensor<f32, 2> a("A", {17, 10}), c("C", {8, 10});
  const Tensor<f32, 1> b("B", {24});
  const Algorithm product = algorithm("product", c(m, n) = sum(k, a(k, n) * b(k + m - 1)));
  Schedule s = schedule(product, target_named("sm_80"));
  s.stitch(std::string("A"), shared, at = m);
  expect_right(s);
}

/// The copy of B in registers is filled where the sum reads it, and nowhere else.
TEST(KeptConditions, StitchKeepsReadsOfCopiesToWhatWasCopied) {
  const Tensor<f32, 2> a("A", {6, 5}), b("B", {3, 16}), c("C", {6, 3});
  const Algorithm product = algorithm("product", c(m, n) = sum(k, a(m, k) * b(n, 3 * k - 1)));
  Schedule s = schedule(product, target_named("sm_80"));
  s.reorder({n, m}).stage(std::string("B"), registers, at = n).stitch(std::string("A"), shared, at = n);
  expect_right_by_both(s);
}

/// The place in the copy is none of the columns that the condition asks for.
TEST(KeptConditions, StitchKeepsReadsOfCopiesThatKeptSlotsFill) {
  const Tensor<f32, 2, Storage::sparse> a("A", {12, 20});
  const Tensor<f32, 2> b("B", {10, 20}), c("C", {10, 12});
  const Algorithm turned = algorithm("turned", c(n, m) = sum(k, b(n, k) * a(m, k)));
  Schedule s = schedule(turned, weights_in("v_n_m:M=10,V=16"), target_named("cpu"));
  s.stage(std::string("B"), registers, at = LoopName("m.block"))
      .stitch(std::string("A.values"), shared, at = n);
  expect_right(s);
}

/// Padding has the column -1: the weights may be read there, B may not.
TEST(KeptConditions, StitchedWeightsKeepPaddingOut) {
  Schedule s = of_weights("blocked_ell:b=4");
  s.stitch(std::string("A.values"), shared, at = LoopName("m.block"));
  expect_right(s);
}

/// A condition around stores of the output is none on the sum alone.
TEST(KeptConditions, StitchKeepsThoseAroundResults) {
  const Tensor<f32, 2> a("A", {6, 20}), b("B", {20, 10}), c("C", {6, 10});
  const Algorithm product = algorithm("product", c(m, n) = sum(k, a(m, k) * b(k, n)));
  Schedule s = schedule(product, target_named("sm_80"));
  s.split(n = 16).stitch(std::string("B"), shared, at = m);
  expect_right(s);
}

TEST(KeptConditions, CopiesToRegistersCountNoArrival) {
  const Tensor<f32, 2> a("A", {6, 20}), b("B", {20, 10}), c("C", {6, 10});
  const Tensor<f32, 1> bias("bias", {10});
  const Algorithm product = algorithm("product", c(m, n) = sum(k, a(m, k) * b(k, n)) + bias(n));
  Schedule s = schedule(product, target_named("sm_80"));
  s.split_k(k, groups = 2, reduce = second_pass).stage(std::string("bias"), registers, at = n);
  expect_right(s);
}

/// A copy that runs ahead would count the group's arrival a second time.
TEST(KeptConditions, CopiesAheadCountNoArrival) {
  const Tensor<f32, 2> a("A", {6, 20}), b("B", {20, 10}), c("C", {6, 10});
  const Tensor<f32, 1> bias("bias", {6});
  const Algorithm product = algorithm("product", c(m, n) = sum(k, a(m, k) * b(k, n)) + bias(m));
  Schedule s = schedule(product, target_named("sm_80"));
  s.reorder(n, m).stage(std::string("bias"), shared, at = m, depth = 2);
  const auto refused = s.try_apply({"split_k", {{{}, "k"}, {"groups", 2}, {"reduce", "second_pass"}}, {}});
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->precondition, 9);
  EXPECT_EQ(refused->found, "bias is copied ahead, for the results alone");
  s.split_k(k, groups = 2);
  expect_right(s);
}

TEST(KeptConditions, CopiesToRegistersAskInOrder) {
  Schedule s = of_weights("csr");
  s.split(k = 128).stage(std::string("B"), registers, at = k.outer);
  expect_right(s);
}

/// What is asked behind a read comes too late to guard its copy: the column of padding is looked up with the
/// metadata before anything is asked of q.
TEST(KeptConditions, CopiesToRegistersAskNoMoreThanTheFirstRead) {
  const Tensor<f64, 2, sparse> a("A", {12, 11});
  const Tensor<f64, 3> b("B", {12, 5, 11});
  const Tensor<f32, 3> c("C", {5, 12, 7});
  const Algorithm product = algorithm("product", c(p, n, q) = sum(k, a(n, k) * b(2 * q - 1, p, k)));
  WeightMatrix weights = synthetic_layer({.rows = 12, .columns = 11, .sparsity = 0.97, .seed = 3});
  weights.values = weights.values.converted(DType::f64);
  Schedule s = schedule(product, pack(weights, formats::v_n_m({.rows = 16})), target_named("sm_90"));
  s.bind(p, lane).stage(std::string("A.metadata"), registers, at = q);
  expect_right_by_both(s);
}

/// B depends on q alone, but p is bound to lanes as well, so that a lane's q is what both say.
TEST(KeptConditions, CopiesToRegistersAreOfTheLanesThatRead) {
  const Tensor<f32, 2> a("A", {3, 8}), b("B", {11, 7});
  const Tensor<f32, 3> c("C", {11, 3, 7});
  const Algorithm product = algorithm("product", c(m, p, q) = sum(k, a(p, k) * b(m, q)));
  Schedule s = schedule(product, target_named("sm_80"));
  s.bind(q, lane).bind(p, lane).stage(std::string("B"), registers, at = m);
  expect_right(s);
}

/// The sum asks for H inside, the result does not.
TEST(KeptConditions, CopiesToRegistersServeEveryRead) {
  const Tensor<f32, 1> d("D", {8}), e("E", {8}), c("C", {8});
  const Tensor<f32, 2> h("H", {20, 4});
  const Algorithm product = algorithm("product", c(m) = sum(k, d(m) * h(2 * m - 3, k)) + d(m) * e(m - 1));
  Schedule s = schedule(product, target_named("sm_90"));
  s.stage(std::string("D"), registers, at = m);
  EXPECT_NE(ir::print(s.program()).find("\n    D.registers = D[m]\n"), std::string::npos);
  expect_right_by_both(s);
}

/// Which block of rows there is says whether it has a column number at all: what is asked of the number is
/// asked behind that.
TEST(KeptConditions, ConditionsOfAStitchAreAskedInTheirOrder) {
  Schedule s = of_weights("blocked_ell:b=4");
  s.split(LoopFactor{LoopName("m.block"), 32});
  s.stitch(std::string("A.values"), shared, at = LoopName("m.block.outer"));
  expect_right(s);
  // A copy that goes on by itself computes its place before anything is asked.
  Schedule rows = of_weights("vector_wise:V=8,k=16");
  rows.split(LoopFactor{LoopName("k.block"), 4});
  rows.reorder(LoopName("k.block.outer"), n);
  rows.stitch(std::string("B"), shared, at = LoopName("k.block.outer"), depth = 2);
  expect_right(rows);
}

/// n < 9 says more than that n is inside: 2 * n has to be too.
TEST(KeptConditions, ClampedReadsBoundEveryIndex) {
  const Tensor<f32, 2, sparse> a("A", {12, 20});
  const Tensor<f32, 3> b("B", {20, 9, 17});
  const Tensor<f32, 2> c("C", {12, 9});
  const Algorithm product = algorithm("product", c(m, n) = sum(k, a(m, k) * b(k, n, 2 * n)));
  for (const std::string format : {"csr", "padded_csr", "hb_ell:every=8"}) {
    SCOPED_TRACE(format);
    expect_right(default_schedule(product, weights_in(format), target_named("sm_90a")));
  }
}

/// Zeros behind the end of a copied vector add nothing; the ends of its columns are read all the same.
TEST(KeptConditions, OfLoopsWhoseEndsAreRead) {
  const Tensor<f32, 2, sparse> a("A", {12, 20});
  const Tensor<f32, 1> b("B", {20}), c("C", {12});
  Schedule s =
      schedule(algorithm("product", c(m) = sum(k, a(m, k) * b(k))), weights_in("csc"), target_named("sm_80"));
  s.split(k = 16).stage("B", shared, at = k.outer);
  EXPECT_NE(ir::print(s.program()).find("if k.outer * 16 + k.inner < 20"), std::string::npos)
      << ir::print(s.program());
  expect_right(s);
}

/// Where a vector of columns ends before its lanes do, and the rows inside are bound to blocks, a sum has no
/// first value behind the end, and is not added to there.
TEST(KeptConditions, SumsAreAddedToWhereTheyBegin) {
  Schedule s = schedule(spmm_algorithm(40, 22, 2, DType::f16), weights_in("n_m", 40, 22, DType::f16),
                        target_named("sm_90a"));
  const auto [blocks, columns] = s.split(LoopName("k.block"), 2, n, 3);
  s.vectorize(columns.inner).reorder(blocks.outer, "m.row").stage("A", shared, at = columns.outer);
  s.bind("m.row", block_x);
  expect_right_by_both(s);
}

}  // namespace
}  // namespace weft
