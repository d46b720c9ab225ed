// Floating-point min, max, abs, neg, copysign and testp: PTX ISA, chapters 9.7.3 and 9.7.4. They work on
// bits: nothing is rounded.
#include <weft/backends/simulator/execute/numbers.h>

namespace weft::simulator {
namespace {

/// Bits as an integer that orders as the values do, -0 below +0.
template <class F>
auto ordered(typename F::Bits bits) {
  using Bits = typename F::Bits;
  using Signed = std::make_signed_t<Bits>;
  const auto value = static_cast<Signed>(bits);
  return value < 0 ? static_cast<Signed>(value ^ static_cast<Signed>(F::sign - 1)) : value;
}

struct ExtremeOptions {
  bool is_max = false, flushes = false, keeps_nan = false, xor_sign = false;
};

template <class F, ExtremeOptions options>
typename F::Bits extreme(typename F::Bits a, typename F::Bits b) {
  using Bits = typename F::Bits;
  if (options.flushes) {
    a = flushed<F>(a);
    b = flushed<F>(b);
  }
  const auto sign = static_cast<Bits>((a ^ b) & F::sign);
  if (options.xor_sign) {
    a = static_cast<Bits>(a & ~F::sign);
    b = static_cast<Bits>(b & ~F::sign);
  }
  const bool a_nan = is_nan<F>(a), b_nan = is_nan<F>(b);
  Bits result = (ordered<F>(a) > ordered<F>(b)) == options.is_max ? a : b;
  if (a_nan || b_nan) {
    if (options.keeps_nan || (a_nan && b_nan)) return F::nan;
    result = a_nan ? b : a;
  }
  return options.xor_sign ? static_cast<Bits>(result | sign) : result;
}

/// The handler of a function of the bits of F, each half of a pair by itself.
template <class F, bool is_packed, auto function>
Handler on_bits(Operation& operation) {
  using Bits = typename F::Bits;
  constexpr bool is_unary = std::invocable<decltype(function), Bits>;
  if constexpr (is_packed && is_unary) {
    return lanewise(operation, [](Pair a) { return Pair{function(a.low), function(a.high)}; });
  } else if constexpr (is_packed) {
    return lanewise(operation,
                    [](Pair a, Pair b) { return Pair{function(a.low, b.low), function(a.high, b.high)}; });
  } else if constexpr (is_unary) {
    return lanewise(operation, [](Bits a) { return function(a); });
  } else {
    return lanewise(operation, [](Bits a, Bits b) { return function(a, b); });
  }
}

template <bool is_max>
Handler choose_extreme(const Instruction& instruction, Operation& operation) {
  const bool flushes = instruction.has("ftz"), xor_sign = instruction.has("xorsign");
  const bool is_bfloat = operation.type == Type::bf16 || operation.type == Type::bf16x2;
  const bool is_double = operation.type == Type::f64;
  if (xor_sign != instruction.has("abs") || (is_bfloat && flushes)) return nullptr;
  if (is_double && instruction.modifiers.size() != 1) return nullptr;
  operation.pipe = is_double ? Pipe::wide : operation.type == Type::f32 ? Pipe::integer : Pipe::half;
  return for_floating(operation.type, [&]<class F, bool is_packed>() {
    const auto make = [&]<bool ftz, bool nan, bool sign>() {
      return on_bits<F, is_packed, extreme<F, ExtremeOptions{is_max, ftz, nan, sign}>>(operation);
    };
    return with_constants(make, flushes, instruction.has("NaN"), xor_sign);
  });
}

template <class F, bool flushes, bool is_abs>
typename F::Bits with_sign_changed(typename F::Bits bits) {
  using Bits = typename F::Bits;
  if (flushes) bits = flushed<F>(bits);
  return static_cast<Bits>(is_abs ? bits & ~F::sign : bits ^ F::sign);
}

template <bool is_abs>
Handler choose_sign(const Instruction& instruction, Operation& operation) {
  const bool is_double = operation.type == Type::f64;
  if (is_double && instruction.has("ftz")) return nullptr;
  operation.pipe = is_double ? Pipe::wide : operation.type == Type::f32 ? Pipe::single : Pipe::half;
  return for_floating(operation.type, [&]<class F, bool is_packed>() {
    const auto make = [&]<bool flushes>() {
      return on_bits<F, is_packed, with_sign_changed<F, flushes, is_abs>>(operation);
    };
    return with_constants(make, instruction.has("ftz"));
  });
}

template <class F>
typename F::Bits with_sign_of(typename F::Bits sign, typename F::Bits value) {
  return static_cast<typename F::Bits>((sign & F::sign) | (value & ~F::sign));
}

Handler choose_copysign(const Instruction&, Operation& operation) {
  if (operation.type == Type::f32) return on_bits<Single, false, with_sign_of<Single>>(operation);
  if (operation.type == Type::f64) return on_bits<Double, false, with_sign_of<Double>>(operation);
  return nullptr;
}

enum class Property : std::uint16_t { finite, infinite, number, notanumber, normal, subnormal };

/// Zeros count as normal.
template <class F>
bool has_property(typename F::Bits bits, Property property) {
  const auto magnitude = static_cast<typename F::Bits>(bits & (F::sign - 1));
  switch (property) {
    case Property::finite: return magnitude < F::infinity;
    case Property::infinite: return magnitude == F::infinity;
    case Property::number: return magnitude <= F::infinity;
    case Property::notanumber: return magnitude > F::infinity;
    case Property::normal: return magnitude == 0 || (magnitude >= F::least_normal && magnitude < F::infinity);
    case Property::subnormal: return magnitude != 0 && magnitude < F::least_normal;
  }
  return false;
}

template <class F>
void run_testp(Warp& warp, const Operation& operation) {
  const auto* values = warp.source<typename F::Bits>(operation, 1);
  const auto property = static_cast<Property>(operation.variant);
  warp.set_mask(operation, 0,
                lanes_where([&](std::size_t lane) { return has_property<F>(values[lane], property); }));
}

template <Property property>
Handler choose_testp(const Instruction&, Operation& operation) {
  if (operation.count != 2) return nullptr;
  operation.variant = static_cast<std::uint16_t>(property);
  operation.lane_bytes = {1, lane_bytes_of(operation.type)};
  if (operation.type == Type::f32) return run_testp<Single>;
  return operation.type == Type::f64 ? run_testp<Double> : nullptr;
}

constexpr Opcode table[] = {
    {"min", choose_extreme<false>, 3, "", "ftz NaN xorsign abs"},
    {"max", choose_extreme<true>, 3, "", "ftz NaN xorsign abs"},
    {"abs", choose_sign<true>, 2, "", "ftz"},
    {"neg", choose_sign<false>, 2, "", "ftz"},
    {"copysign", choose_copysign, 3},
    {"testp", choose_testp<Property::finite>, 2, "finite"},
    {"testp", choose_testp<Property::infinite>, 2, "infinite"},
    {"testp", choose_testp<Property::number>, 2, "number"},
    {"testp", choose_testp<Property::notanumber>, 2, "notanumber"},
    {"testp", choose_testp<Property::normal>, 2, "normal"},
    {"testp", choose_testp<Property::subnormal>, 2, "subnormal"},
};

}  // namespace

std::span<const Opcode> selection_opcodes() {
  return table;
}

}  // namespace weft::simulator
