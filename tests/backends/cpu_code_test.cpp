// Weights in the code of a CPU: exact where numbers allow it, on sizes that nothing divides, by the assembly
// that sums have of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/backends/llvm/cpu.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/cpu/cpu_code.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/search/choice/choice.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>
#include <weft/search/spaces/space.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "support/exact_on_cpu.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Target& cpu() {
  return target_named("cpu");
}

/// That of another processor.
Target with_vectors(std::int64_t bytes) {
  Target target = cpu();
  target.vector_bytes = bytes;
  return target;
}

bool runs_here(const char* processor) {
  const auto names = llvm_backend::processors_of_this_machine();
  return std::ranges::find(names, processor) != names.end();
}

std::shared_ptr<const SparseTensor> packed(const WeightMatrix& weights) {
  return std::make_shared<const SparseTensor>(pack(weights, formats::csr()));
}

TEST(CpuCode, ProductsOfOddSizes) {
  const std::int64_t lanes = cpu().vector_bytes / 4;
  for (const std::int64_t columns :
       {lanes, lanes + 1, 2 * lanes - 1, 3 * lanes, std::int64_t{49}, std::int64_t{131}}) {
    for (const std::int64_t rows : {1, 13, 31, 32, 70})
      test::expect_exact_on_cpu(cpu_code(spmm_algorithm(rows, 57, columns, DType::f32),
                                         packed(test::small_integers(rows, 57)), cpu()));
  }
}

TEST(CpuCode, EveryPointOfASmallProduct) {
  const auto matrix = std::make_shared<const WeightMatrix>(test::small_integers(37, 61));
  // Whole vectors may stay where they lie.
  for (const std::int64_t columns : {83, 96}) {
    const Algorithm algorithm = spmm_algorithm(37, 61, columns, DType::f32);
    const Space space = space_of("cpu_code", {algorithm, matrix, formats::csr()}, cpu());
    const Points points = space.feasible();
    ASSERT_FALSE(points.empty());
    ASSERT_TRUE(space.usual());
    for (std::size_t i = 0; i < points.size(); ++i) test::expect_exact_on_cpu(space.schedule(points[i]));
  }
}

TEST(CpuCode, FewBlocksOfRowsReadColumnsWhereTheyLie) {
  const auto copies = [](std::int64_t rows, std::int64_t columns, const CpuCode& knobs = {}) {
    const Schedule schedule = cpu_code(spmm_algorithm(rows, 61, columns, DType::f32),
                                       packed(test::small_integers(rows, 61)), cpu(), knobs);
    return std::ranges::find(schedule.steps(), "stage", &Step::name) != schedule.steps().end();
  };
  EXPECT_FALSE(copies(40, 96));
  EXPECT_TRUE(copies(40, 97));
  EXPECT_TRUE(copies(400, 96));
  EXPECT_TRUE(copies(40, 96, {.copy = CpuCopy::panel}));
  EXPECT_TRUE(copies(40, 96, {.columns = 64}));
  EXPECT_THROW(copies(40, 96, {.columns = 64, .copy = CpuCopy::none}), UserError);
  EXPECT_THROW(copies(40, 97, {.copy = CpuCopy::none}), UserError);
  EXPECT_THROW(copies(40, 96, {.copy = CpuCopy::image}), UserError);
  // B[n, k] is transposed first; columns of rows that share few sets of a cache lie apart.
  const auto steps = [](std::int64_t inner, std::int64_t columns, ProductLayout layout) {
    return cpu_code(spmm_algorithm(40, inner, columns, DType::f32, {}, layout),
                    packed(test::small_integers(40, inner)), cpu())
        .cpp();
  };
  EXPECT_THAT(steps(61, 96, ProductLayout::kn), Not(HasSubstr("stage(")));
  EXPECT_THAT(steps(61, 96, ProductLayout::nk),
              AllOf(HasSubstr("transpose(\"B\")"), Not(HasSubstr("stage("))));
  EXPECT_THAT(steps(4096, 1 << 15, ProductLayout::kn), HasSubstr("stage("));
}

WeightMatrix filters_of(const Convolution& of) {
  return test::small_integers(of.filters, of.channels * of.filter[0] * of.filter[1]);
}

TEST(CpuCode, ConvolutionsOfOddSizes) {
  const Convolution usual{.channels = 5, .filters = 40, .image = {14, 17}, .filter = {3, 3}, .pad = {1, 1}};
  const auto changed = [&](const auto& change) {
    Convolution convolution = usual;
    change(convolution);
    return convolution;
  };
  const std::vector<Convolution> all{
      usual,
      changed([](Convolution& c) { c.image = {7, 7}; }),
      changed([](Convolution& c) {
        c.image = {9, 33};
        c.stride = {2, 2};
      }),
      changed([](Convolution& c) {
        c.image = {20, 40};
        c.stride = {1, 3};
        c.dilation = {2, 2};
      }),
      changed([](Convolution& c) {
        c.batch = 3;
        c.pad = {0, 2};
      }),
      changed([](Convolution& c) {
        c.filter = {5, 2};
        c.filters = 71;
      }),
      changed([](Convolution& c) {
        c.filter = {1, 1};
        c.pad = {0, 0};
      }),
      changed([](Convolution& c) {
        c.filter = {1, 1};
        c.pad = {0, 0};
        c.stride = {2, 2};
        c.batch = 2;
      }),
  };
  for (Convolution convolution : all) {
    for (const ImageLayout layout : {ImageLayout::nchw, ImageLayout::nhwc, ImageLayout::chwn}) {
      convolution.layout = layout;
      const Algorithm algorithm = convolution_algorithm(convolution, DType::f32, {.bias = true});
      const auto weights = packed(filters_of(convolution));
      if (!why_no_cpu_code(algorithm, weights->format(), 1, cpu()).empty()) continue;
      std::vector<std::int64_t> all_lines{0, 1};
      if (!cpu_nest(in_kernel_order(algorithm), weights->format(), cpu()).lines.empty())
        all_lines.push_back(3);
      for (const std::int64_t lines : all_lines)
        test::expect_exact_on_cpu(cpu_code(algorithm, weights, cpu(), {.lines = lines}));
      if (runs_here("x86-64-v3"))
        test::expect_exact_on_cpu(cpu_code(algorithm, weights, with_vectors(32)), {.processor = "x86-64-v3"});
    }
  }
}

/// What is read is widened, results are made of sums that wait in an array: sums that each type holds
/// exactly.
TEST(CpuCode, ValuesOfSixteenBits) {
  for (const auto& [dtype, inner] : {std::pair{DType::f16, 57}, {DType::bf16, 9}}) {
    for (const auto& [processor, bytes] : {std::pair{"x86-64-v4", 64}, {"x86-64-v3", 32}}) {
      if (!runs_here(processor)) continue;
      const Target target = with_vectors(bytes);
      const KernelOptions options{.processor = processor, .threads = 2};
      for (const std::int64_t columns : {16, 32, 49, 131}) {
        for (const std::int64_t rows : {13, 70})
          test::expect_exact_on_cpu(cpu_code(spmm_algorithm(rows, inner, columns, dtype),
                                             packed(test::small_integers(rows, inner, dtype)), target),
                                    options);
      }
      Convolution images{.batch = 2, .filters = 40, .image = {14, 17}, .filter = {3, 3}, .pad = {1, 1}};
      for (const ImageLayout layout : {ImageLayout::nchw, ImageLayout::nhwc}) {
        images.layout = layout;
        test::expect_exact_on_cpu(cpu_code(convolution_algorithm(images, dtype, {.bias = true}),
                                           packed(test::small_integers(40, 9, dtype)), target),
                                  options);
      }
    }
  }
}

TEST(CpuCode, PiecesOfSixteenBits) {
  const std::int64_t inner = 1500;  // more code of a block than the first cache holds
  Array dense = random_array(DType::f16, {62, inner}, 5, RandomValues::small_integers);
  for (std::int64_t i = 0; i < dense.size(); ++i) {
    if (i % 3 != 0) dense.set(i, 0);
  }
  const Kernel kernel = compile(
      cpu_code(spmm_algorithm(62, inner, 80, DType::f16), packed(from_dense(dense, "a third")), cpu()));
  EXPECT_THAT(kernel.assembly(), HasSubstr("weft_sum_3"));
  Array b = random_array(DType::f16, {inner, 80}, 7, RandomValues::small_integers), c(DType::f16, {62, 80});
  const Verification verified = verify(kernel, Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
  EXPECT_TRUE(verified.passed) << verified.text();
}

/// Vectors of which a launch or a loop outside says how many elements there are.
TEST(CpuCode, ResultsLeaveFromTheRegisters) {
  if (!runs_here("x86-64-v4")) GTEST_SKIP() << "[SKIP] no AVX-512";
  const WeightMatrix weights = test::small_integers(70, 64);
  for (const std::int64_t columns : {30, 48, 77, 200}) {
    const Kernel kernel = test::expect_exact_on_cpu(
        cpu_code(spmm_algorithm(70, 64, columns, DType::f32), packed(weights), with_vectors(64)),
        {.processor = "x86-64-v4"});
    EXPECT_THAT(kernel.assembly(), HasSubstr("{%k1}"));
  }
}

TEST(CpuCode, ImagesInPaddedCopiesHaveSumsOfTheirOwn) {
  if (!runs_here("x86-64-v4")) GTEST_SKIP() << "[SKIP] no AVX-512";
  const Convolution usual{.channels = 16, .filters = 40, .image = {14, 14}, .filter = {3, 3}, .pad = {1, 1}};
  for (const std::int64_t stride : {1, 2}) {
    Convolution convolution = usual;
    convolution.stride = {stride, stride};
    const Schedule schedule = cpu_code(convolution_algorithm(convolution, DType::f32),
                                       packed(filters_of(convolution)), with_vectors(64));
    const Kernel kernel = test::expect_exact_on_cpu(schedule, {.processor = "x86-64-v4"});
    // Seven pixels of a line are less than half a register.
    EXPECT_THAT(kernel.assembly(),
                HasSubstr(stride == 1 ? "{1to16}, %zmm31, %zmm0" : "{1to8}, %ymm31, %ymm0"));
  }
  Convolution narrow = usual;
  narrow.image = {5, 4};
  const Kernel kernel = test::expect_exact_on_cpu(
      cpu_code(convolution_algorithm(narrow, DType::f32), packed(filters_of(narrow)), with_vectors(64)),
      {.processor = "x86-64-v4"});
  EXPECT_THAT(kernel.assembly(), HasSubstr("{1to8}, %ymm31, %ymm0")) << "a line fills half of them";
}

TEST(CpuCode, VectorsOfImagesFillLanesThatLinesLeaveIdle) {
  if (!runs_here("x86-64-v4")) GTEST_SKIP() << "[SKIP] no AVX-512";
  const auto steps = [](const Convolution& of, const CpuCode& knobs = {}) {
    return cpu_code(convolution_algorithm(of, DType::f32), packed(filters_of(of)), with_vectors(64), knobs);
  };
  const Convolution usual{
      .batch = 16, .channels = 5, .filters = 40, .image = {7, 9}, .filter = {3, 3}, .pad = {1, 1}};
  EXPECT_THAT(steps(usual).cpp(), HasSubstr("transpose(\"C\")"));
  for (const std::int64_t batch : {16, 32}) {
    for (const std::int64_t stride : {1, 2}) {
      Convolution convolution = usual;
      convolution.batch = batch;
      convolution.stride = {1, stride};
      const Kernel kernel = test::expect_exact_on_cpu(
          steps(convolution, {.lines = stride, .vectors = CpuVectors::images}), {.processor = "x86-64-v4"});
      EXPECT_THAT(kernel.assembly(), HasSubstr("{1to16}, %zmm31, %zmm0"));
    }
  }
  const Algorithm halves = convolution_algorithm(usual, DType::f16, {.bias = true});
  test::expect_exact_on_cpu(cpu_code(halves, packed(test::small_integers(40, 45, DType::f16)),
                                     with_vectors(64), {.vectors = CpuVectors::images}),
                            {.processor = "x86-64-v4"});
  Convolution eight = usual;
  eight.batch = 8;
  test::expect_exact_on_cpu(cpu_code(convolution_algorithm(eight, DType::f32), packed(filters_of(eight)),
                                     with_vectors(32), {.vectors = CpuVectors::images}),
                            {.processor = "x86-64-v3"});
  // Lines of 16 pixels leave none idle; 8 images are no vector, and other layouts have vectors of their own.
  Convolution other = usual;
  other.image = {16, 16};
  EXPECT_THAT(steps(other).cpp(), Not(HasSubstr("transpose")));
  other = usual;
  other.batch = 8;
  EXPECT_THAT(steps(other).cpp(), Not(HasSubstr("transpose")));
  EXPECT_THROW(steps(other, {.vectors = CpuVectors::images}), UserError);
  other = usual;
  other.layout = ImageLayout::nhwc;
  EXPECT_THROW(steps(other, {.vectors = CpuVectors::images}), UserError);
}

TEST(CpuCode, CopiesTurnWhatTheyHoldOnce) {
  for (const ImageLayout layout : {ImageLayout::nchw, ImageLayout::nhwc, ImageLayout::chwn}) {
    Convolution points{
        .batch = 3, .channels = 37, .filters = 40, .image = {9, 11}, .filter = {1, 1}, .layout = layout};
    for (const std::int64_t stride : {1, 2}) {
      points.stride = {stride, stride};
      const auto algorithm = convolution_algorithm(points, DType::f32);
      const auto weights = packed(filters_of(points));
      if (!why_no_cpu_code(in_kernel_order(algorithm), weights->format(), 1, cpu()).empty()) continue;
      const Schedule schedule = cpu_code(algorithm, weights, cpu());
      EXPECT_THAT(schedule.cpp(), Not(HasSubstr("transpose(\"B\")")));
      test::expect_exact_on_cpu(schedule);
    }
  }
  const Schedule rows = cpu_code(spmm_algorithm(70, 61, 83, DType::f32, {}, ProductLayout::nk),
                                 packed(test::small_integers(70, 61)), cpu());
  EXPECT_THAT(rows.cpp(), Not(HasSubstr("transpose(\"B\")")));
  test::expect_exact_on_cpu(rows);
}

TEST(CpuCode, CopiesOfLinesLeaveRoomInTheSecondCache) {
  const Convolution images{.channels = 64, .filters = 64, .image = {56, 56}, .filter = {3, 3}, .pad = {1, 1}};
  const WeightMatrix weights = synthetic_layer({.rows = 64, .columns = 576, .sparsity = 0.9, .seed = 1});
  const auto steps = [&](std::int64_t second_cache) {
    Target target = with_vectors(64);
    target.second_cache_bytes = second_cache;
    target.threads = 1;
    return cpu_code(convolution_algorithm(images, DType::f32), packed(weights), target).cpp();
  };
  // A line of all channels is 16 KB, three times for the filter's columns, and two lines are read beyond.
  EXPECT_THAT(steps(512 << 10), HasSubstr("split(p = 7)"));
  EXPECT_THAT(steps(1 << 20), HasSubstr("split(p = 14)"));
  EXPECT_THAT(steps(2 << 20), HasSubstr("split(p = 19)"));
}

TEST(CpuCode, LinesThatLeaveARestGoThroughAPieceBeforeTheNextOne) {
  if (!runs_here("x86-64-v4")) GTEST_SKIP() << "[SKIP] no AVX-512";
  // Several pieces of code; five lines and then four of them, of two vectors each.
  const Convolution images{.channels = 40, .filters = 31, .image = {9, 19}, .filter = {3, 3}, .pad = {1, 1}};
  const Kernel kernel = test::expect_exact_on_cpu(
      cpu_code(convolution_algorithm(images, DType::f32), packed(test::small_integers(31, 360)),
               with_vectors(64), {.lines = 5}),
      {.processor = "x86-64-v4"});
  const std::string text = kernel.assembly();
  const std::size_t second = text.find("$weft_sum_1", text.find("parallel_body:"));
  ASSERT_NE(second, std::string::npos);
  EXPECT_EQ(text.find("$weft_sum_0", second), std::string::npos);
}

TEST(CpuCode, VectorsOfHalfARegister) {
  if (!runs_here("x86-64-v4")) GTEST_SKIP() << "[SKIP] no AVX-512";
  for (const auto& [dtype, inner] : {std::pair{DType::f32, 57}, {DType::f16, 57}, {DType::bf16, 9}}) {
    for (const std::int64_t columns : {16, 20, 57, 131}) {
      const Schedule schedule =
          cpu_code(spmm_algorithm(70, inner, columns, dtype), packed(test::small_integers(70, inner, dtype)),
                   with_vectors(64), {.lanes = 8});
      const Kernel kernel = test::expect_exact_on_cpu(schedule, {.processor = "x86-64-v4"});
      EXPECT_TRUE(kernel.assembly().find("{1to8}, %ymm31, %ymm") != std::string::npos);
    }
  }
}

/// Rows of the dense operand, 3120 columns of which are more than a second cache holds.
TEST(CpuCode, ColumnsThatStayWhereTheyLieAreFetchedBeforeTheirTurn) {
  if (!runs_here("x86-64-v4")) GTEST_SKIP() << "[SKIP] no AVX-512";
  const auto fetches = [](std::int64_t rows, std::int64_t inner, std::int64_t columns, const CpuCode& knobs) {
    const Schedule schedule = cpu_code(spmm_algorithm(rows, inner, columns, DType::f32),
                                       packed(test::small_integers(rows, inner)), with_vectors(64), knobs);
    const Kernel kernel = test::expect_exact_on_cpu(schedule, {.processor = "x86-64-v4", .threads = 2});
    const std::string text = kernel.assembly();
    std::int64_t count = 0;
    for (std::size_t at = text.find("prefetcht1"); at != std::string::npos;
         at = text.find("prefetcht1", at + 1))
      ++count;
    return count;
  };
  // Two blocks and three vectors: six calls, of two functions, share 203 rows of three lines each.
  EXPECT_EQ(fetches(61, 203, 3120, {.columns = 48}), 2 * ceil_divide(203, 6) * 3);
  // One block, whose code is two pieces or more.
  EXPECT_GE(fetches(31, 803, 784, {.columns = 112}), 803);
  EXPECT_EQ(fetches(61, 203, 3120, {.columns = 16}), 0) << "one vector at a time";
  EXPECT_EQ(fetches(61, 203, 2160, {.columns = 48}), 0) << "a second cache holds them";
  EXPECT_EQ(fetches(61, 203, 3120, {.columns = 48, .copy = CpuCopy::panel}), 0);
  EXPECT_EQ(fetches(5, 203, 3120, {.columns = 48}), 0) << "two entries of a column";
  EXPECT_EQ(fetches(8, 203, 3120, {.columns = 48}), 0)
      << "three of an operand that almost stays in the cache";
}

TEST(CpuCode, ResultsAndColumnsThatALaunchCounts) {
  const Epilogue epilogue{.bias = true, .activation = Activation::relu};
  test::expect_exact_on_cpu(cpu_code(spmm_algorithm(40, 33, 50, DType::f32, epilogue),
                                     packed(test::small_integers(40, 33)), cpu()));
  const Algorithm open = spmm_algorithm(40, 33, Extent::any("N"), DType::f32);
  for (const std::int64_t columns : {1, 16, 77})
    test::expect_exact_on_cpu(cpu_code(open, packed(test::small_integers(40, 33)), cpu()), {.threads = 1},
                              columns);
}

TEST(CpuCode, SumsAreAssemblyOfTheirOwn) {
  const Algorithm algorithm = spmm_algorithm(64, 128, 64, DType::f32);
  const WeightMatrix weights = test::small_integers(64, 128);
  if (runs_here("x86-64-v4")) {
    const Kernel wide = test::expect_exact_on_cpu(cpu_code(algorithm, packed(weights), with_vectors(64)),
                                                  {.processor = "x86-64-v4"});
    EXPECT_THAT(wide.assembly(), HasSubstr("{1to16}, %zmm31, %zmm0"));
  }
  if (runs_here("x86-64-v3")) {
    const Kernel narrow = test::expect_exact_on_cpu(cpu_code(algorithm, packed(weights), with_vectors(32)),
                                                    {.processor = "x86-64-v3"});
    EXPECT_THAT(narrow.assembly(), HasSubstr("vfmadd231ps\t%ymm15, %ymm14, %ymm0"));
  }
  if (runs_here("x86-64")) {
    const Kernel plain = test::expect_exact_on_cpu(cpu_code(algorithm, packed(weights), with_vectors(32)),
                                                   {.processor = "x86-64"});
    EXPECT_THAT(plain.assembly(), Not(HasSubstr("weft_sum_0")));
  }
}

TEST(CpuCode, ColumnsWithoutVectorsKeepTheirOwnSums) {
  const WeightMatrix weights = test::small_integers(20, 23);
  for (const std::int64_t columns : {3, 35}) {
    for (const std::int64_t tile : {1, 2, 16}) {
      for (const bool unrolled : {false, true}) {
        Schedule s(spmm_algorithm(20, 23, columns, DType::f32), packed(weights), cpu());
        const auto [rows, row] = s.split(LoopName("m"), 10);
        const auto [tiles, column] = s.split(LoopName("n"), tile);
        s.reorder(tiles, rows, row, "k", column);
        if (unrolled) s.unroll(column);
        s.stage("B", shared, at = tiles).bake_values(row);
        test::expect_exact_on_cpu(s);
      }
    }
  }
}

TEST(CpuCode, WhatIsNotFiniteGoesWhereItIsStored) {
  Array dense = random_array(DType::f32, {40, 48}, 5, RandomValues::small_integers);
  for (std::int64_t i = 0; i < dense.size(); i += 2) dense.set(i, 0);
  dense.set(48 * 3 + 1, std::numeric_limits<double>::infinity());
  dense.set(48 * 33 + 7, std::numeric_limits<double>::quiet_NaN());
  const WeightMatrix weights = from_dense(dense, "not finite");
  const Algorithm algorithm = spmm_algorithm(40, 48, 35, DType::f32);
  Array b = random_array(DType::f32, {48, 35}, 7, RandomValues::small_integers), c(DType::f32, {40, 35});
  b.set(35 * 4 + 2, std::numeric_limits<double>::infinity());
  const Verification verified = verify(compile(cpu_code(algorithm, packed(weights), cpu())), Device::cpu(),
                                       {{{"B", &b}, {"C", &c}}, {}});
  EXPECT_TRUE(verified.passed) << verified.text();
}

TEST(CpuCode, NoPageIsWritableAndExecutable) {
  const Kernel kernel = compile(
      cpu_code(spmm_algorithm(64, 128, 64, DType::f32), packed(test::small_integers(64, 128)), cpu()));
  std::ifstream maps("/proc/self/maps");
  std::size_t executable = 0;
  for (std::string line; std::getline(maps, line);) {
    const std::string rights = line.substr(line.find(' ') + 1, 3);
    EXPECT_NE(rights, "rwx") << line;
    executable += rights[2] == 'x' ? 1 : 0;
  }
  EXPECT_GT(executable, 0);
}

TEST(CpuCode, RefusesWhatItIsNotFor) {
  const auto reason = [](const Algorithm& algorithm, const WeightMatrix& weights, const Format& format,
                         const Target& target, const CpuCode& knobs = {}) -> std::string {
    try {
      cpu_code(algorithm, std::make_shared<const SparseTensor>(pack(weights, format)), target, knobs);
    } catch (const UserError& error) {
      return error.what();
    }
    return "nothing";
  };
  const WeightMatrix weights = test::small_integers(40, 33);
  const Algorithm product = spmm_algorithm(40, 33, 64, DType::f32);
  EXPECT_THAT(reason(product, weights, formats::ell(), cpu()), HasSubstr("formats::csr()"));
  EXPECT_THAT(reason(product, weights, formats::csr({.index = 16}), cpu()), HasSubstr("csr is enough"));
  EXPECT_EQ(reason(product, weights, parse_format("csr:index=32"), cpu()), "nothing");
  EXPECT_THAT(reason(product, weights, formats::csr(), target_named("sm_80")), HasSubstr("sm_80 is no CPU"));
  EXPECT_THAT(reason(product, weights, formats::csr(), with_vectors(8)), HasSubstr("vectors of 8 bytes"));
  EXPECT_THAT(reason(spmm_algorithm(40, 33, 7, DType::f32), weights, formats::csr(), cpu()),
              HasSubstr("7 columns"));
  EXPECT_THAT(reason(product, weights, formats::csr(), cpu(), {.rows = 32}), HasSubstr("rows = 32"));
  EXPECT_THAT(reason(product, weights, formats::csr(), with_vectors(64), {.columns = 24}),
              HasSubstr("a multiple of 16"));
  EXPECT_THAT(reason(product, weights, formats::csr(), with_vectors(64), {.lanes = 4}),
              HasSubstr("lanes = 4"));
  EXPECT_THAT(reason(product, weights, formats::csr(), with_vectors(32), {.lanes = 4}),
              HasSubstr("lanes = 4"));
  const Convolution narrow{.batch = 1, .channels = 3, .filters = 40, .image = {5, 5}, .filter = {3, 3}};
  EXPECT_THAT(reason(convolution_algorithm(narrow, DType::f32), test::small_integers(40, 27), formats::csr(),
                     with_vectors(64)),
              HasSubstr("3 pixels of a line"));
  EXPECT_THAT(reason(product, weights, formats::csr(), cpu(), {.lines = 2}),
              HasSubstr("columns in its place"));
  const Convolution usual{.batch = 1, .channels = 3, .filters = 40, .image = {16, 20}, .filter = {3, 3}};
  EXPECT_THAT(reason(convolution_algorithm(usual, DType::f32), test::small_integers(40, 27), formats::csr(),
                     with_vectors(64), {.columns = 32}),
              HasSubstr("lines in its place"));
  const WeightMatrix many = synthetic_layer({.rows = 2200, .columns = 2000, .sparsity = 0.05, .seed = 1});
  EXPECT_THAT(reason(spmm_algorithm(2200, 2000, 64, DType::f32), many, formats::csr(), cpu()),
              HasSubstr("at most 4000000 entries"));
}

TEST(CpuCode, IsChosenForProductsThatAreWorthIt) {
  const WeightMatrix weights = synthetic_layer({.rows = 512, .columns = 512, .sparsity = 0.8, .seed = 1});
  const Choice choice = choose(spmm_algorithm(512, 512, 256, DType::f32), weights, with_vectors(64));
  EXPECT_EQ(choice.first().recipe->name, "cpu_code") << choice.text();
  const Choice narrow = choose(spmm_algorithm(512, 512, 4, DType::f32), weights, with_vectors(64));
  EXPECT_EQ(narrow.first().recipe->name, "cpu_windows") << narrow.text();
}

}  // namespace
}  // namespace weft
