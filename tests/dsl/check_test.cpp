// What only values know: every refusal of Algorithm::check, through the language where it lets the error
// pass, and on algorithms that were put together or damaged by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/errors.h>

#include <cmath>
#include <functional>

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);
WEFT_INDEX(p);
WEFT_INDEX(r);

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const UserError& error) {
    EXPECT_FALSE(error.report().found.empty()) << error.what();
    EXPECT_FALSE(error.report().accepted.empty()) << error.what();
    return error.what();
  }
  return "accepted";
}

Algorithm legal() {
  const Tensor<f16, 2, sparse> A("A", {4, 5});
  const Tensor<f16, 2> B("B", {5, Extent::any("N")}), C("C", {4, Extent::any("N")});
  const Tensor<f16, 1> bias("bias", {4});
  const Scalar alpha("alpha");
  return algorithm("legal", C(m, n) = alpha * sum(k, A(m, k) * B(k, n)) + bias(m));
}

/// The refusal of the legal algorithm after `damage`.
std::string damaged(const std::function<void(Algorithm&)>& damage) {
  Algorithm algorithm = legal();
  damage(algorithm);
  return refusal([&] { algorithm.check(); });
}

Term& sum_of(Algorithm& algorithm) {
  return algorithm.result.arguments[0].arguments[1];
}
Term& bias_of(Algorithm& algorithm) {
  return algorithm.result.arguments[1];
}
AffineIndex plain(const std::string& name) {
  return {{{name, 1}}, 0};
}

template <class T = f16>
std::string refusal_of_sizes(const std::vector<Extent>& a, const std::vector<Extent>& b,
                             const std::vector<Extent>& c) {
  const Tensor<T, 2> A("A", {a[0], a[1]}), B("B", {b[0], b[1]}), C("C", {c[0], c[1]});
  return refusal([&] { algorithm("sizes", C(m, n) = sum(k, A(m, k) * B(k, n))); });
}

TEST(CheckTest, LegalAlgorithmsPass) {
  EXPECT_EQ(damaged([](Algorithm&) {}), "accepted");
  EXPECT_EQ(refusal_of_sizes({4, 5}, {5, 6}, {4, 6}), "accepted");
  EXPECT_EQ(
      refusal_of_sizes({Extent::any("M"), 1}, {1, Extent::any("N")}, {Extent::any("M"), Extent::any("N")}),
      "accepted");
}

TEST(CheckTest, SizesThatDisagree) {
  EXPECT_THAT(refusal_of_sizes({4, 64}, {32, 6}, {4, 6}),
              AllOf(HasSubstr("index k is 64 in A and 32 in B"), HasSubstr("check_test.cpp:"),
                    HasSubstr("C[m, n] = sum(k, A[m, k] * B[k, n])")));
  EXPECT_THAT(refusal_of_sizes({4, 5}, {5, 6}, {3, 6}), HasSubstr("index m is 4 in A and 3 in C"));
  EXPECT_THAT(refusal_of_sizes({4, 5}, {5, Extent::any("N")}, {4, 6}),
              HasSubstr("index n is N in B and 6 in C"));
  EXPECT_THAT(refusal_of_sizes({4, 5}, {5, Extent::any("N")}, {4, Extent::any("L")}),
              HasSubstr("index n is N in B and L in C"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.operands[2].shape[0] = 9; }),
              HasSubstr("index m is 4 in A and 9 in bias"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.indices[0].extent = 9; }),
              HasSubstr("index m has another size than its tensors"));
}

TEST(CheckTest, SizesBelowOne) {
  for (const std::int64_t size : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN}) {
    EXPECT_THAT(refusal_of_sizes({size, 5}, {5, 6}, {size, 6}),
                AllOf(HasSubstr("a dimension of tensor A has no elements"), HasSubstr("at least 1")));
    EXPECT_THAT(refusal_of_sizes({4, size}, {size, 6}, {4, 6}), HasSubstr("at least 1"));
    EXPECT_THAT(refusal_of_sizes({4, 5}, {5, size}, {4, size}), HasSubstr("at least 1"));
  }
}

TEST(CheckTest, SizesBeyondAnyMemory) {
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_THAT(refusal_of_sizes({large, large}, {large, 6}, {large, 6}),
              HasSubstr("tensor A is larger than any memory"));
  EXPECT_THAT(refusal_of_sizes({4, 5}, {5, INT64_MAX}, {4, INT64_MAX}), HasSubstr("larger than any memory"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.operands[1].strides = {INT64_MAX, 1}; }),
              HasSubstr("larger than any memory"));
}

TEST(CheckTest, AnIndexWithoutASize) {
  const Tensor<f32, 1> W("W", {3}), I("I", {8}), O("O", {8});
  EXPECT_EQ(refusal([&] { algorithm("filter", O(p) = sum(r, W(r) * I(p + r - 1))); }), "accepted");
  const Tensor<f32, 1> long_filter("W", {8});
  EXPECT_THAT(refusal([&] { algorithm("filter", O(p) = sum(r, long_filter(p) * I(p + r - 1))); }),
              HasSubstr("index r has no size"));
}

TEST(CheckTest, TheImageOfAConvolutionMayHaveAnySize) {
  const Tensor<f32, 1> W("W", {3}), O("O", {8});
  for (const std::int64_t size : {1, 5, 100}) {
    const Tensor<f32, 1> I("I", {size});
    EXPECT_EQ(refusal([&] { algorithm("filter", O(p) = sum(r, W(r) * I(p + r - 1))); }), "accepted");
  }
}

TEST(CheckTest, Names) {
  const auto with_names = [](const std::string& name, const std::string& a, const std::string& b,
                             const std::string& size) {
    const Tensor<f32, 2> A(a, {4, 5}), B(b, {5, Extent::any(size)}), C("C", {4, Extent::any(size)});
    const Scalar alpha("alpha");
    return refusal([&] { algorithm(name, C(m, n) = alpha * sum(k, A(m, k) * B(k, n))); });
  };
  EXPECT_EQ(with_names("product", "A", "B", "N"), "accepted");
  EXPECT_THAT(with_names("", "A", "B", "N"), HasSubstr("a name is empty: algorithm"));
  EXPECT_THAT(with_names("my product", "A", "B", "N"), HasSubstr("a name is not an identifier: algorithm"));
  EXPECT_THAT(with_names("product", "", "B", "N"), HasSubstr("a name is empty: tensor"));
  EXPECT_THAT(with_names("product", "A", "float", "N"), HasSubstr("a name is not an identifier: tensor"));
  EXPECT_THAT(with_names("product", "A", "B", "1N"), HasSubstr("a name is not an identifier: size"));
  EXPECT_THAT(with_names("product", "A", "A", "N"),
              AllOf(HasSubstr("the name \"A\" is given twice"), HasSubstr("a name of two tensors")));
  EXPECT_THAT(with_names("product", "A", "m", "N"), HasSubstr("a name of a tensor and of an index"));
  EXPECT_THAT(with_names("product", "A", "B", "n"), HasSubstr("the name \"n\" is given twice"));
  EXPECT_THAT(with_names("product", "alpha", "B", "N"), HasSubstr("the name \"alpha\" is given twice"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.scalars.push_back("alpha"); }), HasSubstr("given twice"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.indices[1].name = "m"; }), HasSubstr("given twice"));
}

TEST(CheckTest, Strides) {
  const Tensor<f32, 2> A("A", {4, 5}), B("B", {5, 6}), C("C", {4, 6});
  const auto with_output = [&](const Tensor<f32, 2>& output) {
    return refusal([&] { algorithm("strides", output(m, n) = sum(k, A(m, k) * B(k, n))); });
  };
  EXPECT_EQ(with_output(C.strided({6, 1})), "accepted");
  EXPECT_EQ(with_output(C.strided({1, 4})), "accepted");
  EXPECT_EQ(with_output(C.strided({100, 3})), "accepted");
  EXPECT_THAT(with_output(C.strided({5, 1})),
              AllOf(HasSubstr("the strides of tensor C do not fit its shape"), HasSubstr("at least 6")));
  EXPECT_THAT(with_output(C.strided({1, 1})), HasSubstr("lie at the same place"));
  EXPECT_THAT(with_output(C.strided({0, 1})), HasSubstr("a stride of 0"));
  EXPECT_THAT(with_output(C.strided({6, -1})), HasSubstr("a stride of -1"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.operands[3].strides = {1, 1}; }),
              HasSubstr("lie at the same place"));
  EXPECT_EQ(damaged([](Algorithm& a) { a.operands[3].strides = {1, 4}; }), "accepted");
  EXPECT_EQ(damaged([](Algorithm& a) { a.operands[3].strides = {100, 1}; }), "accepted");
  EXPECT_THAT(damaged([](Algorithm& a) { a.operands[1].strides = {6}; }),
              HasSubstr("1 strides for 2 dimensions"));
  EXPECT_EQ(damaged([](Algorithm& a) { a.operands[1].strides = {1, 1}; }), "accepted");
}

TEST(CheckTest, TheOutputIsNoFactorOfItself) {
  const Tensor<f32, 2> B("B", {4, 4}), C("C", {4, 4});
  EXPECT_THAT(refusal([&] { algorithm("power", C(m, n) = sum(k, C(m, k) * B(k, n))); }),
              HasSubstr("the output is a factor of its own sum"));
}

TEST(CheckTest, TheOldOutputIsReadWhereItIsWritten) {
  const Tensor<f32, 2> A("A", {4, 4}), B("B", {4, 4}), C("C", {4, 4});
  EXPECT_EQ(refusal([&] { algorithm("add", C(m, n) = sum(k, A(m, k) * B(k, n)) + C(m, n)); }), "accepted");
  EXPECT_THAT(refusal([&] { algorithm("add", C(m, n) = sum(k, A(m, k) * B(k, n)) + C(n, m)); }),
              HasSubstr("the old output is read at another place than is written"));
  EXPECT_THAT(refusal([&] { algorithm("add", C(m, n) = sum(k, A(m, k) * B(k, n)) + C(m, n + 1)); }),
              HasSubstr("the old output is read at another place than is written"));
}

/// The refusal of output = epilogue(sum), for factors of F and an output of O.
template <class F, class O, class Epilogue>
std::string refusal_of(const Epilogue& epilogue) {
  const Tensor<F, 2> A("A", {4, 4}), B("B", {4, 4});
  const Tensor<O, 2> C("C", {4, 4});
  return refusal([&] { algorithm("add", C(m, n) = epilogue(sum(k, A(m, k) * B(k, n)))); });
}
template <class F, class O>
std::string refusal_of_added(double number) {
  return refusal_of<F, O>([&](const auto& product) { return product + number; });
}
template <class F, class O>
std::string refusal_of_scaled(double number) {
  return refusal_of<F, O>([&](const auto& product) { return number * product; });
}

TEST(CheckTest, NumbersAreFinite) {
  for (const double number : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    EXPECT_THAT((refusal_of_added<f32, f32>(number)), HasSubstr("a number is not finite"));
    EXPECT_THAT((refusal_of_added<f64, f64>(number)), HasSubstr("a number is not finite"));
    EXPECT_THAT((refusal_of_scaled<f16, f16>(number)), HasSubstr("a number is not finite"));
  }
}

TEST(CheckTest, NumbersThatTheSumsTypeLacks) {
  EXPECT_THAT((refusal_of_scaled<f32, f32>(1e39)),
              AllOf(HasSubstr("a number is beyond the type in which the sum runs"), HasSubstr("1e+39 in f32"),
                    HasSubstr("3.4028e+38, or factors of f64")));
  EXPECT_THAT((refusal_of_scaled<bf16, bf16>(-1e39)), HasSubstr("a number is beyond"));
  EXPECT_THAT((refusal_of_scaled<f16, f16>(1e-50)),
              HasSubstr("a number is 0 in the type in which the sum runs"));
  EXPECT_THAT((refusal_of_scaled<f32, f32>(-1e-46)), HasSubstr("a number is 0"));
  EXPECT_EQ((refusal_of_scaled<f32, f32>(1e-45)), "accepted");
  EXPECT_EQ((refusal_of_scaled<f32, f32>(3.4e38)), "accepted");
  EXPECT_THAT((refusal_of_scaled<f32, f32>(0)), HasSubstr("the sum is multiplied by 0"));
  EXPECT_EQ((refusal_of_scaled<f64, f64>(1e300)), "accepted");
  EXPECT_EQ((refusal_of_scaled<f64, f64>(1e-300)), "accepted");
  EXPECT_THAT((refusal_of<f32, f32>([](const auto& x) { return 1e30 * (x + 1e30); })),
              HasSubstr("numbers of the epilogue leave the type in which the sum runs"));
}

TEST(CheckTest, ResultsThatTheOutputLacks) {
  EXPECT_THAT((refusal_of_added<f16, f16>(1e6)),
              AllOf(HasSubstr("the result leaves the element type of the output"),
                    HasSubstr("stored to C as f16"), HasSubstr("65504"),
                    HasSubstr("an output of f32, or smaller numbers"), HasSubstr("check_test.cpp:")));
  EXPECT_THAT((refusal_of_added<f16, f16>(-65505)), HasSubstr("the result leaves"));
  EXPECT_EQ((refusal_of_added<f16, f16>(65504)), "accepted");
  EXPECT_EQ((refusal_of_added<f16, f32>(1e6)), "accepted");
  EXPECT_EQ((refusal_of_added<bf16, bf16>(1e38)), "accepted");
  EXPECT_THAT((refusal_of_added<bf16, bf16>(3.3999e38)), HasSubstr("stored to C as bf16"));
  EXPECT_THAT((refusal_of_added<f64, f32>(1e39)), HasSubstr("stored to C as f32"));
  EXPECT_EQ((refusal_of_added<f64, f64>(1e39)), "accepted");
  // What is taken back, scaled down or cut off is no overflow; a factor alone says nothing.
  EXPECT_EQ((refusal_of_scaled<f16, f16>(1e6)), "accepted");
  EXPECT_EQ((refusal_of<f16, f16>([](const auto& x) { return 1e-3 * (x + 1e6); })), "accepted");
  EXPECT_EQ((refusal_of<f16, f16>([](const auto& x) { return x + 1e6 - 1e6; })), "accepted");
  EXPECT_EQ((refusal_of<f16, f16>([](const auto& x) { return relu(x - 1e6); })), "accepted");
  EXPECT_EQ((refusal_of<f16, f16>([](const auto& x) { return gelu(x - 1e6); })), "accepted");
  EXPECT_THAT((refusal_of<f16, f16>([](const auto& x) { return gelu(x + 1e6); })),
              HasSubstr("the result leaves"));
}

TEST(CheckTest, NumbersInAnIndex) {
  const Tensor<f32, 2> A("A", {4, 5}), B("B", {5, 6}), C("C", {4, 6});
  constexpr std::int64_t limit = std::int64_t{1} << 48;
  const auto shifted = [&](std::int64_t number) {
    return refusal([&] { algorithm("shift", C(m, n) = sum(k, A(m, k) * B(k + number, n))); });
  };
  EXPECT_EQ(shifted(limit), "accepted");
  EXPECT_THAT(shifted(limit + 1), AllOf(HasSubstr("a number in an index of tensor B is too large"),
                                        HasSubstr("check_test.cpp:"), HasSubstr("at most 2^48")));
  EXPECT_THAT(shifted(INT64_MIN), HasSubstr("a number in an index of tensor B is too large"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.factors[1].indices[0].terms[0].second = INT64_MAX; }),
              HasSubstr("a number in an index of tensor B is too large"));
}

TEST(CheckTest, ASizeThatIsGivenAtLaunchHasAName) {
  EXPECT_THAT(refusal([] { Extent::any(""); }),
              AllOf(HasSubstr("a size that is given at launch has no name"), HasSubstr("check_test.cpp:")));
}

TEST(CheckTest, SparseOperands) {
  EXPECT_THAT(damaged([](Algorithm& a) { a.operands[1].storage = Storage::sparse; }),
              HasSubstr("two operands are sparse"));
  EXPECT_THAT(damaged([](Algorithm& a) {
                a.operands[0].storage = Storage::dense;
                a.operands[3].storage = Storage::sparse;
              }),
              HasSubstr("the output is sparse"));
  EXPECT_THAT(damaged([](Algorithm& a) {
                a.operands[0].storage = Storage::dense;
                a.operands[2].storage = Storage::sparse;
              }),
              HasSubstr("the sparse operand stands outside of the sum"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.operands[0].strides = {5, 1}; }),
              HasSubstr("the sparse operand A has strides"));
}

TEST(CheckTest, SizesThatAreMultiples) {
  const Tensor<f16, 2, sparse> A("A", {Extent::any("M"), 5});
  const Tensor<f16, 2> B("B", {5, Extent::any("N", 8)}), C("C", {Extent::any("M"), Extent::any("N", 8)});
  EXPECT_TRUE(algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n))).takes_any_weights());
  const Tensor<f16, 2> narrow("C", {Extent::any("M"), Extent::any("N", 4)});
  EXPECT_THAT(refusal([&] { algorithm("product", narrow(m, n) = sum(k, A(m, k) * B(k, n))); }),
              HasSubstr("N"));
  const Tensor<f16, 2> none("C", {Extent::any("M"), Extent::any("N", 0)});
  EXPECT_THAT(refusal([&] { algorithm("product", none(m, n) = sum(k, A(m, k) * B(k, n))); }),
              HasSubstr("a multiple of nothing"));
}

TEST(CheckTest, TheIndicesOfTheSparseOperand) {
  const auto with_indices = [](std::vector<AffineIndex> indices, std::vector<Extent> shape) {
    return damaged([&](Algorithm& a) {
      a.factors[0].indices = std::move(indices);
      a.operands[0].shape = std::move(shape);
    });
  };
  EXPECT_EQ(with_indices({plain("m"), plain("k")}, {4, 5}), "accepted");
  EXPECT_THAT(with_indices({plain("k"), plain("m")}, {5, 4}),
              HasSubstr("has an output index after one that is summed over"));
  EXPECT_THAT(with_indices({plain("m"), {{{"k", 2}}, 0}}, {4, 5}),
              HasSubstr("the sparse operand is indexed with more than plain indices"));
  EXPECT_THAT(with_indices({plain("m"), plain("m"), plain("k")}, {4, 4, 5}),
              HasSubstr("stands twice in the sparse operand"));
  EXPECT_THAT(damaged([](Algorithm& a) {
                a.factors[0].indices = {plain("k")};
                a.operands[0].shape = {5};
                a.factors[1].indices = {plain("k"), plain("n"), plain("m")};
                a.operands[1].shape = {5, Extent::any("N"), 4};
              }),
              HasSubstr("the sparse operand A has no output index"));
  EXPECT_THAT(damaged([](Algorithm& a) {
                a.indices.push_back({"r", 3, true});
                a.factors[1].indices.push_back(plain("r"));
                a.operands[1].shape.push_back(3);
              }),
              HasSubstr("the sparse operand A lacks an index that is summed over"));
}

TEST(CheckTest, ElementTypes) {
  EXPECT_THAT(damaged([](Algorithm& a) { a.operands[2].dtype = DType::i32; }),
              HasSubstr("f16, bf16, f32, f64"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.operands[1].dtype = DType::f32; }), HasSubstr("f16 and f32"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.operands[3].dtype = DType::bf16; }),
              HasSubstr("the output's element type does not fit the factors"));
  for (const DType output : {DType::f32, DType::i8, DType::e4m3, DType::e5m2})
    EXPECT_EQ(damaged([&](Algorithm& a) { a.operands[3].dtype = output; }), "accepted") << name_of(output);
  EXPECT_THAT(damaged([](Algorithm& a) { a.accumulator = DType::f16; }),
              HasSubstr("does not belong to its factors"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.operands[2].dtype = DType::f64; }),
              HasSubstr("wider than the type in which the sum runs"));
}

TEST(CheckTest, DamagedReferences) {
  EXPECT_THAT(damaged([](Algorithm& a) { a.output.operand = 4; }),
              HasSubstr("the output is not one of the tensors"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.operands.clear(); }), HasSubstr("tensor number"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.factors[1].operand = 99; }),
              HasSubstr("an access names no tensor"));
  EXPECT_THAT(damaged([](Algorithm& a) { bias_of(a).access.operand = 99; }),
              HasSubstr("an access names no tensor"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.factors.pop_back(); }),
              HasSubstr("not over a product of two accesses"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.factors[1].indices.pop_back(); }),
              HasSubstr("tensor B is indexed with a number of indices that is not its rank"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.operands[2].shape.clear(); }),
              HasSubstr("tensor bias has no dimensions"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.factors[1].indices[0] = plain("z"); }),
              HasSubstr("indexed with an index that the algorithm lacks"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.factors[1].indices[0].terms[0].second = 0; }),
              HasSubstr("not in its shortest form"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.factors[1].indices[0].terms.emplace_back("k", 2); }),
              HasSubstr("not in its shortest form"));
}

TEST(CheckTest, DamagedIndices) {
  EXPECT_THAT(damaged([](Algorithm& a) { std::swap(a.indices[1], a.indices[2]); }),
              HasSubstr("the indices are not in order"));
  EXPECT_THAT(damaged([](Algorithm& a) { std::swap(a.indices[0], a.indices[1]); }),
              HasSubstr("the output indices are not those of the output"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.indices[2].reduction = false; }),
              HasSubstr("nothing is summed over"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.output.indices[1].constant = 1; }),
              HasSubstr("the output is indexed with more than plain indices"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.output.indices[1] = plain("m"); }),
              HasSubstr("stands twice in the output"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.output.indices[1] = plain("k"); }),
              HasSubstr("an index that is summed over stands in the output"));
  EXPECT_THAT(damaged([](Algorithm& a) { bias_of(a).access.indices[0] = plain("k"); }),
              HasSubstr("an index that is summed over stands outside of the sum"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.factors[1].indices[1] = plain("k"); }),
              HasSubstr("an index of the output is in no factor of the sum"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.indices.push_back({"r", 3, true}); }),
              HasSubstr("an index that is summed over is in no factor of the sum"));
}

TEST(CheckTest, DamagedResults) {
  EXPECT_THAT(damaged([](Algorithm& a) { a.result = bias_of(a); }), HasSubstr("0 sums"));
  EXPECT_THAT(damaged([](Algorithm& a) { bias_of(a) = sum_of(a); }), HasSubstr("2 sums"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.result.arguments.pop_back(); }),
              HasSubstr("a wrong number of arguments"));
  EXPECT_THAT(damaged([](Algorithm& a) { a.scalars.clear(); }),
              HasSubstr("a scalar is not one of the algorithm's"));
  EXPECT_THAT(damaged([](Algorithm& a) {
                for (int i = 0; i < 1000; ++i) {
                  Term outer;
                  outer.kind = Term::Kind::relu;
                  outer.arguments.push_back(std::move(a.result));
                  a.result = std::move(outer);
                }
              }),
              HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace weft
