// Floating-point add, sub, mul, fma, mad and div: PTX ISA, chapters 9.7.3 to 9.7.5. Compiled with
// -frounding-math.
#include <weft/backends/simulator/execute/numbers.h>

#include <algorithm>

namespace weft::simulator {
namespace {

using ptx::Instruction;
using ptx::Type;
using U32 = std::uint32_t;
using U16 = std::uint16_t;

/// The operations on values of T, rounded as the host does at the time.
template <class T>
struct Plus {
  static constexpr std::size_t sources = 2;
  T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct Minus {
  static constexpr std::size_t sources = 2;
  T operator()(T a, T b) const { return a - b; }
};
template <class T>
struct Times {
  static constexpr std::size_t sources = 2;
  T operator()(T a, T b) const { return a * b; }
};
template <class T>
struct Over {
  static constexpr std::size_t sources = 2;
  T operator()(T a, T b) const { return a / b; }
};
template <class T>
struct Fused {
  static constexpr std::size_t sources = 3;
  T operator()(T a, T b, T c) const { return std::fma(a, b, c); }
};

/// div.approx.f32: beyond 2^126 the divisor's reciprocal is taken for zero.
struct RoughlyOver {
  static constexpr std::size_t sources = 2;
  float operator()(float a, float b) const {
    const float size = std::fabs(b);
    if (size > 0x1p126F && size < std::numeric_limits<float>::infinity())
      b = std::copysign(std::numeric_limits<float>::infinity(), b);
    return a / b;
  }
};

/// A result as large as the least normal number may have been rounded up to it; .ftz looks at it before.
template <class Function, class... S>
bool is_tiny(S... sources) {
  const RoundingScope scope(Rounding::zero);
  // Volatile, so that the compiler computes it here, in this rounding.
  const auto kept = [](float source) {
    const volatile float copy = source;
    return float{copy};
  };
  const volatile float inwards = Function{}(kept(sources)...);
  return std::fabs(inwards) < std::numeric_limits<float>::min();
}

template <class Function, bool flushes, bool saturates, class... S>
U32 single_result(S... raw) {
  const float value = Function{}(single_source<flushes>(raw)...);
  const U32 bits = finished<flushes, saturates>(value);
  if constexpr (flushes) {
    if ((bits & ~Single::sign) == Single::least_normal && is_tiny<Function>(single_source<flushes>(raw)...))
      return bits & Single::sign;
  }
  return bits;
}

template <class Function, bool flushes, bool saturates>
void run_single(Warp& warp, const Operation& operation) {
  if constexpr (Function::sources == 2) {
    warp.assign<U32, U32, U32>(
        operation, [](U32 a, U32 b) { return single_result<Function, flushes, saturates>(a, b); });
  } else {
    warp.assign<U32, U32, U32, U32>(
        operation, [](U32 a, U32 b, U32 c) { return single_result<Function, flushes, saturates>(a, b, c); });
  }
}

template <class Function>
void run_double(Warp& warp, const Operation& operation) {
  using D = double;
  if constexpr (Function::sources == 2) {
    warp.assign<D, D, D>(operation, Function{});
  } else {
    warp.assign<D, D, D, D>(operation, Function{});
  }
}

/// A handler in the rounding that `variant` names.
template <Handler inner>
void run_rounded(Warp& warp, const Operation& operation) {
  const RoundingScope scope(static_cast<Rounding>(operation.variant));
  inner(warp, operation);
}

template <Handler inner>
Handler with_rounding(const Instruction& instruction, Operation& operation) {
  const Rounding rounding = rounding_of(instruction).value_or(Rounding::nearest);
  operation.variant = static_cast<std::uint16_t>(rounding);
  return rounding == Rounding::nearest ? inner : run_rounded<inner>;
}

template <class Function>
Handler single_handler(const Instruction& instruction, Operation& operation) {
  operation.pipe = Pipe::single;
  operation.lane_bytes = {4, 4, 4, 4};
  if (operation.count != Function::sources + 1) return nullptr;
  if (instruction.has("ftz"))
    return instruction.has("sat") ? with_rounding<run_single<Function, true, true>>(instruction, operation)
                                  : with_rounding<run_single<Function, true, false>>(instruction, operation);
  return instruction.has("sat") ? with_rounding<run_single<Function, false, true>>(instruction, operation)
                                : with_rounding<run_single<Function, false, false>>(instruction, operation);
}

template <class Function>
Handler double_handler(const Instruction& instruction, Operation& operation) {
  operation.pipe = Pipe::wide;
  operation.lane_bytes = {8, 8, 8, 8};
  if (operation.count != Function::sources + 1 || instruction.has("ftz") || instruction.has("sat"))
    return nullptr;
  return with_rounding<run_double<Function>>(instruction, operation);
}

/// The 16-bit formats. `flags` says what else is asked for.
constexpr std::uint32_t flag_flush = 1, flag_saturate = 2, flag_rectify = 4;

template <class F, bool is_plain>
U16 rounded_half(double value, std::uint32_t flags) {
  U16 bits = encode<F>(value);
  if constexpr (!is_plain) {
    // Before the value is rounded, which may make it normal.
    if ((flags & flag_flush) != 0 && std::fabs(value) < two_to(1 - F::bias)) bits &= F::sign;
    if ((flags & flag_saturate) != 0) bits = value > 0 ? std::min(bits, encode<F>(1.0)) : U16{0};
    if ((flags & flag_rectify) != 0 && (bits & F::sign) != 0) bits = 0;
  }
  return bits;
}

template <class F, bool is_plain>
double half_source(U16 bits, std::uint32_t flags) {
  if constexpr (!is_plain) {
    if ((flags & flag_flush) != 0) bits = flushed<F>(bits);
  }
  return decode<F>(bits);
}

/// Exact in double up to the last addition, which rounds to odd.
struct HalfPlus {
  static constexpr std::size_t sources = 2;
  double operator()(double a, double b) const { return odd_sum(a, b); }
};
struct HalfMinus {
  static constexpr std::size_t sources = 2;
  double operator()(double a, double b) const { return odd_sum(a, -b); }
};
struct HalfTimes {
  static constexpr std::size_t sources = 2;
  double operator()(double a, double b) const { return a * b; }
};
struct HalfFused {
  static constexpr std::size_t sources = 3;
  double operator()(double a, double b, double c) const { return odd_sum(a * b, c); }
};

template <class F, class Function, bool is_plain, bool is_packed>
void run_half(Warp& warp, const Operation& operation) {
  const std::uint32_t flags = operation.flags;
  const auto one = [flags](auto... raw) {
    return U32{rounded_half<F, is_plain>(
        Function{}(half_source<F, is_plain>(static_cast<U16>(raw), flags)...), flags)};
  };
  const auto all = [&one](auto... raw) {
    if constexpr (is_packed) return one(raw...) | one((raw >> 16)...) << 16;
    return one(raw...);
  };
  if constexpr (Function::sources == 2) {
    warp.assign<U32, U32, U32>(operation, all);
  } else {
    warp.assign<U32, U32, U32, U32>(operation, all);
  }
}

template <class F, class Function>
Handler half_handler(const Instruction& instruction, Operation& operation, bool is_packed) {
  operation.pipe = Pipe::half;
  operation.lane_bytes = {4, 4, 4, 4};
  const Rounding rounding = rounding_of(instruction).value_or(Rounding::nearest);
  if (operation.count != Function::sources + 1 || rounding != Rounding::nearest) return nullptr;
  operation.flags = (instruction.has("ftz") ? flag_flush : 0) | (instruction.has("sat") ? flag_saturate : 0) |
                    (instruction.has("relu") ? flag_rectify : 0);
  if (operation.flags == 0)
    return is_packed ? run_half<F, Function, true, true> : run_half<F, Function, true, false>;
  return is_packed ? run_half<F, Function, false, true> : run_half<F, Function, false, false>;
}

template <template <class> class Function, class HalfFunction>
Handler choose_for_types(const Instruction& instruction, Operation& operation) {
  switch (operation.type) {
    case Type::f32:
      return instruction.has("relu") ? nullptr : single_handler<Function<float>>(instruction, operation);
    case Type::f64:
      return instruction.has("relu") ? nullptr : double_handler<Function<double>>(instruction, operation);
    case Type::f16:
    case Type::f16x2:
      return half_handler<Half, HalfFunction>(instruction, operation, operation.type == Type::f16x2);
    case Type::bf16:
    case Type::bf16x2:
      if (instruction.has("ftz") || instruction.has("sat")) return nullptr;
      return half_handler<Bfloat, HalfFunction>(instruction, operation, operation.type == Type::bf16x2);
    default:
      return nullptr;
  }
}

bool is_arithmetic(const Instruction& instruction) {
  return has_sources(instruction) && has_only(instruction, 1, {"rn", "rz", "rm", "rp", "ftz", "sat"});
}

Handler choose_add(const Instruction& instruction, Operation& operation) {
  return is_arithmetic(instruction) ? choose_for_types<Plus, HalfPlus>(instruction, operation) : nullptr;
}
Handler choose_sub(const Instruction& instruction, Operation& operation) {
  return is_arithmetic(instruction) ? choose_for_types<Minus, HalfMinus>(instruction, operation) : nullptr;
}
Handler choose_mul(const Instruction& instruction, Operation& operation) {
  return is_arithmetic(instruction) ? choose_for_types<Times, HalfTimes>(instruction, operation) : nullptr;
}

Handler choose_fma(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) ||
      !has_only(instruction, 1, {"rn", "rz", "rm", "rp", "ftz", "sat", "relu"}) || !rounding_of(instruction))
    return nullptr;
  return choose_for_types<Fused, HalfFused>(instruction, operation);
}

/// On every architecture that weft knows, mad is fma.
Handler choose_mad(const Instruction& instruction, Operation& operation) {
  if (!is_arithmetic(instruction) || !rounding_of(instruction)) return nullptr;
  if (operation.type == Type::f32) return single_handler<Fused<float>>(instruction, operation);
  if (operation.type == Type::f64) return double_handler<Fused<double>>(instruction, operation);
  return nullptr;
}

Handler choose_div(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || instruction.modifiers.empty() ||
      !has_only(instruction, 1, {"rn", "rz", "rm", "rp", "ftz", "approx", "full"}))
    return nullptr;
  const bool is_rounded = rounding_of(instruction).has_value();
  Handler handler = nullptr;
  if (operation.type == Type::f64 && is_rounded)
    handler = double_handler<Over<double>>(instruction, operation);
  if (operation.type == Type::f32 && (is_rounded || instruction.has("full")))
    handler = single_handler<Over<float>>(instruction, operation);
  if (operation.type == Type::f32 && !is_rounded && instruction.has("approx"))
    handler = single_handler<RoughlyOver>(instruction, operation);
  operation.pipe = operation.type == Type::f64 ? Pipe::wide : Pipe::special;
  return handler;
}

constexpr Opcode arithmetic[] = {{"add", choose_add}, {"sub", choose_sub}, {"mul", choose_mul},
                                 {"fma", choose_fma}, {"mad", choose_mad}, {"div", choose_div}};

}  // namespace

std::span<const Opcode> floating_opcodes() {
  static const std::vector<Opcode> table = joined({arithmetic, selection_opcodes()});
  return table;
}

}  // namespace weft::simulator
