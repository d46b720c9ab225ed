// Functions of numbers.
#include <weft/scheduler/hardware/instructions/family.h>

namespace weft::families {
namespace {

ir::Expr multiply_add(std::span<const ir::Expr> operands) {
  return operands[0] * operands[1] + operands[2];
}

ir::Expr multiply_add_relu(std::span<const ir::Expr> operands) {
  return ir::maximum(ir::call("fma_f32", DType::f32, {operands[0], operands[1], operands[2]}),
                     ir::constant(DType::f32, 0));
}

/// x P(x^2) / Q(x^2) on [-4, 4], beyond which erf is 1 in f32: the rational minimax form that Eigen and
/// XNNPACK use too. At most 3 units in the last place from erf near 0, 1e-7 absolute elsewhere.
ir::Expr rational_erf(std::span<const ir::Expr> operands) {
  const auto number = [](double value) { return ir::constant(DType::f32, value); };
  const auto fused = [](ir::Expr a, ir::Expr b, ir::Expr c) {
    return ir::call("fma_f32", DType::f32, {a, b, c});
  };
  const ir::Expr x = ir::minimum(ir::maximum(operands[0], number(-4)), number(4));
  const ir::Expr square = x * x;
  ir::Expr numerator = number(-2.72614225801306e-10);
  for (const double c : {2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
                         -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02})
    numerator = fused(numerator, square, number(c));
  ir::Expr denominator = number(-1.45660718464996e-05);
  for (const double c :
       {-2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02})
    denominator = fused(denominator, square, number(c));
  return x * numerator / denominator;
}

/// x P(x^2) / Q(x^2) where tanh is not 1 in f32 yet: the rational minimax form of Eigen. At most 3 units in
/// the last place. A NaN stays one.
ir::Expr rational_tanh(std::span<const ir::Expr> operands) {
  const auto number = [](double value) { return ir::constant(DType::f32, value); };
  const auto fused = [](ir::Expr a, ir::Expr b, ir::Expr c) {
    return ir::call("fma_f32", DType::f32, {a, b, c});
  };
  constexpr double end = 7.90531110763549805;
  const ir::Expr& x = operands[0];
  const ir::Expr square = x * x;
  ir::Expr numerator = number(-2.76076847742355e-16);
  for (const double c : {2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08,
                         1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03})
    numerator = fused(numerator, square, number(c));
  ir::Expr denominator = number(1.19825839466702e-06);
  for (const double c : {1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03})
    denominator = fused(denominator, square, number(c));
  return ir::select(x < number(-end), number(-1),
                    ir::select(number(end) < x, number(1), x * numerator / denominator));
}

}  // namespace

Rows arithmetic() {
  using enum DType;
  return {
      // Rounded once, so that every back end gives the same bits.
      {"fma_f32",
       f32,
       {f32, f32, f32},
       "fma.rn.f32 $0, $1, $2, $3;",
       "__fmaf_rn($1, $2, $3)",
       "llvm.fma",
       "fmaf",
       0,
       multiply_add},
      {"fma_f64",
       f64,
       {f64, f64, f64},
       "fma.rn.f64 $0, $1, $2, $3;",
       "__fma_rn($1, $2, $3)",
       "llvm.fma",
       "fma",
       0,
       multiply_add},
      {"erf_f32", f32, {f32}, "", "", "", "", 0, rational_erf},
      {"erf_f64", f64, {f64}, "", "", "", "erf", -1, nullptr},
      {"tanh_f32", f32, {f32}, "", "", "", "", 0, rational_tanh},
      {"tanh_f64", f64, {f64}, "", "", "", "tanh", -1, nullptr},
      // What lesson 5 asks: would a fused multiply-add with its ReLU pay?
      {"fma_relu_f32",
       f32,
       {f32, f32, f32},
       "weft.fma.relu.f32 $0, $1, $2, $3;",
       "",
       "",
       "",
       simulated_only,
       multiply_add_relu,
       0.25,
       4.5},
  };
}

}  // namespace weft::families
