// Floating-point add, sub, mul, fma, mad and div: PTX ISA, chapters 9.7.3 to 9.7.5. Compiled with
// -frounding-math.
#include <weft/backends/simulator/execute/numbers.h>

#include <algorithm>

namespace weft::simulator {
namespace {

// The operations on f32 and f64, rounded as the host does at the time.
constexpr auto sum = []<class T>(T a, T b) { return a + b; };
constexpr auto difference = []<class T>(T a, T b) { return a - b; };
constexpr auto product = []<class T>(T a, T b) { return a * b; };
constexpr auto quotient = []<class T>(T a, T b) { return a / b; };
constexpr auto fused = []<class T>(T a, T b, T c) { return std::fma(a, b, c); };

/// div.approx.f32: beyond 2^126 the divisor's reciprocal is taken for zero.
constexpr auto rough_quotient = [](float a, float b) {
  const float size = std::fabs(b);
  if (size > 0x1p126F && size < std::numeric_limits<float>::infinity())
    b = std::copysign(std::numeric_limits<float>::infinity(), b);
  return a / b;
};

// On 16-bit formats: exact in double up to the last addition, which rounds to odd.
constexpr auto half_difference = [](double a, double b) { return odd_sum(a, -b); };
constexpr auto half_product = [](double a, double b) { return a * b; };
constexpr auto half_fused = [](double a, double b, double c) { return odd_sum(a * b, c); };

template <auto function>
constexpr std::size_t sources_of = std::invocable<decltype(function), float, float> ? 2 : 3;

/// result = of_lane(sources...), all of them of R, as many as `function` has.
template <auto function, class R, class F>
void assign_as(Warp& warp, const Operation& operation, F of_lane) {
  if constexpr (sources_of<function> == 2)
    warp.assign<R, R, R>(operation, of_lane);
  else
    warp.assign<R, R, R, R>(operation, of_lane);
}

/// A result as large as the least normal number may have been rounded up to it; .ftz looks at it before.
template <auto function, class... S>
bool is_tiny(S... sources) {
  const RoundingScope scope(Rounding::zero);
  // Volatile, so that the compiler computes it here, in this rounding.
  const auto kept = [](float source) {
    const volatile float copy = source;
    return float{copy};
  };
  const volatile float inwards = function(kept(sources)...);
  return std::fabs(inwards) < std::numeric_limits<float>::min();
}

template <auto function, bool flushes, bool saturates>
void run_single(Warp& warp, const Operation& operation) {
  assign_as<function, U32>(warp, operation, [](auto... raw) {
    const float value = function(single_source<flushes>(raw)...);
    const U32 bits = finished<flushes, saturates>(value);
    if constexpr (flushes) {
      if ((bits & ~Single::sign) == Single::least_normal && is_tiny<function>(single_source<flushes>(raw)...))
        return bits & Single::sign;
    }
    return bits;
  });
}

template <auto function>
void run_double(Warp& warp, const Operation& operation) {
  assign_as<function, double>(warp, operation, function);
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

template <auto function>
Handler single_handler(const Instruction& instruction, Operation& operation) {
  operation.pipe = Pipe::single;
  operation.lane_bytes = {4, 4, 4, 4};
  const auto make = [&]<bool flushes, bool saturates>() {
    return with_rounding<run_single<function, flushes, saturates>>(instruction, operation);
  };
  return with_constants(make, instruction.has("ftz"), instruction.has("sat"));
}

template <auto function>
Handler double_handler(const Instruction& instruction, Operation& operation) {
  operation.pipe = Pipe::wide;
  operation.lane_bytes = {8, 8, 8, 8};
  if (instruction.has("ftz") || instruction.has("sat")) return nullptr;
  return with_rounding<run_double<function>>(instruction, operation);
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

template <auto function, class F, bool is_plain, bool is_packed>
void run_half(Warp& warp, const Operation& operation) {
  const std::uint32_t flags = operation.flags;
  const auto one = [flags](auto... raw) {
    return U32{rounded_half<F, is_plain>(function(half_source<F, is_plain>(static_cast<U16>(raw), flags)...),
                                         flags)};
  };
  assign_as<function, U32>(warp, operation, [&one](auto... raw) {
    if constexpr (is_packed) return one(raw...) | one((raw >> 16)...) << 16;
    return one(raw...);
  });
}

template <auto function, class F, bool is_packed>
Handler half_handler(const Instruction& instruction, Operation& operation) {
  operation.pipe = Pipe::half;
  operation.lane_bytes = {4, 4, 4, 4};
  if (rounding_of(instruction).value_or(Rounding::nearest) != Rounding::nearest) return nullptr;
  operation.flags = (instruction.has("ftz") ? flag_flush : 0) | (instruction.has("sat") ? flag_saturate : 0) |
                    (instruction.has("relu") ? flag_rectify : 0);
  const bool has_sat_or_ftz = (operation.flags & (flag_flush | flag_saturate)) != 0;
  if (std::is_same_v<F, Bfloat> && has_sat_or_ftz) return nullptr;
  return operation.flags == 0 ? run_half<function, F, true, is_packed>
                              : run_half<function, F, false, is_packed>;
}

template <auto function, auto half_function>
Handler choose(const Instruction& instruction, Operation& operation) {
  if (operation.count != sources_of<function> + 1) return nullptr;
  return for_floating(operation.type, [&]<class F, bool is_packed>() {
    if constexpr (sizeof(typename F::Bits) == 2)
      return half_handler<half_function, F, is_packed>(instruction, operation);
    if (instruction.has("relu")) return Handler{};
    if constexpr (std::is_same_v<F, Double>) return double_handler<function>(instruction, operation);
    return single_handler<function>(instruction, operation);
  });
}

Handler choose_fma(const Instruction& instruction, Operation& operation) {
  return rounding_of(instruction) ? choose<fused, half_fused>(instruction, operation) : nullptr;
}

/// On every architecture that weft knows, mad is fma.
Handler choose_mad(const Instruction& instruction, Operation& operation) {
  const bool is_wide_enough = operation.type == Type::f32 || operation.type == Type::f64;
  return is_wide_enough ? choose_fma(instruction, operation) : nullptr;
}

Handler choose_div(const Instruction& instruction, Operation& operation) {
  if (operation.count != 3) return nullptr;
  const bool is_rounded = rounding_of(instruction).has_value();
  Handler handler = nullptr;
  if (operation.type == Type::f64 && is_rounded) handler = double_handler<quotient>(instruction, operation);
  if (operation.type == Type::f32 && (is_rounded || instruction.has("full")))
    handler = single_handler<quotient>(instruction, operation);
  if (operation.type == Type::f32 && !is_rounded && instruction.has("approx"))
    handler = single_handler<rough_quotient>(instruction, operation);
  operation.pipe = operation.type == Type::f64 ? Pipe::wide : Pipe::special;
  return handler;
}

constexpr Opcode table[] = {
    {"add", choose<sum, odd_sum>, 3, "", "rn rz rm rp ftz sat"},
    {"sub", choose<difference, half_difference>, 3, "", "rn rz rm rp ftz sat"},
    {"mul", choose<product, half_product>, 3, "", "rn rz rm rp ftz sat"},
    {"fma", choose_fma, 4, "", "rn rz rm rp ftz sat relu"},
    {"mad", choose_mad, 4, "", "rn rz rm rp ftz sat"},
    {"div", choose_div, 3, "", "rn rz rm rp ftz approx full"},
};

}  // namespace

std::span<const Opcode> floating_opcodes() {
  return table;
}

}  // namespace weft::simulator
