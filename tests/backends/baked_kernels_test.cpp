// Kernels with baked weights: the same bits as with weights in memory, by their meaning and as PTX.
#include <gtest/gtest.h>
#include <weft/backends/cuda/print_source.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

namespace weft {
namespace {

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);
WEFT_INDEX(f);
WEFT_INDEX(p);
WEFT_INDEX(q);

struct Knobs {
  std::int64_t rows = 8;     ///< rows of a block
  std::int64_t warps = 1;    ///< warps, each with so many rows
  std::int64_t columns = 1;  ///< columns of a thread
  bool staged = false;
};

/// The schedule of a kernel engineer, up to the step or with it.
Schedule scheduled(const Algorithm& algorithm, const std::shared_ptr<const SparseTensor>& weights,
                   const Knobs& knobs, bool baked) {
  Schedule s = schedule(algorithm, weights, target_named("sm_80"));
  s.split(m = knobs.rows * knobs.warps, n = 32 * knobs.columns)
      .split(m.inner = knobs.rows)
      .split(n.inner = 32)
      .reorder(n.outer, m.outer, m.inner.outer, n.inner.inner, m.inner.inner, k, n.inner.outer)
      .bind(n.outer, block_x)
      .bind(m.outer, block_y);
  if (knobs.staged) s.stage("B", shared, at = m.outer);
  s.bind(m.inner.outer, warp).bind(n.inner.inner, lane);
  if (baked) s.bake_values(m.inner.inner);
  return s;
}

Kernel compiled(const Schedule& schedule, bool by_meaning) {
  KernelOptions options;
  options.by_meaning = by_meaning;
  options.assemble = false;
  return compile(schedule, options);
}

/// Runs three kernels into poisoned outputs; their bits agree.
void expect_same_bits(const Schedule& plain, const Schedule& baked, std::map<std::string, Array> arrays,
                      const std::map<std::string, double>& scalars) {
  const Array before = arrays.at("C");
  const auto run = [&](const Schedule& schedule, bool by_meaning) {
    arrays["C"] = before;
    Arguments arguments;
    for (auto& [name, array] : arrays) arguments.tensors[name] = &array;
    arguments.scalars = scalars;
    compiled(schedule, by_meaning)(by_meaning ? Device::cpu() : Device::simulator("sm_80"), arguments);
    return arrays.at("C");
  };
  const Array expected = run(plain, true);
  const Array meant = run(baked, true);
  const Array simulated = run(baked, false);
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double wanted = expected.get(i);
    for (const Array* got : {&meant, &simulated}) {
      const double value = got->get(i);
      const bool same = std::isnan(wanted) ? std::isnan(value)
                                           : value == wanted && std::signbit(value) == std::signbit(wanted);
      ASSERT_TRUE(same) << (got == &meant ? "by meaning" : "simulated") << " element " << i << ": " << value
                        << " for " << wanted;
    }
  }
}

TEST(BakedKernels, OddShapesHaveTheBitsOfTheProgramTheyCameFrom) {
  struct Case {
    std::int64_t rows, inner, columns;
    double sparsity;
    Knobs knobs;
  };
  for (const Case& each :
       {Case{13, 37, 33, 0.8, {}}, Case{1, 1, 1, 0.0, {.rows = 1}}, Case{7, 50, 49, 0.9, {.rows = 16}},
        Case{40, 19, 70, 0.95, {.rows = 3, .warps = 2}}, Case{17, 23, 129, 0.7, {.rows = 4, .columns = 2}},
        Case{9, 12, 100, 0.5, {.rows = 5, .warps = 2, .columns = 3}},
        Case{21, 16, 64, 0.8, {.rows = 8, .columns = 2, .staged = true}}, Case{5, 8, 31, 1.0, {.rows = 2}}}) {
    const WeightMatrix matrix =
        synthetic_layer({.rows = each.rows, .columns = each.inner, .sparsity = each.sparsity, .seed = 5});
    const auto weights = std::make_shared<const SparseTensor>(pack(matrix, formats::csr()));
    for (const bool open : {false, true}) {
      if (open && each.knobs.columns > 1 && each.knobs.staged) continue;
      const Algorithm algorithm =
          spmm_algorithm(each.rows, each.inner, open ? Extent::any("N") : Extent(each.columns), DType::f32);
      SCOPED_TRACE(algorithm.text());
      expect_same_bits(scheduled(algorithm, weights, each.knobs, false),
                       scheduled(algorithm, weights, each.knobs, true),
                       {{"B", random_array(DType::f32, {each.inner, each.columns}, 3)},
                        {"C", Array(DType::f32, {each.rows, each.columns})}},
                       {});
    }
  }
}

/// Beyond 4,000 statements the PTX is made in another, cheaper way.
TEST(BakedKernels, LongOnesHaveTheseBitsToo) {
  const WeightMatrix matrix = synthetic_layer({.rows = 61, .columns = 80, .sparsity = 0.5, .seed = 5});
  const auto weights = std::make_shared<const SparseTensor>(pack(matrix, formats::csr()));
  const Algorithm algorithm = spmm_algorithm(61, 80, 64, DType::f32);
  const Knobs knobs{.rows = 8, .columns = 2, .staged = true};
  const Schedule baked = scheduled(algorithm, weights, knobs, true);
  expect_same_bits(scheduled(algorithm, weights, knobs, false), baked,
                   {{"B", random_array(DType::f32, {80, 64}, 3)}, {"C", Array(DType::f32, {61, 64})}}, {});
  EXPECT_EQ(compiled(baked, false).ptx().find(".local"), std::string::npos);
}

TEST(BakedKernels, EveryFormatWithRowsOutermost) {
  const WeightMatrix matrix = synthetic_layer({.rows = 14, .columns = 22, .sparsity = 0.7, .seed = 6});
  const Algorithm algorithm = spmm_algorithm(14, 22, 40, DType::f32);
  const auto packed = [&](const Format& format) {
    return std::make_shared<const SparseTensor>(pack(matrix, format));
  };
  for (const Format& format : {formats::ell(), formats::dense()}) {
    SCOPED_TRACE(format.text());
    Schedule plain = schedule(algorithm, packed(format), target_named("sm_80"));
    plain.split(m = 4).bind(m.outer, block_y).bind(n, thread);
    Schedule baked = plain;
    baked.bake_values(m.inner);  // the loop over columns stands inside and moves out
    expect_same_bits(plain, baked,
                     {{"B", random_array(DType::f32, {22, 40}, 3)}, {"C", Array(DType::f32, {14, 40})}}, {});
  }
}

TEST(BakedKernels, EpiloguesAreThoseOfEveryRowTheEmptyOnesToo) {
  Epilogue epilogue;
  epilogue.alpha = epilogue.beta = epilogue.bias = true;
  for (const Activation activation :
       {Activation::none, Activation::relu, Activation::gelu, Activation::silu}) {
    epilogue.activation = activation;
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      // Rows 0, 3 and 6 are empty, and so are columns 0 to 2.
      const WeightMatrix matrix =
          from_coordinates(7, 9, {1, 1, 2, 4, 5, 5}, {3, 8, 4, 3, 5, 7},
                           random_array(DType::f32, {6}, 9).converted(dtype), "by hand");
      const auto weights = std::make_shared<const SparseTensor>(pack(matrix, formats::csr()));
      const Algorithm algorithm = spmm_algorithm(7, 9, 37, dtype, epilogue);
      const Knobs knobs{.rows = 2, .columns = 2};
      expect_same_bits(scheduled(algorithm, weights, knobs, false),
                       scheduled(algorithm, weights, knobs, true),
                       {{"B", random_array(dtype, {9, 37}, 3)},
                        {"C", random_array(dtype, {7, 37}, 4)},
                        {"bias", random_array(dtype, {7}, 5)}},
                       {{"alpha", 0.5}, {"beta", -2}});
    }
  }
}

TEST(BakedKernels, NothingIsRoundedDroppedOrLeaks) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values{1e-30F, 1e-42F, -0.0F, 0.0F, 3.4e38F, -1.1754942e-38F, infinity, 1.0F / 3};
  const WeightMatrix matrix = from_coordinates(8, 6, {0, 1, 2, 3, 4, 5, 6, 7}, {1, 1, 1, 1, 4, 4, 4, 4},
                                               Array::of(values), "by hand");
  ASSERT_EQ(matrix.stored(), 8);
  const auto weights = std::make_shared<const SparseTensor>(pack(matrix, formats::csr()));
  const Algorithm algorithm = spmm_algorithm(8, 6, 33, DType::f32);
  Array b(DType::f32, {6, 33});
  for (std::int64_t i = 0; i < b.size(); ++i) {
    const std::int64_t row = i / 33;
    // Rows without an entry of the weights must not be read; 1e-3 makes subnormal products.
    b.set(i, row == 1 || row == 4 ? (i % 3 == 0 ? 1 : i % 3 == 1 ? 1e-3 : -7) : i % 2 == 0 ? infinity : nan);
  }
  b.set(33 + 5, infinity);  // beside a stored zero: NaN, as in the program
  const Knobs knobs{.rows = 4};
  const Schedule baked = scheduled(algorithm, weights, knobs, true);
  expect_same_bits(scheduled(algorithm, weights, knobs, false), baked,
                   {{"B", b}, {"C", Array(DType::f32, {8, 33})}}, {});
  Array c(DType::f32, {8, 33});
  Arguments arguments{{{"B", &b}, {"C", &c}}, {}};
  compiled(baked, false)(Device::simulator("sm_80"), arguments);
  const auto at_column = [&](std::int64_t row, std::int64_t column) { return c.get(row * 33 + column); };
  EXPECT_EQ(at_column(0, 0), static_cast<double>(1e-30F));
  EXPECT_EQ(at_column(1, 0), static_cast<double>(1e-42F));
  EXPECT_TRUE(std::isnan(at_column(2, 5)));
  EXPECT_TRUE(std::isnan(at_column(3, 5)));
  EXPECT_FALSE(std::isnan(at_column(7, 7)));
}

TEST(BakedKernels, Convolutions) {
  Convolution c;
  c.batch = 2;
  c.channels = 3;
  c.filters = 5;
  c.image = {9, 7};
  c.filter = {3, 3};
  c.pad = {2, 1};
  c.stride = {2, 1};
  c.dilation = {1, 2};
  WeightMatrix matrix = synthetic_layer({.rows = 5, .columns = 27, .sparsity = 0.7, .seed = 12});
  matrix.shape = {5, 3, 3, 3};
  for (const ImageLayout layout : {ImageLayout::nchw, ImageLayout::nhwc}) {
    c.layout = layout;
    const auto [height, width] = c.output();
    const bool last = layout == ImageLayout::nhwc;
    Schedule plain =
        schedule(convolution_algorithm(c, DType::f32), pack(matrix, formats::csr()), target_named("sm_80"));
    plain.split(f = 2).bind(f.outer, block_y).bind(p, block_x).bind(q, lane);
    Schedule baked = plain;
    baked.bake_values(f.inner);
    using Shape = std::vector<std::int64_t>;
    expect_same_bits(
        plain, baked,
        {{"B", random_array(DType::f32, last ? Shape{2, 9, 7, 3} : Shape{2, 3, 9, 7}, 3)},
         {"C", Array(DType::f32, last ? Shape{2, height, width, 5} : Shape{2, 5, height, width})}},
        {});
  }
}

TEST(BakedKernels, OnTheCpuWithVectors) {
  const auto weights = std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = 19, .columns = 30, .sparsity = 0.8, .seed = 4}), formats::csr()));
  Schedule s = schedule(spmm_algorithm(19, 30, 77, DType::f32), weights, target_named("cpu"));
  s.tile(m = 4, n = 32).reorder(m.outer, n.outer, m.inner, k, n.inner).vectorize(n.inner).parallel(m.outer);
  s.bake_values(m.inner);
  Array b = random_array(DType::f32, {30, 77}, 3);
  Array c(DType::f32, {19, 77});
  const Verification verification = verify(compile(s), Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
  EXPECT_TRUE(verification.passed) << verification.text();
}

/// Elements of a vector that choose between code of their own are done one after the other where that code
/// makes registers.
TEST(BakedKernels, OnTheCpuWithRowsAsVectors) {
  const auto weights = std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = 9, .columns = 12, .sparsity = 0.1, .seed = 4}), formats::csr()));
  Schedule s = schedule(spmm_algorithm(9, 12, 7, DType::f32), weights, target_named("cpu"));
  s.tile(n = 4, k = 32).bake_values(n.outer).vectorize(m).unroll(n.outer).stage("B", registers, at = n.inner);
  Array b = random_array(DType::f32, {12, 7}, 3);
  Array c(DType::f32, {9, 7});
  const Verification verification = verify(compile(s), Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
  EXPECT_TRUE(verification.passed) << verification.text();
}

TEST(BakedKernels, TextsHaveImmediatesAndNoWeights) {
  const auto weights = std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = 32, .columns = 30, .sparsity = 0.8, .seed = 4}), formats::csr()));
  const Schedule s = scheduled(spmm_algorithm(32, 30, 64, DType::f32), weights, {.rows = 8}, true);
  const Kernel kernel = compiled(s, false);
  for (const ir::BufferRef& buffer : s.program().buffers) EXPECT_FALSE(buffer->name.starts_with("A."));
  const auto count = [](const std::string& text, const std::string& word) {
    int found = 0;
    for (auto place = text.find(word); place != std::string::npos; place = text.find(word, place + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count(kernel.ptx(), "fma.rn.f32"), weights->array("values").size());
  // No more than a load for each column of each block, its address an immediate offset.
  EXPECT_LE(count(kernel.ptx(), "ld.global"), 4 * 30);
  EXPECT_EQ(count(kernel.ptx(), ".local"), 0);
  EXPECT_EQ(count(kernel.cuda_source(), "A_values"), 0);
}

TEST(BakedKernels, LongOnesAreNoCudaSource) {
  const auto weights = std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = 64, .columns = 128, .sparsity = 0.45, .seed = 4}), formats::csr()));
  const Kernel kernel =
      compiled(scheduled(spmm_algorithm(64, 128, 64, DType::f32), weights, {.rows = 8}, true), false);
  const auto expect_refused = [](const auto& call) {
    try {
      call();
      ADD_FAILURE() << "no error";
    } catch (const UserError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("at most 4000"), std::string::npos) << text;
      EXPECT_NE(text.find("Emitter::llvm"), std::string::npos) << text;
    }
  };
  expect_refused([&] { (void)kernel.cuda_source(); });
  KernelOptions options;
  options.emitter = Emitter::cuda;
  expect_refused([&] { compile(kernel.schedule(), options); });
  const auto folder = std::filesystem::path(testing::TempDir()) / "long_baked_kernel";
  const std::vector<std::string> names = kernel.write_to(folder.string());
  EXPECT_EQ(std::ranges::find(names, "kernel.cu"), names.end());
  EXPECT_NE(std::ranges::find(names, "kernel.ptx"), names.end());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weft
