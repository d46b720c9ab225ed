// transpose and align: operands that the caller has the other way round, or whose rows begin anywhere, copied
// by launches of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/kernel.h>
#include <weft/dsl/assignment.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/cpu/cpu_blocks.h>
#include <weft/scheduler/recipes/cpu/cpu_code.h>
#include <weft/scheduler/recipes/cpu/cpu_groups.h>
#include <weft/scheduler/recipes/cpu/cpu_rows.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/problem_summary.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <string_view>

#include "formats/generated_matrices.h"

namespace weft {
namespace {

using testing::HasSubstr;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

struct Sizes {
  std::int64_t m, n, k;
  bool open = false;  ///< n is told by the launch
};

/// Y[n, m] = X[n, k] W[m, k], or with one of both in the other order.
template <class T>
Algorithm linear(const Sizes& sizes, bool input_across = true, bool output_across = true) {
  const Extent columns = sizes.open ? Extent::any("N") : Extent(sizes.n);
  const Tensor<T, 2, sparse> w("W", {sizes.m, sizes.k});
  const Tensor<T, 2> rows("X", {columns, sizes.k}), features("X", {sizes.k, columns});
  const Tensor<T, 2> y("Y", {columns, sizes.m}), z("Y", {sizes.m, columns});
  if (!input_across) return algorithm("linear", y(n, m) = sum(k, w(m, k) * features(k, n)));
  if (!output_across) return algorithm("linear", z(m, n) = sum(k, w(m, k) * rows(n, k)));
  return algorithm("linear", y(n, m) = sum(k, w(m, k) * rows(n, k)));
}

std::shared_ptr<const SparseTensor> weights_in(const std::string& format, const Sizes& sizes, DType dtype) {
  const Format parsed = parse_format(format);
  const WeightMatrix layer =
      synthetic_layer({.rows = sizes.m, .columns = sizes.k, .sparsity = 0.6, .dtype = dtype, .seed = 4});
  return std::make_shared<const SparseTensor>(pack(fitted(layer, parsed), parsed));
}

void expect_right(const Schedule& schedule, std::int64_t columns, const KernelOptions& options = {}) {
  SCOPED_TRACE(schedule.cpp());
  std::map<std::string, Array> arrays;
  Arguments arguments;
  for (const Operand& operand : schedule.algorithm().operands) {
    if (operand.storage == Storage::sparse) continue;
    std::vector<std::int64_t> shape;
    for (const Extent& extent : operand.shape) shape.push_back(extent.is_static() ? extent.value : columns);
    arguments.tensors[operand.name] =
        &arrays.emplace(operand.name, random_array(operand.dtype, shape, 3, RandomValues::small_integers))
             .first->second;
  }
  KernelOptions without_assembler = options;
  without_assembler.assemble = false;
  const Kernel kernel = compile(schedule, without_assembler);
  const bool on_cpu = options.by_meaning || !schedule.target().is_gpu();
  const Device device = on_cpu ? Device::cpu() : Device::simulator(schedule.target().name);
  const Verification found = verify(kernel, device, arguments);
  EXPECT_TRUE(found.passed) << found.text();
}

void expect_right_everywhere(const Schedule& schedule, std::int64_t columns) {
  expect_right(schedule, columns);
  expect_right(schedule, columns, {.by_meaning = true});
  if (cuda::compiler_status().found()) expect_right(schedule, columns, {.emitter = Emitter::cuda});
}

/// A thread a column, which reads what lies beside what its neighbour reads.
Schedule by_columns(const Algorithm& algorithm, const Sizes& sizes, DType dtype) {
  Schedule s = schedule(algorithm, weights_in("csr", sizes, dtype), target_named("sm_80"));
  std::vector<TensorAccess> accesses = algorithm.factors;
  accesses.push_back(algorithm.output);
  for (const TensorAccess& access : accesses)
    if (*access.indices.front().plain() == "n") s.transpose(algorithm.operands[access.operand].name);
  const auto [columns, column] = s.split(n, 32);
  return s.reorder(m, columns, column, k).bind(m, block_y).bind(columns, block_x).bind(column, thread);
}

TEST(Transpose, OddSizesOfBothSidesAreRight) {
  for (const Sizes& sizes : {Sizes{12, 10, 20}, Sizes{5, 65, 129}, Sizes{70, 200, 64}, Sizes{9, 2, 1}}) {
    expect_right_everywhere(by_columns(linear<f32>(sizes), sizes, DType::f32), sizes.n);
    expect_right(by_columns(linear<f32>(sizes, true, false), sizes, DType::f32), sizes.n);
    expect_right(by_columns(linear<f32>(sizes, false, true), sizes, DType::f32), sizes.n);
    expect_right(by_columns(linear<f16>(sizes), sizes, DType::f16), sizes.n);
  }
}

TEST(Transpose, TakesSizesThatALaunchTells) {
  const Sizes sizes{12, 0, 70, true};
  const Schedule s = by_columns(linear<f32>(sizes), sizes, DType::f32);
  for (const std::int64_t columns : {1, 63, 64, 130}) expect_right_everywhere(s, columns);
}

TEST(Transpose, IsALaunchOfItsOwn) {
  const Sizes sizes{12, 100, 70};
  const Kernel kernel = compile(by_columns(linear<f32>(sizes), sizes, DType::f32), {.assemble = false});
  EXPECT_EQ(kernel.lowered().ahead.size(), 1U);
  EXPECT_EQ(kernel.lowered().behind.size(), 1U);
  for (const char* entry : {".entry linear(", ".entry linear_transpose_0(", ".entry linear_transpose_1("})
    EXPECT_THAT(kernel.ptx(), HasSubstr(entry));
  EXPECT_THAT(kernel.explain(), HasSubstr("ahead of it, X becomes X.transposed: 4 blocks of 256 threads"));
  EXPECT_THAT(kernel.explain(), HasSubstr("behind it, Y.transposed becomes Y"));
  EXPECT_THAT(kernel.program_text(), HasSubstr("transposed ahead of it: X"));
  // What leaves the tile are vectors.
  const std::string& ptx = kernel.ptx();
  EXPECT_THAT(ptx.substr(ptx.find(".entry linear_transpose_0(")), HasSubstr("st.global.v4"));
}

TEST(Transpose, RecipesOfGpusBeginWithIt) {
  const Sizes sizes{64, 72, 96}, odd{70, 33, 100};
  for (const Sizes& each : {sizes, odd}) {
    expect_right(sparsert(linear<f32>(each), weights_in("csr", each, DType::f32), target_named("sm_80")),
                 each.n);
    expect_right(sparsert(linear<f32>(each), weights_in("csr", each, DType::f32), target_named("sm_80"),
                          {.form = SparseRtForm::streaming}),
                 each.n);
    for (const char* target : {"sm_80", "sm_90a"}) {
      expect_right(
          shfl_bw(linear<f16>(each), weights_in("shfl_bw:V=32", each, DType::f16), target_named(target)),
          each.n);
      expect_right(v_n_m(linear<f16>(each), weights_in("n_m", each, DType::f16), target_named(target)),
                   each.n);
    }
  }
  const Schedule s =
      shfl_bw(linear<f16>(sizes), weights_in("shfl_bw:V=32", sizes, DType::f16), target_named("sm_90a"));
  EXPECT_EQ(s.steps()[0].cpp(), ".transpose(\"X\")");
  EXPECT_NE(s.steps()[1].name, "transpose");
}

/// The kernel writes a few results across by itself.
TEST(Transpose, ManyResultsAreTransposed) {
  const Sizes many{2049, 96, 20};
  const auto expect_both = [&](const Schedule& s) {
    EXPECT_EQ(s.steps()[0].cpp(), ".transpose(\"X\")");
    EXPECT_EQ(s.steps()[1].cpp(), ".transpose(\"Y\")");
    expect_right(s, many.n);
  };
  expect_both(sparsert(linear<f32>(many), weights_in("csr", many, DType::f32), target_named("sm_80")));
  for (const char* target : {"sm_80", "sm_90a"}) {
    expect_both(
        shfl_bw(linear<f16>(many), weights_in("shfl_bw:V=32", many, DType::f16), target_named(target)));
    expect_both(
        v_n_m(linear<f16>(many), weights_in("v_n_m:V=32,M=8", many, DType::f16), target_named(target)));
  }
}

/// Two of four keep every column where it is: tiles of X [n, k] have lines along k, by warps and warpgroups,
/// with roles and without, whether or not tiles end where the product does. Rows of X that are no whole runs
/// are transposed.
TEST(Transpose, TwoOfFourTakesRowsAsTheyLie) {
  const auto expect_as_it_lies = [](const Sizes& sizes, const char* target, const ShflBwKnobs& knobs,
                                    const char* text) {
    const auto weights = weights_in("n_m", sizes, DType::f16);
    const Schedule s = v_n_m(linear<f16>(sizes), weights, target_named(target), knobs);
    EXPECT_NE(s.steps()[0].cpp(), ".transpose(\"X\")");
    EXPECT_THAT(compile(s, {.assemble = false}).ptx(), HasSubstr(text));
    expect_right(s, sizes.n);
  };
  constexpr const char *by_lines = "m8n8.x4.shared", *by_depth = "add, 1, 1, 0, 0;";
  for (const Sizes& sizes : {Sizes{64, 72, 128}, Sizes{70, 33, 200}}) {
    expect_as_it_lies(sizes, "sm_80", {}, by_lines);
    expect_as_it_lies(sizes, "sm_80", {.tile_k = 128, .warp_n = 16}, by_lines);
    expect_as_it_lies(sizes, "sm_90a", {.tile_m = 64, .producers = 0}, by_depth);
  }
  for (const std::int64_t columns : {128, 300})
    expect_as_it_lies({152, columns, 200}, "sm_90a",
                      {.tile_m = 128, .tile_n = 128, .producers = 4, .blocks = 3}, by_depth);
  // What is expected of a kernel counts no transposing then, and does where columns are looked up.
  const Sizes even{64, 72, 128};
  for (const char* format : {"n_m", "v_n_m:V=32,M=4"}) {
    const Schedule s = v_n_m(linear<f16>(even), weights_in(format, even, DType::f16), target_named("sm_80"));
    ProblemSummary summary{.m = even.m, .k = even.k};
    add_format(summary, parse_format(format));
    add_algorithm(summary, linear<f16>(even));
    EXPECT_EQ(summary.reads_runs_of_the_sum(), s.steps()[0].cpp() != ".transpose(\"X\")") << format;
  }
  const Sizes open{70, 0, 200, true};
  for (const char* target : {"sm_80", "sm_90a"}) {
    const Schedule any = v_n_m(linear<f16>(open), weights_in("n_m", open, DType::f16), target_named(target));
    EXPECT_THAT(any.cpp(), testing::Not(HasSubstr(".transpose(\"X\")")));
    for (const std::int64_t columns : {1, 33, 130}) expect_right(any, columns);
  }
  const Sizes odd{70, 33, 100};
  const Schedule s = v_n_m(linear<f16>(odd), weights_in("n_m", odd, DType::f16), target_named("sm_80"));
  EXPECT_EQ(s.steps()[0].cpp(), ".transpose(\"X\")");
  expect_right(s, odd.n);
}

/// Lists of columns: producers gather a few rows of X as they lie, element by element, each warp its own
/// stages; more rows are transposed, unless a knob says otherwise.
TEST(Transpose, RowGroupsGatherFewRowsAsTheyLie) {
  const auto scheduled = [](const Sizes& sizes, const char* format, const ShflBwKnobs& knobs) {
    const auto weights = weights_in(format, sizes, DType::f16);
    const bool pairs = formats::keeps_two_of_four(weights->format());
    return pairs ? v_n_m(linear<f16>(sizes), weights, target_named("sm_90a"), knobs)
                 : shfl_bw(linear<f16>(sizes), weights, target_named("sm_90a"), knobs);
  };
  const auto transposes = [](const Schedule& s) {
    return s.cpp().find(".transpose(\"X\")") != std::string::npos;
  };
  for (const char* format : {"shfl_bw:V=64", "vector_wise:V=32", "v_n_m:V=64,M=8", "column_quads"}) {
    for (const Sizes& sizes : {Sizes{152, 1, 200}, Sizes{70, 7, 328}, Sizes{64, 16, 96}, Sizes{70, 9, 33}}) {
      const Schedule few = scheduled(sizes, format, {});
      EXPECT_FALSE(transposes(few)) << format;
      expect_right(few, sizes.n);
    }
    const Sizes wide{152, 33, 360};
    EXPECT_TRUE(transposes(scheduled(wide, format, {})));
    // One tile a block, several, parts of sums; several batches of elements; less than a warp of places.
    for (const ShflBwKnobs& knobs : {ShflBwKnobs{.tile_n = 64, .stages = 5, .blocks = 0},
                                     ShflBwKnobs{.tile_n = 32, .stages = 4, .blocks = 2},
                                     ShflBwKnobs{.tile_n = 64, .stages = 6, .groups = 2, .blocks = 0},
                                     ShflBwKnobs{.tile_n = 64, .stages = 7, .blocks = 3}}) {
      ShflBwKnobs by_elements = knobs;
      by_elements.producers = 4;
      by_elements.elements = 1;
      const Schedule s = scheduled(wide, format, by_elements);
      EXPECT_FALSE(transposes(s));
      expect_right(s, wide.n);
    }
  }
  const ShflBwKnobs few_places{.tile_n = 16, .tile_k = 16, .stages = 4, .producers = 4, .elements = 1};
  expect_right(scheduled({152, 9, 200}, "shfl_bw:V=64", few_places), 9);
  // A warp would come back to a buffer before it can tell that nobody has filled it since.
  const ShflBwKnobs few_buffers{.tile_n = 16, .stages = 3, .producers = 4, .elements = 1};
  try {
    scheduled({152, 9, 200}, "shfl_bw:V=64", few_buffers);
    FAIL() << "three buffers for four warps";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("3 buffers for 4 warps, of which each fills its own"));
    EXPECT_THAT(error.what(), HasSubstr("depth = 4 or more"));
  }
}

/// Rows that the format leaves in their order leave in runs; names of rows lie anywhere.
TEST(Transpose, KernelsOfRowGroupsWriteRunsOfRows) {
  for (const Sizes& sizes : {Sizes{2056, 96, 20}, Sizes{152, 37, 40}}) {
    for (const char* target : {"sm_80", "sm_90a"}) {
      for (const char* format : {"n_m", "vector_wise:V=32", "v_n_m:V=64,M=8"}) {
        const bool pairs = std::string_view(format).find("n_m") != std::string_view::npos;
        const auto weights = weights_in(format, sizes, DType::f16);
        const Schedule s = pairs ? v_n_m(linear<f16>(sizes), weights, target_named(target))
                                 : shfl_bw(linear<f16>(sizes), weights, target_named(target));
        const bool reads = std::string_view(format) == "n_m" && sizes.k % 8 == 0;
        EXPECT_EQ(s.steps()[0].cpp() == ".transpose(\"X\")", !reads);
        EXPECT_THAT(s.cpp(), testing::Not(HasSubstr(".transpose(\"Y\")")));
        EXPECT_THAT(compile(s, {.assemble = false}).ptx(), testing::ContainsRegex("st.global(.cs)?.v4"));
        expect_right(s, sizes.n);
      }
    }
  }
}

TEST(Transpose, RecipesOfCpusBeginWithIt) {
  const Target cpu = target_named("cpu");
  for (const Sizes& sizes : {Sizes{64, 48, 96}, Sizes{70, 33, 100}, Sizes{9, 2, 17}, Sizes{5, 130, 1}}) {
    for (const DType dtype : {DType::f32, DType::f16}) {
      const Algorithm product = dtype == DType::f32 ? linear<f32>(sizes) : linear<f16>(sizes);
      std::vector<Schedule> schedules{
          cpu_rows(product, weights_in("csr", sizes, dtype), cpu),
          cpu_groups(product, weights_in("column_vectors:V=4", sizes, dtype), cpu),
          cpu_blocks(product, weights_in("column_blocks:columns=32", sizes, dtype), cpu)};
      for (const Schedule& s : schedules) {
        EXPECT_EQ(s.steps()[0].cpp(), ".transpose(\"X\")");
        EXPECT_EQ(s.steps()[1].cpp(), ".transpose(\"Y\")");
        expect_right(s, sizes.n);
      }
      if (sizes.n < 16 || cpu.vector_bytes < 32) continue;
      // Copies of columns turn these themselves.
      const Schedule code = cpu_code(product, weights_in("csr", sizes, dtype), cpu, {.copy = CpuCopy::panel});
      EXPECT_EQ(code.steps()[0].cpp(), ".transpose(\"Y\")");
      expect_right(code, sizes.n);
    }
  }
  const Sizes open{64, 0, 40, true};
  const Schedule s = cpu_rows(linear<f32>(open), weights_in("csr", open, DType::f32), cpu);
  for (const std::int64_t columns : {1, 16, 63, 130}) expect_right(s, columns);
}

/// On a CPU vectors are of pixels: channels that lie beside one another become the outermost dimension.
TEST(Transpose, RecipesOfCpusHaveChannelsOutermost) {
  const Target cpu = target_named("cpu");
  for (const std::int64_t pixels : {9, 14, 33}) {
    for (const std::int64_t stride : {1, 2}) {
      const Convolution of_images{.batch = 3,
                                  .channels = 21,
                                  .filters = 37,
                                  .image = {6, pixels},
                                  .filter = {3, 3},
                                  .pad = {1, 1},
                                  .stride = {stride, stride},
                                  .layout = ImageLayout::nhwc};
      const Algorithm algorithm = convolution_algorithm(of_images, DType::f32, {.bias = true});
      const auto weights = std::make_shared<const SparseTensor>(
          pack(synthetic_layer({.rows = 37, .columns = 9 * 21, .sparsity = 0.8, .seed = 6}), formats::csr()));
      std::vector<Schedule> schedules{cpu_rows(algorithm, weights, cpu)};
      if (cpu.vector_bytes >= 32) schedules.push_back(cpu_code(algorithm, weights, cpu));
      for (const Schedule& s : schedules) {
        EXPECT_EQ(s.steps()[0].cpp(), ".transpose(\"B\")");
        EXPECT_EQ(s.steps()[1].cpp(), ".transpose(\"C\")");
        expect_right(s, 0);
      }
    }
  }
}

/// A thread a column, of rows that are filled up.
Schedule by_aligned_columns(const Algorithm& algorithm, const Sizes& sizes, DType dtype) {
  Schedule s = schedule(algorithm, weights_in("csr", sizes, dtype), target_named("sm_80"));
  s.align("X").align("Y");
  const auto [columns, column] = s.split(n, 32);
  return s.reorder(m, columns, column, k).bind(m, block_y).bind(columns, block_x).bind(column, thread);
}

TEST(Align, OddSizesOfBothSidesAreRight) {
  for (const Sizes& sizes : {Sizes{12, 10, 20}, Sizes{5, 65, 129}, Sizes{70, 200, 64}, Sizes{9, 1, 1}}) {
    expect_right_everywhere(by_aligned_columns(linear<f32>(sizes, false), sizes, DType::f32), sizes.n);
    expect_right(by_aligned_columns(linear<f16>(sizes, false), sizes, DType::f16), sizes.n);
  }
  const Sizes open{12, 0, 70, true};
  const Tensor<f32, 2, sparse> w("W", {open.m, open.k});
  const Tensor<f32, 2> x("X", {open.k, Extent::any("N")}), y("Y", {open.m, Extent::any("N")});
  const Schedule s =
      by_aligned_columns(algorithm("linear", y(m, n) = sum(k, w(m, k) * x(k, n))), open, DType::f32);
  for (const std::int64_t columns : {1, 63, 64, 130}) expect_right_everywhere(s, columns);
}

TEST(Align, RecipesOfRowGroupsBeginWithIt) {
  const Tensor<f16, 2, sparse> w("W", {70, 100});
  for (const std::int64_t columns : {1, 7, 33}) {
    const Sizes sizes{70, columns, 100};
    const Tensor<f16, 2> x("X", {100, columns}), y("Y", {70, columns});
    const Algorithm product = algorithm("product", y(m, n) = sum(k, w(m, k) * x(k, n)));
    for (const char* target : {"sm_80", "sm_90a"}) {
      const Schedule s =
          shfl_bw(product, weights_in("shfl_bw:V=32", sizes, DType::f16), target_named(target));
      EXPECT_EQ(s.steps()[0].cpp(), ".align(\"X\")");
      EXPECT_NE(s.steps()[1].name, "align");
      expect_right(s, columns);
      expect_right(v_n_m(product, weights_in("n_m", sizes, DType::f16), target_named(target)), columns);
    }
  }
  const Tensor<f16, 2> x("X", {100, 64}), y("Y", {70, 64});
  const Schedule whole =
      shfl_bw(algorithm("product", y(m, n) = sum(k, w(m, k) * x(k, n))),
              weights_in("shfl_bw:V=32", {70, 64, 100}, DType::f16), target_named("sm_80"));
  EXPECT_NE(whole.steps()[0].name, "align");
}

TEST(Align, ManyResultsAreAligned) {
  const Sizes many{16'000, 33, 16};
  const Tensor<f16, 2, sparse> w("W", {many.m, many.k});
  const Tensor<f16, 2> x("X", {many.k, many.n}), y("Y", {many.m, many.n});
  const Algorithm product = algorithm("product", y(m, n) = sum(k, w(m, k) * x(k, n)));
  for (const char* target : {"sm_80", "sm_90a"}) {
    const Schedule s = shfl_bw(product, weights_in("shfl_bw:V=32", many, DType::f16), target_named(target));
    EXPECT_EQ(s.steps()[1].cpp(), ".align(\"Y\")");
    expect_right(s, many.n);
  }
}

/// Images one behind the other, which tensor cores have innermost.
TEST(Transpose, ImagesOfBothLayoutsAreRight) {
  for (const ImageLayout layout : {ImageLayout::nchw, ImageLayout::nhwc}) {
    for (const std::int64_t stride : {1, 2}) {
      const Convolution of_images{.batch = 8,
                                  .channels = 12,
                                  .filters = 40,
                                  .image = {7, 9},
                                  .filter = {3, 3},
                                  .pad = {1, 1},
                                  .stride = {stride, stride},
                                  .layout = layout};
      const Algorithm algorithm = convolution_algorithm(of_images, DType::f16, {.bias = true});
      EXPECT_TRUE(transposes_images(algorithm));
      const Format format = parse_format("shfl_bw:V=16");
      WeightMatrix filter =
          synthetic_layer({.rows = 40, .columns = 9 * 12, .sparsity = 0.7, .dtype = DType::f16, .seed = 4});
      filter.shape = {40, 12, 3, 3};
      filter = fitted(filter, format);
      const auto weights = std::make_shared<const SparseTensor>(pack(filter, format));
      for (const char* target : {"sm_80", "sm_90a"}) {
        const Schedule s = shfl_bw(algorithm, weights, target_named(target));
        EXPECT_EQ(s.steps()[1].name, "transpose");
        expect_right(s, 0);
      }
    }
  }
}

/// Weights in the code have images innermost where channels were, these fill warps, and pixels of a line do
/// not.
TEST(Transpose, ImagesThatFillWarpsAreTheirLanes) {
  for (const std::int64_t size : {1, 3}) {
    const Convolution of_images{.batch = 32,
                                .channels = 6,
                                .filters = 10,
                                .image = {5, 7},
                                .filter = {size, size},
                                .pad = {size / 2, size / 2},
                                .stride = {size, 1},
                                .layout = ImageLayout::nhwc};
    const Algorithm algorithm = convolution_algorithm(of_images, DType::f32, {.bias = true});
    EXPECT_TRUE(images_fill_warps(algorithm));
    WeightMatrix filter =
        synthetic_layer({.rows = 10, .columns = size * size * 6, .sparsity = 0.6, .seed = 4});
    filter.shape = {10, 6, size, size};
    const auto weights = std::make_shared<const SparseTensor>(pack(filter, formats::csr()));
    for (const SparseRtKnobs& knobs :
         {SparseRtKnobs{}, SparseRtKnobs{.rows = 4, .lines = 2, .image = SparseRtImage::staged},
          SparseRtKnobs{.rows = 8, .groups = 2, .lines = 4, .image = SparseRtImage::clamped}}) {
      const Schedule s = sparsert(algorithm, weights, target_named("sm_80"), knobs);
      EXPECT_EQ(s.steps()[1].name, "transpose");
      expect_right(s, 0);
    }
  }
  const auto fill = [](std::int64_t batch, std::int64_t pixels, ImageLayout layout) {
    return images_fill_warps(convolution_algorithm(
        {.batch = batch, .channels = 4, .filters = 8, .image = {5, pixels}, .layout = layout}, DType::f32));
  };
  EXPECT_TRUE(fill(64, 14, ImageLayout::nhwc));
  EXPECT_FALSE(fill(16, 14, ImageLayout::nhwc));
  EXPECT_FALSE(fill(32, 32, ImageLayout::nhwc));
  EXPECT_FALSE(fill(64, 14, ImageLayout::nchw));
}

TEST(Transpose, ImagesThatAreFewOrInnermostStay) {
  const auto is_transposed = [](std::int64_t batch, ImageLayout layout) {
    return transposes_images(convolution_algorithm(
        {.batch = batch, .channels = 4, .filters = 8, .image = {5, 5}, .layout = layout}, DType::f16));
  };
  EXPECT_TRUE(is_transposed(16, ImageLayout::nchw));
  EXPECT_FALSE(is_transposed(7, ImageLayout::nchw));
  EXPECT_FALSE(is_transposed(1, ImageLayout::nhwc));
  EXPECT_FALSE(is_transposed(16, ImageLayout::chwn));
}

/// Chunks of the weights' columns stage the rows of the copy that they read.
TEST(Transpose, ChunksOfBakedWeightsReadTheirOwnRows) {
  const Sizes sizes{40, 70, 96};
  const Schedule s = sparsert(linear<f32>(sizes), weights_in("csr", sizes, DType::f32), target_named("sm_80"),
                              {.chunk = 32, .depth = 2});
  EXPECT_THAT(compile(s, {.assemble = false}).program_text(), HasSubstr("X.shared: f32[2, 32, "));
  expect_right(s, sizes.n);
}

TEST(Transpose, OneColumnLiesBesideItselfEitherWay) {
  const Sizes one{12, 1, 20};
  EXPECT_TRUE(operands_to_transpose(linear<f32>(one)).empty());
  EXPECT_EQ(operands_to_transpose(linear<f32>({12, 2, 20})), std::vector<std::string>{"X"});
  EXPECT_EQ(operands_to_transpose(linear<f32>({3 << 15, 2, 20})), (std::vector<std::string>{"X", "Y"}));
  EXPECT_EQ(operands_to_transpose(linear<f32>({3 << 15, 2, 20}, false)), std::vector<std::string>{"Y"});
}

}  // namespace
}  // namespace weft
