// The reference against the definition, and the kernels against the reference, where formulas are unusual:
// indices that repeat, sums of indices as places, strides, sizes from launch, numbers that are not finite.
#include <gmock/gmock.h>
#include <weft/backends/export/export.h>
#include <weft/backends/kernel.h>
#include <weft/backends/reference.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/measure/verify.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <random>

#include "support/naive.h"

namespace weft {
namespace {

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The largest difference to the definition, to the magnitude; infinite where one is not finite and the other
/// is another number.
double distance(const Reference& found, const test::NaiveResult& expected) {
  double largest = found.value.size() == std::ssize(expected.value) ? 0 : infinity;
  for (std::size_t i = 0; i < expected.value.size() && largest < infinity; ++i) {
    const double x = found.value.get(static_cast<std::int64_t>(i));
    const double y = expected.value[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double apart = std::abs(x - y) / std::max(expected.magnitude[i], 1e-30);
    largest = std::isnan(apart) ? infinity : std::max(largest, apart);
  }
  return largest;
}

/// The reference is what the definition says, and the program as it was built computes it.
void expect_all_agree(const Algorithm& algorithm, const WeightMatrix* matrix, const Arguments& arguments) {
  const auto weights =
      matrix == nullptr ? nullptr : std::make_shared<const SparseTensor>(pack(*matrix, formats::csr()));
  const test::NaiveResult expected = test::naive(algorithm, matrix, arguments);
  EXPECT_LE(distance(reference(algorithm, weights.get(), arguments), expected), 1e-12) << algorithm.text();
  const Kernel kernel = compile(Schedule(algorithm, weights, target_named("cpu")));
  const Verification verification = verify(kernel, Device::cpu(), arguments);
  EXPECT_TRUE(verification.passed) << verification.text() << "\n" << algorithm.text();
  const Operand& output = algorithm.operands[algorithm.output.operand];
  EXPECT_EQ(test::disagreement(algorithm, expected, *arguments.tensors.at(output.name)), "")
      << algorithm.text();
}

TEST(Reference, AnIndexThatRepeatsReadsTheDiagonal) {
  const Tensor<f32, 2> D("D", {6, 6}), B("B", {5, 4}), C("C", {6, 4});
  const Algorithm algorithm = weft::algorithm("diagonal", C(m, n) = sum(k, D(m, m) * B(k, n)));
  Array d = random_array(DType::f32, {6, 6}, 1, RandomValues::small_integers);
  Array b = random_array(DType::f32, {5, 4}, 2, RandomValues::small_integers);
  Array c(DType::f32, {6, 4});
  const Arguments arguments{{{"D", &d}, {"B", &b}, {"C", &c}}, {}};
  const Reference found = reference(algorithm, nullptr, arguments);
  for (std::int64_t i = 0; i < 6; ++i) {
    for (std::int64_t j = 0; j < 4; ++j) {
      double expected = 0;
      for (std::int64_t s = 0; s < 5; ++s) expected += d.get(7 * i) * b.get(4 * s + j);
      EXPECT_EQ(found.value.get(4 * i + j), expected) << i << ", " << j;
    }
  }
  expect_all_agree(algorithm, nullptr, arguments);
}

TEST(Reference, BothFactorsMayHaveSumsOfIndices) {
  const Tensor<f32, 2> A("A", {4, 7}), C("C", {4, 3});
  const Tensor<f32, 3> B("B", {6, 9, 3});
  const Algorithm algorithm = weft::algorithm("sums", C(m, n) = sum(k, A(m, k + m - 2) * B(k, 2 * k - m, n)));
  Array a = random_array(DType::f32, {4, 7}, 1, RandomValues::small_integers);
  Array b = random_array(DType::f32, {6, 9, 3}, 2, RandomValues::small_integers);
  Array c(DType::f32, {4, 3});
  expect_all_agree(algorithm, nullptr, {{{"A", &a}, {"B", &b}, {"C", &c}}, {}});
}

TEST(Reference, TheEpilogueReadsZeroOutsideOfItsOperands) {
  const Tensor<f32, 2> A("A", {4, 5}), B("B", {5, 3}), C("C", {4, 3});
  const Tensor<f32, 1> bias("bias", {4});
  const Algorithm algorithm =
      weft::algorithm("shifted_bias", C(m, n) = sum(k, A(m, k) * B(k, n)) + bias(m + 2) + bias(m + n - 3));
  Array a = random_array(DType::f32, {4, 5}, 1, RandomValues::small_integers);
  Array b = random_array(DType::f32, {5, 3}, 2, RandomValues::small_integers);
  Array v = random_array(DType::f32, {4}, 3, RandomValues::small_integers);
  Array c(DType::f32, {4, 3});
  expect_all_agree(algorithm, nullptr, {{{"A", &a}, {"B", &b}, {"bias", &v}, {"C", &c}}, {}});
}

TEST(Reference, SoDoTheEpilogueOfOtherSchedulesAndTheReferenceOfAPackage) {
  const Tensor<f32, 2, sparse> A("A", {16, 24});
  const Tensor<f32, 2> B("B", {24, 40}), C("C", {16, 40});
  const Tensor<f32, 1> bias("bias", {16}), row("row", {40});
  const Algorithm algorithm = weft::algorithm(
      "shifted", C(m, n) = relu(sum(k, A(m, k) * B(k, n)) + bias(m - 3) + bias(m + 5) + row(2 * n - 7)));
  const WeightMatrix matrix =
      from_dense(random_array(DType::f32, {16, 24}, 1, RandomValues::small_integers), "weights");
  const auto weights = std::make_shared<const SparseTensor>(pack(matrix, formats::csr()));
  Array b = random_array(DType::f32, {24, 40}, 2, RandomValues::small_integers);
  Array v = random_array(DType::f32, {16}, 3, RandomValues::small_integers);
  Array r = random_array(DType::f32, {40}, 4, RandomValues::small_integers);
  Array c(DType::f32, {16, 40});
  const Arguments arguments{{{"B", &b}, {"bias", &v}, {"row", &r}, {"C", &c}}, {}};
  for (const char* target : {"cpu", "sm_80"}) {
    const Device device = target == std::string("cpu") ? Device::cpu() : Device::simulator(target);
    const Kernel kernel =
        compile(default_schedule(algorithm, weights, target_named(target)), {.assemble = false});
    const Verification verification = verify(kernel, device, arguments);
    EXPECT_TRUE(verification.passed) << target << ": " << verification.text();
  }
  Schedule staged(algorithm, weights, target_named("sm_80"));
  staged.split(n = 8).bind("m", block_x).stage("row", registers, at = "n.outer");
  const Verification of_copies =
      verify(compile(staged, {.assemble = false}), Device::simulator("sm_80"), arguments);
  EXPECT_TRUE(of_copies.passed) << of_copies.text();
  const Kernel kernel =
      compile(default_schedule(algorithm, weights, target_named("sm_80")), {.assemble = false});
  const TemporaryFolder folder;
  ExportOptions package;
  package.name = "shifted";
  kernel.export_to((folder.path() / "shifted").string(), package);
  EXPECT_THAT(read_bytes(folder.path() / "shifted" / "src" / "shifted_reference.c"),
              ::testing::HasSubstr("< 16 ? "));
}

TEST(Reference, StridesOfTheOutputLeaveGaps) {
  const Tensor<f32, 2> A("A", {4, 5}), B("B", {5, 3});
  const Tensor<f32, 2> C = Tensor<f32, 2>("C", {4, 3}).strided({8, 2});
  const Algorithm algorithm = weft::algorithm("gaps", C(m, n) = sum(k, A(m, k) * B(k, n)) + 3 * C(m, n));
  Array a = random_array(DType::f32, {4, 5}, 1, RandomValues::small_integers);
  Array b = random_array(DType::f32, {5, 3}, 2, RandomValues::small_integers);
  Array c = random_array(DType::f32, {29}, 3, RandomValues::small_integers);
  expect_all_agree(algorithm, nullptr, {{{"A", &a}, {"B", &b}, {"C", &c}}, {}});
}

TEST(Reference, CountsTheProductsOfASumWhoseSizeIsGivenAtLaunch) {
  const Tensor<f32, 2> A("A", {4, Extent::any("K")}), B("B", {Extent::any("K"), 3}), C("C", {4, 3});
  const Algorithm algorithm = weft::algorithm("open", C(m, n) = sum(k, A(m, k) * B(k, n)));
  Array a(DType::f32, {4, 50}), b(DType::f32, {50, 3}), c(DType::f32, {4, 3});
  EXPECT_EQ(reference(algorithm, nullptr, {{{"A", &a}, {"B", &b}, {"C", &c}}, {}}).terms, 50);
}

TEST(Reference, RefusesWeightsThatAreMissingOrOfOtherSizes) {
  const Tensor<f32, 2, sparse> A("A", {4, 6});
  const Tensor<f32, 2> B("B", {6, 3}), C("C", {4, 3});
  const Algorithm algorithm = weft::algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));
  Array b(DType::f32, {6, 3}), c(DType::f32, {4, 3});
  const Arguments arguments{{{"B", &b}, {"C", &c}}, {}};
  const auto refusal = [&](const SparseTensor* weights) -> std::string {
    try {
      reference(algorithm, weights, arguments);
    } catch (const UserError& error) {
      return error.what();
    }
    return "nothing was refused";
  };
  EXPECT_THAT(refusal(nullptr), ::testing::HasSubstr("nothing for the sparse operand A"));
  const SparseTensor turned = pack(from_dense(Array(DType::f32, {6, 4}), "turned"), formats::csr());
  EXPECT_THAT(refusal(&turned),
              ::testing::AllOf(::testing::HasSubstr("[6, 4]"), ::testing::HasSubstr("[4, 6]")));
}

TEST(Reference, NumbersThatAreNotFiniteMeetTheirProductsAndNoOthers) {
  const Tensor<f32, 2, sparse> A("A", {3, 4});
  const Tensor<f32, 2> B("B", {4, 3}), C("C", {3, 3});
  const Algorithm algorithm = weft::algorithm("spread", C(m, n) = relu(sum(k, A(m, k) * B(k, n + 1))) + 0.5f);
  Array a(DType::f32, {3, 4}), b(DType::f32, {4, 3}), c(DType::f32, {3, 3});
  a.set(0, infinity);
  a.set(5, 2);
  a.set(11, std::nan(""));
  for (std::int64_t i = 0; i < b.size(); ++i) b.set(i, static_cast<double>(i + 1));
  b.set(4, -infinity);
  b.set(8, std::nan(""));  // no weight meets it
  const auto weights =
      std::make_shared<const SparseTensor>(pack(from_dense(a, "not finite"), formats::csr()));
  const Arguments arguments{{{"B", &b}, {"C", &c}}, {}};
  // Of the last column, whose place in B lies outside, nothing is added up.
  const double expected[] = {infinity, infinity, 0.5, 0.5, 12.5, 0.5, std::nan(""), std::nan(""), 0.5};
  const Reference found = reference(algorithm, weights.get(), arguments);
  for (std::int64_t i = 0; i < c.size(); ++i) {
    const double right = expected[i];
    EXPECT_TRUE(found.value.get(i) == right || (std::isnan(right) && std::isnan(found.value.get(i))))
        << i << ": " << found.value.get(i);
  }
  for (const char* target : {"cpu", "sm_80"}) {
    const Kernel kernel = compile(Schedule(algorithm, weights, target_named(target)), {.assemble = false});
    const Device device = kernel.target().is_gpu() ? Device::simulator(target) : Device::cpu();
    EXPECT_TRUE(verify(kernel, device, arguments).passed) << target;
  }
}

TEST(Reference, ResultsBeyondTheNumbersOfTheirTypeAreInfinite) {
  Reference large{.value = Array(DType::f64, {2}), .magnitude = Array(DType::f64, {2})};
  large.value.set(0, 1e39);
  large.value.set(1, -7e4);
  Array found(DType::f32, {2});
  found.set(0, infinity);
  found.set(1, -7e4);
  EXPECT_EQ(difference(found, large).wrong, -1);
  found.set(1, -infinity);
  EXPECT_EQ(difference(found, large).wrong, 1);
  Array halves(DType::f16, {2});
  halves.set(0, infinity);
  halves.set(1, -infinity);
  EXPECT_EQ(difference(halves, large).wrong, -1);
}

TEST(Reference, PlacesBeyond32BitsAreNotTakenForOthers) {
  const Tensor<f32, 2> A("A", {4, 5}), B("B", {8, 3}), C("C", {4, 3});
  // 2^30 * 4 is 0 in 32 bits; 3 * 2^30 does not fit as a number.
  const Algorithm far =
      weft::algorithm("far", C(m, n) = sum(k, A(m, k) * B(1'073'741'824 * k, n)) + B(m + 3'221'225'472, n));
  Array a = random_array(DType::f32, {4, 5}, 1, RandomValues::small_integers);
  Array b = random_array(DType::f32, {8, 3}, 2, RandomValues::small_integers);
  Array c(DType::f32, {4, 3});
  expect_all_agree(far, nullptr, {{{"A", &a}, {"B", &b}, {"C", &c}}, {}});
  const Tensor<f32, 2> wide = Tensor<f32, 2>("B", {5, 3}).strided({std::int64_t{1} << 29, 1});
  const Schedule strided(weft::algorithm("strided", C(m, n) = sum(k, A(m, k) * wide(k, n))), nullptr,
                         target_named("cpu"));
  EXPECT_EQ(compile(strided).lowered().program.index_bits, 64);
}

TEST(Reference, SizesOfALaunchAreMultipliedInWhatHoldsThem) {
  const Extent M = Extent::any("M");
  const Tensor<f32, 2> A("A", {M, 5}), B("B", {8, 3}), C("C", {M, 3});
  // 2^30 * 4 is 0 in 32 bits.
  const Algorithm far = weft::algorithm("far", C(m, n) = sum(k, A(m, k) * B(1'073'741'824 * m + k, n)));
  Array a = random_array(DType::f32, {6, 5}, 1, RandomValues::small_integers);
  Array b = random_array(DType::f32, {8, 3}, 2, RandomValues::small_integers);
  Array c(DType::f32, {6, 3});
  expect_all_agree(far, nullptr, {{{"A", &a}, {"B", &b}, {"C", &c}}, {}});

  const auto program = [&](std::int64_t times) {
    const Algorithm product = weft::algorithm("near", C(m, n) = sum(k, A(m, k) * B(times * m + k, n)));
    return compile(Schedule(product, nullptr, target_named("cpu"))).lowered().program;
  };
  EXPECT_EQ(program(1'000).index_bits, 64);
  const ir::Program near = program(100);
  EXPECT_EQ(near.index_bits, 32);
  EXPECT_GT(near.largest_extent, 21'000'000);
  EXPECT_LT(near.largest_extent, INT32_MAX / 100);
}

// ---- random algorithms ----

/// Draws formulas without looking whether they are legal.
class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : random_(seed) {
    a_.name = "drawn";
    a_.accumulator = DType::f32;
    for (const char* name : {"m", "n", "p"}) {
      if (a_.indices.empty() || chance(2)) a_.indices.push_back({name, between(1, 5), false});
    }
    outputs_ = a_.indices.size();
    for (const char* name : {"k", "r"}) {
      if (a_.indices.size() == outputs_ || chance(3)) a_.indices.push_back({name, between(1, 5), true});
    }
    sparse_ = chance(2);
    sparse_ ? add_weights() : add_factor("A");
    add_factor("B");
    add_epilogue();
  }

  const Algorithm& algorithm() const { return a_; }

 private:
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(std::uint64_t of) { return random_() % of == 0; }

  const IndexVariable& any_index(std::size_t count) { return a_.indices[random_() % count]; }

  void add_weights() {
    Operand weights{"A", DType::f32, {}, {}, Storage::sparse};
    TensorAccess access;
    for (std::size_t i = 0; i < a_.indices.size(); ++i) {
      if (i != 0 && !a_.indices[i].reduction) continue;
      weights.shape.push_back(a_.indices[i].extent);
      access.indices.push_back({{{a_.indices[i].name, 1}}, 0});
    }
    a_.operands.push_back(weights);
    a_.factors.push_back(access);
  }

  /// An access with one to three places, each an index or a sum of two.
  TensorAccess drawn_access(Operand& operand, std::size_t count) {
    TensorAccess access{a_.operands.size(), {}};
    const std::int64_t rank = between(1, 3);
    for (std::int64_t d = 0; d < rank; ++d) {
      const IndexVariable& index = any_index(count);
      AffineIndex place{{{index.name, 1}}, 0};
      operand.shape.push_back(index.extent);
      if (chance(3)) {
        const IndexVariable& other = any_index(count);
        if (other.name != index.name) place.terms.emplace_back(other.name, chance(2) ? 1 : -2);
        place.terms.front().second = between(1, 3);
        place.constant = between(-3, 3);
        operand.shape.back() = Extent(between(1, 9));
      }
      access.indices.push_back(place);
    }
    if (chance(4)) {
      std::int64_t stride = between(1, 2);
      operand.strides.assign(operand.shape.size(), 0);
      for (std::size_t d = operand.shape.size(); d-- > 0;
           stride = stride * operand.shape[d].value + between(0, 2))
        operand.strides[d] = stride;
    }
    return access;
  }

  void add_factor(const char* name) {
    Operand operand{name, DType::f32, {}, {}, Storage::dense};
    a_.factors.push_back(drawn_access(operand, a_.indices.size()));
    a_.operands.push_back(operand);
  }

  void add_epilogue() {
    Operand bias{"bias", DType::f32, {}, {}, Storage::dense};
    const TensorAccess access = drawn_access(bias, outputs_);
    const bool has_bias = chance(2);
    if (has_bias) a_.operands.push_back(bias);
    Operand output{"C", DType::f32, {}, {}, Storage::dense};
    a_.output.operand = a_.operands.size();
    for (std::size_t i = 0; i < outputs_; ++i) {
      output.shape.push_back(a_.indices[i].extent);
      a_.output.indices.push_back({{{a_.indices[i].name, 1}}, 0});
    }
    a_.operands.push_back(output);
    a_.result.kind = Term::Kind::sum;
    if (has_bias) join(Term::Kind::add, access);
    if (chance(3)) join(Term::Kind::subtract, a_.output);
    if (chance(4)) {
      Term relu;
      relu.kind = Term::Kind::relu;
      relu.arguments = {a_.result};
      a_.result = relu;
    }
  }

  void join(Term::Kind kind, const TensorAccess& access) {
    Term read;
    read.kind = Term::Kind::access;
    read.access = access;
    Term joined;
    joined.kind = kind;
    joined.arguments = {a_.result, read};
    a_.result = joined;
  }

  std::mt19937_64 random_;
  Algorithm a_;
  std::size_t outputs_ = 0;
  bool sparse_ = false;
};

std::int64_t span_of(const Operand& operand) {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < operand.shape.size(); ++d)
    last += (operand.shape[d].value - 1) * operand.strides[d];
  return last + 1;
}

std::vector<std::int64_t> shape_of(const Operand& operand) {
  if (!operand.strides.empty()) return {span_of(operand)};
  std::vector<std::int64_t> shape;
  for (const Extent& extent : operand.shape) shape.push_back(extent.value);
  return shape;
}

/// Half of the places of a sparse operand.
WeightMatrix drawn_weights(const Operand& operand, std::uint64_t seed) {
  Array dense = random_array(DType::f32, shape_of(operand), seed, RandomValues::small_integers);
  for (std::int64_t i = 0; i < dense.size(); i += 2) dense.set(i, 0);
  return from_dense(dense, "drawn");
}

TEST(Reference, RandomFormulasAgreeWithTheDefinitionAndTheKernels) {
  int legal = 0;
  int with_weights = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const Algorithm algorithm = Drawing(seed).algorithm();
    try {
      algorithm.check();
    } catch (const UserError&) {
      continue;  // an index without a size, or in no factor
    }
    ++legal;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::map<std::string, Array> arrays;
    WeightMatrix matrix;
    const Operand* sparse = algorithm.sparse_operand();
    for (const Operand& operand : algorithm.operands) {
      if (&operand == sparse) {
        matrix = drawn_weights(operand, seed);
        ++with_weights;
      } else {
        arrays[operand.name] =
            random_array(DType::f32, shape_of(operand), seed + arrays.size(), RandomValues::small_integers);
      }
    }
    Arguments arguments;
    for (auto& [name, array] : arrays) arguments.tensors[name] = &array;
    expect_all_agree(algorithm, sparse == nullptr ? nullptr : &matrix, arguments);
  }
  std::cout << legal << " formulas, " << with_weights << " of them with pruned weights\n";
  EXPECT_GT(legal - with_weights, 40) << "the drawing finds too few legal formulas";
  EXPECT_GT(with_weights, 80) << "the drawing finds too few legal formulas";
}

TEST(Difference, TypesOfAByteSaturate) {
  Array result(DType::e4m3, {2});
  result.set(0, 1000);
  result.set(1, -1000);
  Reference expected;
  expected.value = Array::of(std::vector<double>{1000, -1e9});
  expected.magnitude = Array::of(std::vector<double>{1000, 1e9});
  EXPECT_EQ(difference(result, expected).largest, 0);
  result.set(1, 1);
  EXPECT_EQ(difference(result, expected).largest, 449);
}

TEST(Difference, FloatingTypesOfAByteAreRoundedByHalfAStep) {
  Reference expected;
  expected.value = Array::of(std::vector<double>{17, 0x1p-10, 1000});
  expected.magnitude = Array::of(std::vector<double>{100, 1, 1000});
  Array result(DType::e4m3, {3});
  for (const auto& [place, number] :
       std::vector<std::pair<std::int64_t, double>>{{0, 18}, {1, 0x1p-9}, {2, 448}})
    result.set(place, number);
  EXPECT_EQ(difference(result, expected).largest_scaled, 0);
  result.set(0, 20);
  EXPECT_EQ(difference(result, expected).largest_scaled, 0.02) << "however large what was added up is";
  EXPECT_EQ(tolerance(DType::e4m3, DType::f32, 9), tolerance(DType::i8, DType::f32, 9));
}

TEST(Difference, IntegersAreRoundedByHalfAndHoldNanAsZero) {
  const double nan = std::nan("");
  Array result(DType::i8, {6});
  Reference expected;
  expected.value = Array::of(std::vector<double>{2.5, -3.5, 500, -infinity, nan, 7});
  expected.magnitude = Array::of(std::vector<double>{2.5, 3.5, 500, infinity, 1, 7});
  for (const auto& [place, number] :
       std::vector<std::pair<std::int64_t, double>>{{0, 2}, {1, -4}, {2, 127}, {3, -128}, {4, 0}, {5, 7}})
    result.set(place, number);
  EXPECT_EQ(difference(result, expected).largest_scaled, 0);
  EXPECT_EQ(difference(result, expected).wrong, -1);
  result.set(5, 8);
  EXPECT_EQ(difference(result, expected).largest_scaled, 0.5 / 7);
  result.set(4, 1);
  EXPECT_EQ(difference(result, expected).wrong, 4) << "NaN is zero";
  expected.or_nan = {true, false, false, false, false, false};
  result.set(0, 0);
  EXPECT_EQ(difference(result, expected).largest, 1) << "an element that may be NaN may be zero";
  EXPECT_EQ(tolerance(DType::i8, DType::f32, 100), tolerance(DType::f64, DType::f32, 100) - 1.01 * 0x1p-53);
}

}  // namespace
}  // namespace weft
