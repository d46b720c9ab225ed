// rcp, sqrt, rsqrt, ex2, lg2, sin, cos and tanh: PTX ISA, chapters 9.7.3 to 9.7.5. Compiled with
// -frounding-math. What the ISA calls approximate is computed more exactly than it asks for.
#include <weft/backends/simulator/execute/numbers.h>

namespace weft::simulator {
namespace {

using ptx::Instruction;
using ptx::Type;
using U32 = std::uint32_t;
using U16 = std::uint16_t;
using U64 = std::uint64_t;

// Exact up to one rounding, in the rounding that the host has at the time.
struct Reciprocal {
  template <class T>
  T operator()(T x) const {
    return T{1} / x;
  }
};
struct Root {
  template <class T>
  T operator()(T x) const {
    return std::sqrt(x);
  }
};

// In double, rounded once more.
struct RoughReciprocal {
  double operator()(double x) const { return 1.0 / x; }
};
struct RoughRoot {
  double operator()(double x) const { return std::sqrt(x); }
};
struct RoughRootReciprocal {
  double operator()(double x) const { return 1.0 / std::sqrt(x); }
};
struct Exponential {
  double operator()(double x) const { return std::exp2(x); }
};
struct Logarithm {
  double operator()(double x) const { return std::log2(x); }
};
struct Sine {
  double operator()(double x) const { return std::sin(x); }
};
struct Cosine {
  double operator()(double x) const { return std::cos(x); }
};
struct HyperbolicTangent {
  double operator()(double x) const { return std::tanh(x); }
};

template <class Function, bool flushes>
void run_approximate(Warp& warp, const Operation& operation) {
  warp.assign<U32, U32>(operation, [](U32 raw) {
    const double value = Function{}(double{single_source<flushes>(raw)});
    return finished<flushes, false>(static_cast<float>(value));
  });
}

template <class Function>
Handler approximate(const Instruction& instruction, Operation& operation) {
  if (operation.type != Type::f32 || operation.count != 2 || !has_sources(instruction) ||
      !has_only(instruction, 1, {"approx", "ftz"}) || !instruction.has("approx"))
    return nullptr;
  operation.pipe = Pipe::special;
  operation.lane_bytes = {4, 4};
  return instruction.has("ftz") ? run_approximate<Function, true> : run_approximate<Function, false>;
}

template <class Function, bool flushes>
void run_single(Warp& warp, const Operation& operation) {
  const RoundingScope scope(static_cast<Rounding>(operation.variant));
  warp.assign<U32, U32>(
      operation, [](U32 raw) { return finished<flushes, false>(Function{}(single_source<flushes>(raw))); });
}

template <class Function>
void run_double(Warp& warp, const Operation& operation) {
  const RoundingScope scope(static_cast<Rounding>(operation.variant));
  warp.assign<double, double>(operation, Function{});
}

template <class Function>
Handler rounded(const Instruction& instruction, Operation& operation) {
  const auto rounding = rounding_of(instruction);
  if (!rounding || operation.count != 2 || !has_sources(instruction) ||
      !has_only(instruction, 1, {"rn", "rz", "rm", "rp", "ftz"}))
    return nullptr;
  operation.variant = static_cast<std::uint16_t>(*rounding);
  operation.pipe = operation.type == Type::f64 ? Pipe::wide : Pipe::special;
  operation.lane_bytes = {lane_bytes_of(operation.type), lane_bytes_of(operation.type)};
  if (operation.type == Type::f64) return instruction.has("ftz") ? nullptr : run_double<Function>;
  if (operation.type != Type::f32) return nullptr;
  return instruction.has("ftz") ? run_single<Function, true> : run_single<Function, false>;
}

/// The approximations of f64 look at the upper half of their source and give the upper half of a result.
template <class Function>
void run_upper_half(Warp& warp, const Operation& operation) {
  warp.assign<U64, U64>(operation, [](U64 raw) -> U64 {
    constexpr U64 upper = 0xFFFF'FFFF'0000'0000, sign = U64{1} << 63, least_normal = U64{1} << 52;
    const auto flush = [](U64 bits) { return (bits & ~sign) < least_normal ? bits & sign : bits; };
    const double value = Function{}(std::bit_cast<double>(flush(raw & upper)));
    if (value != value) return 0x7FFF'FFFF'0000'0000;
    return flush(std::bit_cast<U64>(value)) & upper;
  });
}

template <class Function>
Handler upper_half(const Instruction& instruction, Operation& operation) {
  if (operation.type != Type::f64 || operation.count != 2 || !has_sources(instruction) ||
      !has_only(instruction, 1, {"approx", "ftz"}) || !instruction.has("approx"))
    return nullptr;
  operation.pipe = Pipe::special;
  operation.lane_bytes = {8, 8};
  return run_upper_half<Function>;
}

template <class Function, class F, bool flushes, bool is_packed>
void run_half(Warp& warp, const Operation& operation) {
  warp.assign<U32, U32>(operation, [](U32 raw) {
    const auto one = [](U32 bits) {
      auto half = static_cast<U16>(bits);
      if constexpr (flushes) half = flushed<F>(half);
      half = encode<F>(Function{}(decode<F>(half)));
      if constexpr (flushes) half = flushed<F>(half);
      return U32{half};
    };
    return is_packed ? one(raw) | one(raw >> 16) << 16 : one(raw);
  });
}

/// ex2 and tanh of 16-bit formats.
template <class Function, bool flushes_bfloat>
Handler half(const Instruction& instruction, Operation& operation) {
  const bool is_bfloat = operation.type == Type::bf16 || operation.type == Type::bf16x2;
  if (operation.count != 2 || !has_sources(instruction) || !has_only(instruction, 1, {"approx", "ftz"}) ||
      !instruction.has("approx") || instruction.has("ftz") != (is_bfloat && flushes_bfloat))
    return nullptr;
  operation.pipe = Pipe::special;
  operation.lane_bytes = {4, 4};
  switch (operation.type) {
    case Type::f16:
      return run_half<Function, Half, false, false>;
    case Type::f16x2:
      return run_half<Function, Half, false, true>;
    case Type::bf16:
      return run_half<Function, Bfloat, flushes_bfloat, false>;
    case Type::bf16x2:
      return run_half<Function, Bfloat, flushes_bfloat, true>;
    default:
      return nullptr;
  }
}

constexpr Opcode table[] = {
    {"rcp", approximate<RoughReciprocal>},
    {"rcp", rounded<Reciprocal>},
    {"rcp", upper_half<RoughReciprocal>},
    {"sqrt", approximate<RoughRoot>},
    {"sqrt", rounded<Root>},
    {"rsqrt", approximate<RoughRootReciprocal>},
    {"rsqrt", upper_half<RoughRootReciprocal>},
    {"ex2", approximate<Exponential>},
    {"ex2", half<Exponential, true>},
    {"lg2", approximate<Logarithm>},
    {"sin", approximate<Sine>},
    {"cos", approximate<Cosine>},
    {"tanh", approximate<HyperbolicTangent>},
    {"tanh", half<HyperbolicTangent, false>},
};

}  // namespace

std::span<const Opcode> special_opcodes() {
  return table;
}

}  // namespace weft::simulator
