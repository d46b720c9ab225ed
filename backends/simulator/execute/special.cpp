// rcp, sqrt, rsqrt, ex2, lg2, sin, cos and tanh: PTX ISA, chapters 9.7.3 to 9.7.5. Compiled with
// -frounding-math. What the ISA calls approximate is computed more exactly than it asks for.
#include <weft/backends/simulator/execute/numbers.h>

namespace weft::simulator {
namespace {

// Exact up to one rounding, in the rounding that the host has at the time; or in double, rounded once more.
constexpr auto reciprocal = []<class T>(T x) { return T{1} / x; };
constexpr auto root = []<class T>(T x) { return std::sqrt(x); };
constexpr auto root_reciprocal = [](double x) { return 1.0 / std::sqrt(x); };
constexpr auto exponential = [](double x) { return std::exp2(x); };
constexpr auto logarithm = [](double x) { return std::log2(x); };
constexpr auto sine = [](double x) { return std::sin(x); };
constexpr auto cosine = [](double x) { return std::cos(x); };
constexpr auto hyperbolic_tangent = [](double x) { return std::tanh(x); };

template <auto function, bool flushes>
void run_approximate(Warp& warp, const Operation& operation) {
  warp.assign<U32, U32>(operation, [](U32 raw) {
    const double value = function(double{single_source<flushes>(raw)});
    return finished<flushes, false>(static_cast<float>(value));
  });
}

template <auto function>
Handler approximate(const Instruction& instruction, Operation& operation) {
  if (operation.type != Type::f32 || operation.count != 2) return nullptr;
  operation.pipe = Pipe::special;
  operation.lane_bytes = {4, 4};
  return instruction.has("ftz") ? run_approximate<function, true> : run_approximate<function, false>;
}

template <auto function, bool flushes>
void run_single(Warp& warp, const Operation& operation) {
  const RoundingScope scope(static_cast<Rounding>(operation.variant));
  warp.assign<U32, U32>(
      operation, [](U32 raw) { return finished<flushes, false>(function(single_source<flushes>(raw))); });
}

template <auto function>
void run_double(Warp& warp, const Operation& operation) {
  const RoundingScope scope(static_cast<Rounding>(operation.variant));
  warp.assign<double, double>(operation, function);
}

template <auto function>
Handler rounded(const Instruction& instruction, Operation& operation) {
  const auto rounding = rounding_of(instruction);
  if (!rounding || operation.count != 2) return nullptr;
  operation.variant = static_cast<std::uint16_t>(*rounding);
  operation.pipe = operation.type == Type::f64 ? Pipe::wide : Pipe::special;
  operation.lane_bytes = {lane_bytes_of(operation.type), lane_bytes_of(operation.type)};
  if (operation.type == Type::f64) return instruction.has("ftz") ? nullptr : run_double<function>;
  if (operation.type != Type::f32) return nullptr;
  return instruction.has("ftz") ? run_single<function, true> : run_single<function, false>;
}

/// The approximations of f64 look at the upper half of their source and give the upper half of a result.
template <auto function>
void run_upper_half(Warp& warp, const Operation& operation) {
  warp.assign<U64, U64>(operation, [](U64 raw) -> U64 {
    constexpr U64 upper = 0xFFFF'FFFF'0000'0000, sign = U64{1} << 63, least_normal = U64{1} << 52;
    const auto flush = [](U64 bits) { return (bits & ~sign) < least_normal ? bits & sign : bits; };
    const double value = function(std::bit_cast<double>(flush(raw & upper)));
    if (value != value) return 0x7FFF'FFFF'0000'0000;
    return flush(std::bit_cast<U64>(value)) & upper;
  });
}

template <auto function>
Handler upper_half(const Instruction&, Operation& operation) {
  if (operation.type != Type::f64 || operation.count != 2) return nullptr;
  operation.pipe = Pipe::special;
  operation.lane_bytes = {8, 8};
  return run_upper_half<function>;
}

template <auto function, class F, bool flushes, bool is_packed>
void run_half(Warp& warp, const Operation& operation) {
  warp.assign<U32, U32>(operation, [](U32 raw) {
    const auto one = [](U32 bits) {
      auto half = static_cast<U16>(bits);
      if constexpr (flushes) half = flushed<F>(half);
      half = encode<F>(function(decode<F>(half)));
      if constexpr (flushes) half = flushed<F>(half);
      return U32{half};
    };
    return is_packed ? one(raw) | one(raw >> 16) << 16 : one(raw);
  });
}

/// ex2 and tanh of 16-bit formats.
template <auto function, bool flushes_bfloat>
Handler half(const Instruction& instruction, Operation& operation) {
  operation.pipe = Pipe::special;
  operation.lane_bytes = {4, 4};
  if (operation.count != 2) return nullptr;
  return for_floating(operation.type, [&]<class F, bool is_packed>() -> Handler {
    if constexpr (sizeof(typename F::Bits) == 2) {
      constexpr bool flushes = flushes_bfloat && std::is_same_v<F, Bfloat>;
      if (instruction.has("ftz") == flushes) return run_half<function, F, flushes, is_packed>;
    }
    return nullptr;
  });
}

constexpr Opcode table[] = {
    {"rcp", approximate<reciprocal>, 2, "approx", "ftz"},
    {"rcp", rounded<reciprocal>, 2, "", "rn rz rm rp ftz"},
    {"rcp", upper_half<reciprocal>, 2, "approx", "ftz"},
    {"sqrt", approximate<root>, 2, "approx", "ftz"},
    {"sqrt", rounded<root>, 2, "", "rn rz rm rp ftz"},
    {"rsqrt", approximate<root_reciprocal>, 2, "approx", "ftz"},
    {"rsqrt", upper_half<root_reciprocal>, 2, "approx", "ftz"},
    {"ex2", approximate<exponential>, 2, "approx", "ftz"},
    {"ex2", half<exponential, true>, 2, "approx", "ftz"},
    {"lg2", approximate<logarithm>, 2, "approx", "ftz"},
    {"sin", approximate<sine>, 2, "approx", "ftz"},
    {"cos", approximate<cosine>, 2, "approx", "ftz"},
    {"tanh", approximate<hyperbolic_tangent>, 2, "approx", "ftz"},
    {"tanh", half<hyperbolic_tangent, false>, 2, "approx", "ftz"},
};

}  // namespace

std::span<const Opcode> special_opcodes() {
  return table;
}

}  // namespace weft::simulator
