// What the language becomes: the text and the parts of the erased algorithm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/assignment.h>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);
WEFT_INDEX(b);
WEFT_INDEX(f);
WEFT_INDEX(p);
WEFT_INDEX(q);
WEFT_INDEX(c);
WEFT_INDEX(r);
WEFT_INDEX(s);

constexpr std::int64_t M = 64, K = 32;

std::vector<std::string> names_of_operands(const Algorithm& algorithm) {
  std::vector<std::string> names;
  for (const Operand& operand : algorithm.operands) names.push_back(operand.name);
  return names;
}

/// "m:64 n:N k:32*", the star on what is summed over.
std::string text_of_indices(const Algorithm& algorithm) {
  std::string text;
  for (const IndexVariable& index : algorithm.indices) {
    text += (text.empty() ? "" : " ") + index.name + ":" + index.extent.text() + (index.reduction ? "*" : "");
  }
  return text;
}

struct Matrices {
  Tensor<f16, 2, sparse> A{"A", {M, K}};
  Tensor<f16, 2> B{"B", {K, Extent::any("N")}};
  Tensor<f16, 2> C{"C", {M, Extent::any("N")}};
  Tensor<f16, 1> bias{"bias", {M}};
};

TEST(AlgorithmTest, Linear) {
  const Matrices t;
  const Algorithm linear = algorithm("linear", t.C(m, n) = relu(sum(k, t.A(m, k) * t.B(k, n)) + t.bias(m)));
  EXPECT_EQ(linear.text(), "C[m, n] = relu(sum(k, A[m, k] * B[k, n]) + bias[m])");
  EXPECT_EQ(linear.name, "linear");
  EXPECT_THAT(names_of_operands(linear), ElementsAre("A", "B", "bias", "C"));
  EXPECT_EQ(text_of_indices(linear), "m:64 n:N k:32*");
  EXPECT_THAT(linear.scalars, IsEmpty());
  EXPECT_EQ(linear.output.operand, 3U);
  ASSERT_EQ(linear.factors.size(), 2U);
  EXPECT_EQ(linear.factors[0].operand, 0U);
  EXPECT_EQ(linear.factors[1].operand, 1U);
  EXPECT_EQ(linear.accumulator, DType::f32);
  ASSERT_NE(linear.sparse_operand(), nullptr);
  EXPECT_EQ(linear.sparse_operand()->name, "A");
  EXPECT_EQ(linear.operands[1].dtype, DType::f16);
  EXPECT_EQ(linear.operands[1].storage, Storage::dense);
  EXPECT_THAT(linear.operands[1].shape, ElementsAre(Extent(32), Extent::any("N")));

  ASSERT_EQ(linear.result.kind, Term::Kind::relu);
  ASSERT_EQ(linear.result.arguments.size(), 1U);
  const Term& added = linear.result.arguments[0];
  ASSERT_EQ(added.kind, Term::Kind::add);
  ASSERT_EQ(added.arguments.size(), 2U);
  EXPECT_EQ(added.arguments[0].kind, Term::Kind::sum);
  EXPECT_EQ(added.arguments[1].kind, Term::Kind::access);
  EXPECT_EQ(added.arguments[1].access.operand, 2U);
}

TEST(AlgorithmTest, ScalarsAndTheOldOutput) {
  const Matrices t;
  const Scalar alpha("alpha"), beta("beta");
  const Algorithm gemm =
      algorithm("gemm", t.C(m, n) = alpha * sum(k, t.A(m, k) * t.B(k, n)) + beta * t.C(m, n));
  EXPECT_EQ(gemm.text(), "C[m, n] = alpha * sum(k, A[m, k] * B[k, n]) + beta * C[m, n]");
  EXPECT_THAT(gemm.scalars, ElementsAre("alpha", "beta"));
  EXPECT_THAT(names_of_operands(gemm), ElementsAre("A", "B", "C"));
  EXPECT_EQ(gemm.result.arguments[1].arguments[1].access.operand, gemm.output.operand);
}

TEST(AlgorithmTest, OperandsComeInTheOrderOfTheirFirstUse) {
  const Matrices t;
  const Algorithm biased =
      algorithm("biased", t.C(m, n) = t.bias(m) * t.bias(m) - sum(k, t.B(k, n) * t.A(m, k)));
  EXPECT_EQ(biased.text(), "C[m, n] = bias[m] * bias[m] - sum(k, B[k, n] * A[m, k])");
  EXPECT_THAT(names_of_operands(biased), ElementsAre("bias", "B", "A", "C"));
  EXPECT_EQ(biased.factors[0].operand, 1U);
}

TEST(AlgorithmTest, ATensorThatIsTwiceAFactorIsOneOperand) {
  const Tensor<f32, 2> X("X", {M, K}), G("G", {M, M});
  const Algorithm gram = algorithm("gram", G(m, n) = sum(k, X(m, k) * X(n, k)));
  EXPECT_EQ(gram.text(), "G[m, n] = sum(k, X[m, k] * X[n, k])");
  EXPECT_THAT(names_of_operands(gram), ElementsAre("X", "G"));
  EXPECT_EQ(gram.sparse_operand(), nullptr);
}

TEST(AlgorithmTest, WhatFollowsTheSum) {
  const Tensor<f32, 2, sparse> A("A", {M, K});
  const Tensor<f32, 2> B("B", {K, 8}), C("C", {M, 8}), D("D", {M, 8});
  const Scalar alpha("alpha");
  const auto product = sum(k, A(m, k) * B(k, n));
  const auto text = [&](const auto& what) { return algorithm("a", C(m, n) = what).text(); };
  const std::string x = "sum(k, A[m, k] * B[k, n])";
  EXPECT_EQ(text(clamp(product, 0, 6)), "C[m, n] = min(max(" + x + ", 0), 6)");
  EXPECT_EQ(text(max(0.0f, product / 2)), "C[m, n] = max(0, " + x + " / 2)");
  EXPECT_EQ(text(silu(product) * D(m, n)), "C[m, n] = silu(" + x + ") * D[m, n]");
  EXPECT_EQ(text(product / (alpha * D(m, n))), "C[m, n] = " + x + " / (alpha * D[m, n])");
  EXPECT_EQ(text(sigmoid(tanh(product) - 1)), "C[m, n] = sigmoid(tanh(" + x + ") - 1)");
}

TEST(AlgorithmTest, MatrixTimesVector) {
  const Tensor<f64, 2, sparse> A("A", {M, K});
  const Tensor<f64, 1> x("x", {K}), y("y", {M});
  const Algorithm spmv = algorithm("spmv", y(m) = sum(k, A(m, k) * x(k)));
  EXPECT_EQ(spmv.text(), "y[m] = sum(k, A[m, k] * x[k])");
  EXPECT_EQ(spmv.accumulator, DType::f64);
  EXPECT_EQ(text_of_indices(spmv), "m:64 k:32*");
}

TEST(AlgorithmTest, StridedBatch) {
  const Tensor<bf16, 2, sparse> A("A", {M, K});
  const auto B = Tensor<bf16, 3>("B", {8, K, 100}).strided({K * 104 + 8, 104, 1});
  const Tensor<f32, 3> C("C", {8, M, 100});
  const Algorithm batch = algorithm("batch", C(b, m, n) = sum(k, A(m, k) * B(b, k, n)));
  EXPECT_EQ(batch.text(), "C[b, m, n] = sum(k, A[m, k] * B[b, k, n])");
  EXPECT_THAT(batch.operands[1].strides, ElementsAre(K * 104 + 8, 104, 1));
  EXPECT_THAT(batch.operands[2].strides, IsEmpty());
  EXPECT_EQ(batch.accumulator, DType::f32);
  EXPECT_EQ(text_of_indices(batch), "b:8 m:64 n:100 k:32*");
}

TEST(AlgorithmTest, ConvolutionWithStrideDilationAndPadding) {
  const Tensor<f32, 4, sparse> W("W", {16, 3, 5, 3});
  const Tensor<f32, 4> I("I", {2, 3, 28, 30}), O("O", {2, 16, 14, 28});
  const Algorithm convolution = algorithm(
      "convolution", O(b, f, p, q) = sum(c, r, s, W(f, c, r, s) * I(b, c, 2 * p + r - 1, q + 2 * s - 1)));
  EXPECT_EQ(convolution.text(),
            "O[b, f, p, q] = sum(c, r, s, W[f, c, r, s] * I[b, c, 2*p + r - 1, q + 2*s - 1])");
  EXPECT_EQ(text_of_indices(convolution), "b:2 f:16 p:14 q:28 c:3* r:5* s:3*");
  const AffineIndex& row = convolution.factors[1].indices[2];
  EXPECT_THAT(row.terms, ElementsAre(testing::Pair("p", 2), testing::Pair("r", 1)));
  EXPECT_EQ(row.constant, -1);
  EXPECT_EQ(row.plain(), nullptr);
  ASSERT_NE(convolution.factors[1].indices[0].plain(), nullptr);
  EXPECT_EQ(*convolution.factors[1].indices[0].plain(), "b");
}

TEST(AlgorithmTest, ChannelsLast) {
  const Tensor<f16, 4, sparse> W("W", {16, 3, 3, 8});
  const Tensor<f16, 4> I("I", {2, 14, 14, 8}), O("O", {2, 14, 14, 16});
  const Tensor<f32, 1> bias("bias", {16});
  const Algorithm convolution =
      algorithm("convolution",
                O(b, p, q, f) = gelu(sum(r, s, c, W(f, r, s, c) * I(b, p + r - 1, q + s - 1, c)) + bias(f)));
  EXPECT_EQ(convolution.text(),
            "O[b, p, q, f] = gelu(sum(r, s, c, W[f, r, s, c] * I[b, p + r - 1, q + s - 1, c]) + bias[f])");
  EXPECT_EQ(text_of_indices(convolution), "b:2 p:14 q:14 f:16 r:3* s:3* c:8*");
}

TEST(AlgorithmTest, TextKeepsTheGroupingOfTheEpilogue) {
  const Matrices t;
  const Scalar alpha("alpha");
  const auto product = sum(k, t.A(m, k) * t.B(k, n));
  const auto text = [&](const Assignment& assignment) { return algorithm("grouped", assignment).text(); };
  const std::string sum_text = "sum(k, A[m, k] * B[k, n])";
  EXPECT_EQ(text(t.C(m, n) = alpha * (product + 1)), "C[m, n] = alpha * (" + sum_text + " + 1)");
  EXPECT_EQ(text(t.C(m, n) = 1 - (product - 2)), "C[m, n] = 1 - (" + sum_text + " - 2)");
  EXPECT_EQ(text(t.C(m, n) = (product - 2) - alpha), "C[m, n] = " + sum_text + " - 2 - alpha");
  EXPECT_EQ(text(t.C(m, n) = 2 * (alpha * product)), "C[m, n] = 2 * (alpha * " + sum_text + ")");
  EXPECT_EQ(text(t.C(m, n) = 0.5 * relu(product * alpha + 1) - 0.25),
            "C[m, n] = 0.5 * relu(" + sum_text + " * alpha + 1) - 0.25");
  EXPECT_EQ(text(t.C(m, n) = relu(t.bias(m)) + gelu(alpha) * product),
            "C[m, n] = relu(bias[m]) + gelu(alpha) * " + sum_text);
}

TEST(AlgorithmTest, AffineIndicesAreKeptShort) {
  EXPECT_EQ((p + p).affine().text(), "2*p");
  EXPECT_EQ((p - p + q).affine().text(), "q");
  EXPECT_EQ((p - p).affine().text(), "0");
  EXPECT_EQ((1 - p).affine().text(), "-p + 1");
  EXPECT_EQ((3 + 2 * (p - q * 2) - 1).affine().text(), "2*p - 4*q + 2");
  EXPECT_EQ((p + r - 0).affine().text(), "p + r");
  EXPECT_EQ((-1 * (p + 2)).affine().text(), "-p - 2");
  EXPECT_EQ((p * 1).affine().plain() == nullptr, false);
  EXPECT_EQ((p * 2).affine().plain(), nullptr);
  EXPECT_EQ((p + 1).affine().plain(), nullptr);
}

TEST(AlgorithmTest, IndexLooksUpByName) {
  const Matrices t;
  const Algorithm product = algorithm("product", t.C(m, n) = sum(k, t.A(m, k) * t.B(k, n)));
  EXPECT_EQ(product.index("k").extent.text(), "32");
  EXPECT_TRUE(product.index("k").reduction);
  EXPECT_FALSE(product.index("n").reduction);
  EXPECT_THROW(product.index("z"), InternalError);
}

TEST(AlgorithmTest, IndicesOfOneNameAreOneIndex) {
  const Matrices t;
  const auto left = [&] {
    WEFT_INDEX(inside);
    return t.A(m, inside);
  };
  WEFT_INDEX(inside);
  const Algorithm product = algorithm("product", t.C(m, n) = sum(inside, left() * t.B(inside, n)));
  EXPECT_EQ(product.text(), "C[m, n] = sum(inside, A[m, inside] * B[inside, n])");
}

TEST(AlgorithmTest, ATensorTellsItsName) {
  const Matrices t;
  EXPECT_EQ(t.A.name(), "A");
  const std::string name(t.B);
  EXPECT_EQ(name, "B");
  EXPECT_EQ(t.A.operand().storage, Storage::sparse);
}

}  // namespace
}  // namespace weft
