// Floating-point min, max, abs, neg, copysign and testp: PTX ISA, chapters 9.7.3 and 9.7.4. They work on
// bits: nothing is rounded.
#include <weft/backends/simulator/execute/numbers.h>

namespace weft::simulator {
namespace {

using ptx::Instruction;
using ptx::Type;
using U32 = std::uint32_t;

/// The format of f64, for functions of bits only.
using Double = Format<std::uint64_t, 52, 11>;

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

template <class F, ExtremeOptions options, bool is_packed>
Handler extreme_handler(Operation& operation) {
  using Bits = typename F::Bits;
  if constexpr (is_packed) {
    return lanewise<Pair, Pair, Pair>(operation, [](Pair a, Pair b) {
      return Pair{extreme<F, options>(a.low, b.low), extreme<F, options>(a.high, b.high)};
    });
  } else {
    return lanewise<Bits, Bits, Bits>(operation, [](Bits a, Bits b) { return extreme<F, options>(a, b); });
  }
}

template <class F, bool is_packed>
Handler extreme_of(const Instruction& instruction, Operation& operation) {
  const auto with_sign = [&]<bool max, bool ftz, bool nan>() {
    return instruction.has("xorsign") ? extreme_handler<F, {max, ftz, nan, true}, is_packed>(operation)
                                      : extreme_handler<F, {max, ftz, nan, false}, is_packed>(operation);
  };
  const auto with_nan = [&]<bool max, bool ftz>() {
    return instruction.has("NaN") ? with_sign.template operator()<max, ftz, true>()
                                  : with_sign.template operator()<max, ftz, false>();
  };
  const auto with_flush = [&]<bool max>() {
    return instruction.has("ftz") ? with_nan.template operator()<max, true>()
                                  : with_nan.template operator()<max, false>();
  };
  return instruction.opcode == "max" ? with_flush.template operator()<true>()
                                     : with_flush.template operator()<false>();
}

Handler choose_extreme(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {"ftz", "NaN", "xorsign", "abs"}) ||
      instruction.has("xorsign") != instruction.has("abs"))
    return nullptr;
  const bool is_bfloat = operation.type == Type::bf16 || operation.type == Type::bf16x2;
  if (is_bfloat && instruction.has("ftz")) return nullptr;
  operation.pipe = operation.type == Type::f32 ? Pipe::integer : Pipe::half;
  switch (operation.type) {
    case Type::f32:
      return extreme_of<Single, false>(instruction, operation);
    case Type::f16:
      return extreme_of<Half, false>(instruction, operation);
    case Type::f16x2:
      return extreme_of<Half, true>(instruction, operation);
    case Type::bf16:
      return extreme_of<Bfloat, false>(instruction, operation);
    case Type::bf16x2:
      return extreme_of<Bfloat, true>(instruction, operation);
    case Type::f64:
      operation.pipe = Pipe::wide;
      return instruction.modifiers.size() == 1 ? extreme_of<Double, false>(instruction, operation) : nullptr;
    default:
      return nullptr;
  }
}

template <class F, bool flushes, bool is_abs>
typename F::Bits with_sign_changed(typename F::Bits bits) {
  using Bits = typename F::Bits;
  if (flushes) bits = flushed<F>(bits);
  return static_cast<Bits>(is_abs ? bits & ~F::sign : bits ^ F::sign);
}

template <class F, bool is_packed>
Handler sign_of(const Instruction& instruction, Operation& operation) {
  using Bits = typename F::Bits;
  const auto make = [&]<bool flushes, bool is_abs>() {
    if constexpr (is_packed) {
      return lanewise<Pair, Pair>(operation, [](Pair a) {
        return Pair{with_sign_changed<F, flushes, is_abs>(a.low),
                    with_sign_changed<F, flushes, is_abs>(a.high)};
      });
    } else {
      return lanewise<Bits, Bits>(operation, [](Bits a) { return with_sign_changed<F, flushes, is_abs>(a); });
    }
  };
  if (instruction.opcode == "abs")
    return instruction.has("ftz") ? make.template operator()<true, true>()
                                  : make.template operator()<false, true>();
  return instruction.has("ftz") ? make.template operator()<true, false>()
                                : make.template operator()<false, false>();
}

Handler choose_sign(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {"ftz"})) return nullptr;
  operation.pipe = Pipe::half;
  switch (operation.type) {
    case Type::f32:
      operation.pipe = Pipe::single;
      return sign_of<Single, false>(instruction, operation);
    case Type::f64:
      operation.pipe = Pipe::wide;
      return instruction.has("ftz") ? nullptr : sign_of<Double, false>(instruction, operation);
    case Type::f16:
      return sign_of<Half, false>(instruction, operation);
    case Type::f16x2:
      return sign_of<Half, true>(instruction, operation);
    case Type::bf16:
      return sign_of<Bfloat, false>(instruction, operation);
    case Type::bf16x2:
      return sign_of<Bfloat, true>(instruction, operation);
    default:
      return nullptr;
  }
}

template <class F>
Handler copysign_of(Operation& operation) {
  using Bits = typename F::Bits;
  return lanewise<Bits, Bits, Bits>(operation, [](Bits sign, Bits value) {
    return static_cast<Bits>((sign & F::sign) | (value & ~F::sign));
  });
}

Handler choose_copysign(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {})) return nullptr;
  if (operation.type == Type::f32) return copysign_of<Single>(operation);
  if (operation.type == Type::f64) return copysign_of<Double>(operation);
  return nullptr;
}

enum class Property : std::uint16_t { finite, infinite, number, notanumber, normal, subnormal };

/// Zeros count as normal.
template <class F>
bool has_property(typename F::Bits bits, Property property) {
  const auto magnitude = static_cast<typename F::Bits>(bits & (F::sign - 1));
  switch (property) {
    case Property::finite:
      return magnitude < F::infinity;
    case Property::infinite:
      return magnitude == F::infinity;
    case Property::number:
      return magnitude <= F::infinity;
    case Property::notanumber:
      return magnitude > F::infinity;
    case Property::normal:
      return magnitude == 0 || (magnitude >= F::least_normal && magnitude < F::infinity);
    case Property::subnormal:
      return magnitude != 0 && magnitude < F::least_normal;
  }
  return false;
}

template <class F>
void run_testp(Warp& warp, const Operation& operation) {
  const auto* values = warp.source<typename F::Bits>(operation, 1);
  Mask result = 0;
  for (unsigned lane = 0; lane < lanes; ++lane)
    result |= Mask{has_property<F>(values[lane], static_cast<Property>(operation.variant))} << lane;
  warp.set_mask(operation, 0, result);
}

Handler choose_testp(const Instruction& instruction, Operation& operation) {
  constexpr std::string_view names[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
  if (!has_sources(instruction) || operation.count != 2 || instruction.modifiers.size() != 2) return nullptr;
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (!instruction.has(names[i])) continue;
    operation.variant = static_cast<std::uint16_t>(i);
    operation.lane_bytes = {1, lane_bytes_of(operation.type)};
    if (operation.type == Type::f32) return run_testp<Single>;
    if (operation.type == Type::f64) return run_testp<Double>;
  }
  return nullptr;
}

constexpr Opcode table[] = {{"min", choose_extreme}, {"max", choose_extreme},       {"abs", choose_sign},
                            {"neg", choose_sign},    {"copysign", choose_copysign}, {"testp", choose_testp}};

}  // namespace

std::span<const Opcode> selection_opcodes() {
  return table;
}

}  // namespace weft::simulator
