#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/instruction_texts.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/ir/visit.h>

namespace weft {
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

/// The slot of a kept place: two bits of the word, of the half for its row (formats/kept_slots.h).
ir::Expr slot_of_code(std::span<const ir::Expr> operands) {
  const ir::Expr& row = operands[1];
  const ir::Expr& place = operands[2];
  ir::Expr bits = operands[0];
  const auto skip = [&](const ir::Expr& lower, std::int64_t skipped) {
    bits = ir::select(lower, bits, bits / (std::int64_t{1} << skipped));
  };
  skip(row % 16 < 8, 16);
  skip(place % 8 < 4, 8);
  skip(place % 4 < 2, 4);
  skip(place % 2 < 1, 2);
  return place / 2 * 4 + bits % 4;
}

/// A number without its half, its quarter, … is as much as its bits.
ir::Expr counted_bits(std::span<const ir::Expr> operands) {
  ir::Expr count = operands[0];
  for (int bit = 1; bit < 16; ++bit) count = count - operands[0] / (std::int64_t{1} << bit);
  return count;
}

/// Among the quarters of the word, and then half by half in the quarter that has the bit.
ir::Expr place_of_bit(std::span<const ir::Expr> operands) {
  const auto count = [](const ir::Expr& x) { return ir::call(std::string(count_bits), DType::i64, {x}); };
  const ir::Expr quarter = 65536;
  const ir::Expr quarters[] = {operands[0] % quarter, operands[0] / quarter % quarter, operands[1] % quarter,
                               operands[1] / quarter % quarter};
  ir::Expr bits = quarters[0], place = 0, before = 0, end = count(bits);
  for (std::int64_t i = 1; i < 4; ++i) {
    const ir::Expr behind = end <= operands[2];
    bits = ir::select(behind, quarters[i], bits);
    place = ir::select(behind, 16 * i, place);
    before = ir::select(behind, end, before);
    if (i < 3) end = end + count(quarters[i]);
  }
  ir::Expr number = operands[2] - before;
  for (const std::int64_t half : {8, 4, 2, 1}) {
    const ir::Expr size = std::int64_t{1} << half;
    const ir::Expr low = bits % size;
    const ir::Expr in_low = count(low);
    const ir::Expr behind = in_low <= number;
    bits = ir::select(behind, bits / size, low);
    place = place + ir::select(behind, half, 0);
    number = number - ir::select(behind, in_low, 0);
  }
  return place;
}

/// 2 to a number below 32.
ir::Expr power_of_two(const ir::Expr& number) {
  ir::Expr power = 1;
  for (const std::int64_t part : {16, 8, 4, 2, 1})
    power = power * ir::select(ir::equal(number / part % 2, 0), 1, std::int64_t{1} << part);
  return power;
}

ir::Expr bit_of_word(std::span<const ir::Expr> operands) {
  return operands[0] / power_of_two(operands[1]) % 2;
}

/// Of the bits up to the last, those from the first on, in two halves.
ir::Expr bits_of_word(std::span<const ir::Expr> operands) {
  const auto count = [](const ir::Expr& x) { return ir::call(std::string(count_bits), DType::i64, {x}); };
  const ir::Expr half = 65536, bits = operands[0] % power_of_two(operands[2]) / power_of_two(operands[1]);
  return count(bits % half) + count(bits / half);
}

std::vector<Instruction> with_effects(std::vector<Instruction> rows) {
  for (Instruction& row : effect_instructions()) rows.push_back(std::move(row));
  return rows;
}

/// The number of a block or a thread.
Instruction number_of(std::string_view name, std::string_view in_ptx, std::string_view in_cuda) {
  return {.name = name,
          .operands = {},
          .ptx = kept_text(fmt::format("mov.u32 $0, %{};", in_ptx)),
          .cuda = in_cuda,
          .llvm = kept_text(fmt::format("llvm.nvvm.read.ptx.sreg.{}", in_ptx))};
}

const std::vector<Instruction>& table() {
  using enum DType;
  static const std::vector<Instruction> rows = with_effects({
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
      number_of("block_x", "ctaid.x", "blockIdx.x"),
      number_of("block_y", "ctaid.y", "blockIdx.y"),
      number_of("block_z", "ctaid.z", "blockIdx.z"),
      number_of("thread", "tid.x", "threadIdx.x"),
      {kept_slot, i64, {i64, i64, i64}, "", "", "", "", 0, slot_of_code},
      {.name = set_bit, .operands = {i64, i64, i64}, .meaning = place_of_bit, .below = 64},
      {count_bits, i64, {i64}, "popc.b32 $0, $1;", "__popc($1)", "llvm.ctpop", "", 0, counted_bits},
      {.name = word_bit, .operands = {i64, i64}, .meaning = bit_of_word, .below = 2},
      {.name = word_bits, .operands = {i64, i64, i64}, .meaning = bits_of_word, .below = 33},
      {last_arrival, boolean, {i32, i64, i64}, "", "", "", "", 0, nullptr},
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
  });
  return rows;
}

}  // namespace

std::span<const Instruction> instructions() {
  return table();
}

bool is_last_arrival(const ir::Expr& condition) {
  const auto* call = condition.as<ir::Call>();
  return call != nullptr && call->instruction == last_arrival;
}

ir::Expr arrival_of_block(ir::Expr place, ir::Expr count) {
  return ir::call(std::string(last_arrival), DType::boolean, {std::move(place), std::move(count), 0});
}

ir::Expr arrival_of_some(const ir::Call& of_block, std::int64_t threads) {
  return ir::call(std::string(last_arrival), DType::boolean,
                  {of_block.arguments.at(0), of_block.arguments.at(1), threads});
}

bool is_arrival_of_some(const ir::Expr& condition) {
  const auto* call = condition.as<ir::Call>();
  return is_last_arrival(condition) && *ir::integer_value(call->arguments.at(2)) > 0;
}

bool holds_arrival(const ir::Stmt& stmt) {
  return ir::any<ir::If>(stmt, [](const ir::If& branch) { return is_last_arrival(branch.condition); });
}

const Instruction& instruction(std::string_view name) {
  for (const Instruction& row : table()) {
    if (row.name == name) return row;
  }
  throw InternalError("no instruction is called '" + std::string(name) + "'");
}

}  // namespace weft
