// Kernels cut into functions: their modules as one text, run in the simulator, and linked by the toolkit.
#include <gtest/gtest.h>
#include <weft/backends/cuda/assemble.h>
#include <weft/backends/cuda/toolkit.h>
#include <weft/backends/kernel.h>
#include <weft/backends/llvm/nvptx.h>
#include <weft/backends/pieced_kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>

namespace weft {
namespace {

using SharedWeights = std::shared_ptr<const SparseTensor>;

constexpr llvm_backend::PieceLimits cut_all{.smallest_program = 0, .smallest_piece = 0};

SharedWeights weights_of(std::int64_t rows, std::int64_t columns, double sparsity) {
  return std::make_shared<const SparseTensor>(pack(
      synthetic_layer({.rows = rows, .columns = columns, .sparsity = sparsity, .seed = 4}), formats::csr()));
}

Kernel as_ptx(const Schedule& schedule) {
  KernelOptions options;
  options.assemble = false;
  return compile(schedule, options);
}

std::size_t functions_of(const std::string& ptx) {
  std::size_t count = 0;
  constexpr std::string_view function = "\n.visible .func ";
  for (std::size_t place = 0; (place = ptx.find(function, place)) != std::string::npos; ++place) ++count;
  return count;
}

/// The same bits as the kernel in one function.
void expect_same_when_cut(const Schedule& schedule, std::size_t pieces, Arguments arguments) {
  SCOPED_TRACE(schedule.cpp());
  const Kernel whole = as_ptx(schedule);
  const auto pieced = make_in_pieces(whole.lowered(), schedule.target(), false, cut_all);
  ASSERT_TRUE(pieced.has_value());
  EXPECT_FALSE(pieced->assembled.has_value());
  EXPECT_EQ(functions_of(pieced->ptx), pieces);
  const Device device = Device::simulator(schedule.target().name);
  Array& result = *arguments.tensors.at("C");
  const Array before = result;
  whole(device, arguments);
  const Array expected = result;
  result = before;
  const Verification verification = verify(whole.with_ptx(pieced->ptx), device, arguments);
  EXPECT_TRUE(verification.passed) << verification.text();
  for (std::int64_t i = 0; i < expected.size(); ++i) ASSERT_EQ(result.get(i), expected.get(i)) << i;
}

void expect_product(std::int64_t rows, std::int64_t columns, const SparseRtKnobs& knobs, std::size_t pieces,
                    const std::string& target = "sm_80") {
  const std::int64_t inner = 40;
  Array b = random_array(DType::f32, {inner, columns}, 7);
  Array c(DType::f32, {rows, columns});
  expect_same_when_cut(sparsert(spmm_algorithm(rows, inner, columns, DType::f32),
                                weights_of(rows, inner, 0.8), target_named(target), knobs),
                       pieces, Arguments{{{"B", &b}, {"C", &c}}, {}});
}

TEST(PiecedKernels, ProductsWithAndWithoutGroups) {
  expect_product(32, 64, {.form = SparseRtForm::baked, .rows = 8, .threads = 32, .groups = 1}, 4);
  expect_product(30, 49, {.form = SparseRtForm::baked, .rows = 8, .threads = 32, .groups = 1}, 4);
  expect_product(32, 64, {.form = SparseRtForm::baked, .rows = 16, .threads = 32, .groups = 4}, 2);
  expect_product(40, 33, {.form = SparseRtForm::baked, .rows = 8, .threads = 64, .groups = 2}, 5, "sm_75");
  expect_product(48, 70, {.form = SparseRtForm::baked, .rows = 8, .groups = 3, .order = SparseRtOrder::dealt},
                 6);
}

// Where rows of the last block are missing, a piece has no branch for them: its block is known.
TEST(PiecedKernels, PiecesKnowTheirRows) {
  const Schedule schedule =
      sparsert(spmm_algorithm(30, 40, 64, DType::f32), weights_of(30, 40, 0.8), target_named("sm_80"),
               {.form = SparseRtForm::baked, .rows = 8, .threads = 32, .groups = 1});
  const auto pieced = make_in_pieces(as_ptx(schedule).lowered(), schedule.target(), false, cut_all);
  ASSERT_TRUE(pieced.has_value());
  const std::size_t first = pieced->ptx.find("\n.visible .func "), entry = pieced->ptx.find(".entry");
  ASSERT_LT(first, entry);
  EXPECT_EQ(pieced->ptx.substr(first, entry - first).find("setp"), std::string::npos);
}

TEST(PiecedKernels, Convolutions) {
  const Convolution c{.channels = 5, .filters = 12, .image = {9, 8}, .filter = {3, 3}, .pad = {1, 1}};
  WeightMatrix matrix = synthetic_layer({.rows = 12, .columns = 45, .sparsity = 0.7, .seed = 2});
  matrix.shape = {12, 5, 3, 3};
  const auto weights = std::make_shared<const SparseTensor>(pack(matrix, formats::csr()));
  Array b = random_array(DType::f32, {1, 5, 9, 8}, 7);
  Array out(DType::f32, {1, 12, 9, 8});
  for (const SparseRtImage image : {SparseRtImage::staged, SparseRtImage::clamped}) {
    const SparseRtKnobs knobs{.form = SparseRtForm::baked, .rows = 4, .groups = 2, .image = image};
    expect_same_when_cut(
        sparsert(convolution_algorithm(c, DType::f32), weights, target_named("sm_80"), knobs), 3,
        Arguments{{{"B", &b}, {"C", &out}}, {}});
  }
}

TEST(PiecedKernels, WhatIsNotCut) {
  const auto cut = [](std::int64_t rows, const SparseRtKnobs& knobs,
                      const llvm_backend::PieceLimits& limits) {
    const Schedule schedule = sparsert(spmm_algorithm(rows, 40, 64, DType::f32), weights_of(rows, 40, 0.8),
                                       target_named("sm_80"), knobs);
    return llvm_backend::cut_into_pieces(as_ptx(schedule).lowered(), limits).has_value();
  };
  const SparseRtKnobs four{.form = SparseRtForm::baked, .rows = 8, .groups = 2};
  EXPECT_TRUE(cut(32, four, cut_all));
  EXPECT_FALSE(cut(32, four, {}));
  EXPECT_FALSE(cut(32, four, {.smallest_program = 0, .smallest_piece = 100'000}));
  EXPECT_FALSE(cut(8, four, cut_all)) << "all blocks run the same code";
  EXPECT_FALSE(cut(32, {.form = SparseRtForm::row_per_warp}, cut_all));
}

TEST(PiecedKernels, AreLinkedByTheToolkit) {
  if (!cuda::can_link()) GTEST_SKIP() << "[SKIP] " << cuda::toolkit().nvlink.reason;
  for (const char* target : {"sm_75", "sm_80", "sm_90a"}) {
    const Schedule schedule =
        sparsert(spmm_algorithm(64, 96, 196, DType::f32), weights_of(64, 96, 0.9), target_named(target),
                 {.form = SparseRtForm::baked, .rows = 16, .threads = 64, .groups = 8});
    const ThreadProgram program = as_ptx(schedule).lowered();
    const auto pieced = make_in_pieces(program, target_named(target), true, cut_all);
    ASSERT_TRUE(pieced.has_value() && pieced->assembled.has_value());
    const auto& assembled = pieced->assembled;
    EXPECT_TRUE(assembled->cubin.starts_with("\177ELF"));
    EXPECT_NE(assembled->cubin.find("spmm_piece_3"), std::string::npos);
    const cuda::FunctionResources* kernel = assembled->report.find("spmm");
    ASSERT_NE(kernel, nullptr);
    EXPECT_GT(kernel->registers, 16);
    EXPECT_LE(kernel->registers, 128) << "of 512 threads";
    EXPECT_EQ(assembled->report.worst().spill_load_bytes, 0U);
    EXPECT_FALSE(make_in_pieces(program, target_named(target), true).has_value()) << "a short one";
    cuda::AssembleOptions options;
    options.architecture = target;
    EXPECT_TRUE(cuda::assemble(pieced->ptx, options).cubin.starts_with("\177ELF")) << "one text";
  }
}

/// Long enough to be cut by itself; the text is the same where nothing is assembled.
TEST(PiecedKernels, LongKernelsAreCutBeforeTheyAreAssembled) {
  if (!cuda::can_link()) GTEST_SKIP() << "[SKIP] " << cuda::toolkit().nvlink.reason;
  const Schedule schedule =
      sparsert(spmm_algorithm(256, 512, 196, DType::f32), weights_of(256, 512, 0.9), target_named("sm_90a"),
               {.form = SparseRtForm::baked, .rows = 16, .threads = 64, .groups = 8});
  const Kernel kernel = compile(schedule);
  EXPECT_NE(kernel.cubin().find("spmm_piece_1"), std::string::npos);
  ASSERT_TRUE(kernel.resources().has_value());
  EXPECT_GT(kernel.resources()->registers, 32);
  EXPECT_NE(kernel.ptx().find(".func spmm_piece_1("), std::string::npos);
  EXPECT_TRUE(kernel.ptx() == as_ptx(schedule).ptx());
}

}  // namespace
}  // namespace weft
