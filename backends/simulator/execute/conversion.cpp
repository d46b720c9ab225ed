// cvt: PTX ISA, chapter 9.7.9.21. Compiled with -frounding-math.
#include <weft/backends/simulator/execute/numbers.h>
#include <weft/dsl/dtype.h>

#include <algorithm>
#include <array>

namespace weft::simulator {
namespace {

constexpr std::uint32_t flag_flush = 1, flag_saturate = 2, flag_finite = 4, flag_rectify = 8;

/// The source register may be wider than S.
template <class S>
std::array<S, lanes> read_lanes(const Warp& warp, const Operation& operation) {
  std::array<S, lanes> values;
  const auto read = [&](const auto* from) {
    for (std::size_t lane = 0; lane < lanes; ++lane)
      values[lane] = from_lane<S>(static_cast<Lane<S>>(from[lane]));
  };
  const bool is_constant = (warp.operand(operation, 1) & constant_row) != 0;
  if (sizeof(S) == 8 || (!is_constant && warp.operand_bytes(operation, 1) == 8))
    read(warp.source<U64>(operation, 1));
  else
    read(warp.source<U32>(operation, 1));
  return values;
}

/// Into a register wider than R, signed values are extended by their sign.
template <class R>
void write_lanes(Warp& warp, const Operation& operation, const std::array<R, lanes>& values) {
  const std::size_t bytes = warp.operand_bytes(operation, 0);
  if (sizeof(R) == 8 || bytes == 8) {
    U64* const to = warp.result<U64>(operation, 0);
    for (const std::size_t lane : lanes_of(warp.active())) {
      if constexpr (std::integral<R>)
        to[lane] = static_cast<U64>(static_cast<std::int64_t>(values[lane]));
      else
        to[lane] = to_lane(values[lane]);
    }
    return;
  }
  const U32 mask = bytes == 2 ? 0xFFFF : (bytes == 1 ? 0xFF : ~U32{0});
  U32* const to = warp.result<U32>(operation, 0);
  for (const std::size_t lane : lanes_of(warp.active())) {
    if constexpr (std::integral<R>)
      to[lane] = static_cast<U32>(values[lane]) & mask;
    else
      to[lane] = static_cast<U32>(to_lane(values[lane]));
  }
}

template <class R, class S, class F>
void convert(Warp& warp, const Operation& operation, F function) {
  const auto from = read_lanes<S>(warp, operation);
  std::array<R, lanes> to;
  for (unsigned lane = 0; lane < lanes; ++lane) to[lane] = function(from[lane]);
  write_lanes(warp, operation, to);
}

template <class R, class S>
R clamped_integer(S value) {
  using Limits = std::numeric_limits<R>;
  if (std::cmp_less(value, Limits::min())) return Limits::min();
  if (std::cmp_greater(value, Limits::max())) return Limits::max();
  return static_cast<R>(value);
}

template <class R, class S>
Handler integer_to_integer(bool saturates) {
  if (saturates) {
    return [](Warp& warp, const Operation& operation) {
      convert<R, S>(warp, operation, [](S value) { return clamped_integer<R>(value); });
    };
  }
  return [](Warp& warp, const Operation& operation) {
    convert<R, S>(warp, operation, [](S value) { return static_cast<R>(value); });
  };
}

// Floating formats by tags: the bits that a lane holds, and their value.

template <class F>
double value_of(typename F::Bits bits, bool flushes) {
  return decode<F>(flushes && !std::is_same_v<F, Double> ? flushed<F>(bits) : bits);
}
template <class F, Rounding rounding>
typename F::Bits bits_of_value(double value, std::uint32_t flags) {
  if constexpr (std::is_same_v<F, Double>) {
    return value != value ? F::nan : std::bit_cast<U64>(value);
  } else {
    using Bits = typename F::Bits;
    Bits bits = encode<F, rounding>(value);
    if (flags == 0) return bits;
    if ((flags & flag_flush) != 0) bits = flushed<F>(bits);
    if ((flags & flag_rectify) != 0 && (bits & F::sign) != 0 && !is_nan<F>(bits)) bits = 0;
    const bool is_infinite = static_cast<Bits>(bits & ~F::sign) == F::infinity;
    if ((flags & flag_finite) != 0 && is_infinite) bits = static_cast<Bits>(bits - (Bits{1} << F::unused));
    return bits;
  }
}
double saturated(double value) {
  return value > 0 ? std::min(value, 1.0) : 0.0;
}

/// To an integral value in the given direction; exact.
double integral(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::zero: return std::trunc(value);
    case Rounding::down: return std::floor(value);
    case Rounding::up: return std::ceil(value);
    case Rounding::nearest:
    case Rounding::away: return std::nearbyint(value);
  }
  return value;
}

/// Out of range gives the nearest integer that there is. NaN gives zero, or the top bit where 64 bits are
/// involved.
template <class R, bool is_double>
R integer_of(double value) {
  using Limits = std::numeric_limits<R>;
  if (value != value) {
    constexpr R top = static_cast<R>(std::make_unsigned_t<R>{1} << (bits_of<R> - 1));
    return is_double || sizeof(R) == 8 ? top : R{0};
  }
  constexpr double above = 2.0 * static_cast<double>(U64{1} << (std::numeric_limits<R>::digits - 1));
  if (value >= above) return Limits::max();
  if (value <= static_cast<double>(Limits::min())) return Limits::min();
  return static_cast<R>(value);
}

template <class R, class F>
void run_to_integer(Warp& warp, const Operation& operation) {
  const auto rounding = static_cast<Rounding>(operation.variant);
  const bool flushes = (operation.flags & flag_flush) != 0;
  convert<R, typename F::Bits>(warp, operation, [=](typename F::Bits bits) {
    return integer_of<R, std::is_same_v<F, Double>>(integral(value_of<F>(bits, flushes), rounding));
  });
}

template <class F, class S, Rounding rounding>
void run_from_integer(Warp& warp, const Operation& operation) {
  const std::uint32_t flags = operation.flags;
  if constexpr (std::is_same_v<F, Double>) {
    const RoundingScope scope(rounding);
    const bool saturates = (flags & flag_saturate) != 0;
    convert<U64, S>(warp, operation, [saturates](S value) {
      const auto number = static_cast<double>(value);
      return std::bit_cast<U64>(saturates ? saturated(number) : number);
    });
  } else {
    convert<typename F::Bits, S>(warp, operation, [flags](S value) {
      const double odd = odd_value(value);
      return bits_of_value<F, rounding>((flags & flag_saturate) != 0 ? saturated(odd) : odd, flags);
    });
  }
}

template <class F, class S, Rounding rounding>
void run_to_floating(Warp& warp, const Operation& operation) {
  const std::uint32_t flags = operation.flags;
  // .ftz is about f32 alone, and on the hardware not about what becomes an f16.
  const bool flushes = (flags & flag_flush) != 0 && std::is_same_v<S, Single> && !std::is_same_v<F, Half>;
  const std::uint32_t result_flags = std::is_same_v<F, Single> ? flags : flags & ~flag_flush;
  convert<typename F::Bits, typename S::Bits>(warp, operation, [=](typename S::Bits bits) {
    // A NaN whose ones are all cut off becomes an infinity.
    if constexpr (std::is_same_v<F, Tensor> && rounding == Rounding::away) {
      if (is_nan<S>(bits)) bits &= ~((U32{1} << F::unused) - 1);
    }
    const double value = value_of<S>(bits, flushes);
    return bits_of_value<F, rounding>((flags & flag_saturate) != 0 ? saturated(value) : value, result_flags);
  });
}

/// Rounds to integral values within a format (cvt.rni.f32.f32).
template <class F>
void run_integral(Warp& warp, const Operation& operation) {
  const std::uint32_t flags = operation.flags;
  const auto rounding = static_cast<Rounding>(operation.variant);
  convert<typename F::Bits, typename F::Bits>(warp, operation, [=](typename F::Bits bits) {
    const double value = std::copysign(1.0, value_of<F>(bits, false)) *
                         std::fabs(integral(value_of<F>(bits, (flags & flag_flush) != 0), rounding));
    return bits_of_value<F, Rounding::nearest>((flags & flag_saturate) != 0 ? saturated(value) : value,
                                               flags);
  });
}

using AllIntegers =
    TypeSet<Type::u8, Type::s8, Type::u16, Type::s16, Type::u32, Type::s32, Type::u64, Type::s64>;

/// Calls `make` with a format; null for packed types and what is no floating one.
template <class Make>
Handler for_formats(Type type, Make make) {
  return for_floating(type, [&]<class F, bool is_packed>() -> Handler {
    if constexpr (is_packed)
      return nullptr;
    else
      return make(F{});
  });
}
template <class Make>
Handler for_rounding(Rounding rounding, Make make) {
  switch (rounding) {
    case Rounding::nearest: return make.template operator()<Rounding::nearest>();
    case Rounding::zero: return make.template operator()<Rounding::zero>();
    case Rounding::down: return make.template operator()<Rounding::down>();
    case Rounding::up: return make.template operator()<Rounding::up>();
    case Rounding::away: return make.template operator()<Rounding::away>();
  }
  return nullptr;
}

/// Two f32 to a pair: `a` goes to the high half.
template <class F, Rounding rounding>
void run_pair(Warp& warp, const Operation& operation) {
  const std::uint32_t flags = operation.flags;
  warp.assign<U32, U32, U32>(operation, [flags](U32 high, U32 low) {
    return U32{bits_of_value<F, rounding>(decode<Single>(high), flags)} << 16 |
           bits_of_value<F, rounding>(decode<Single>(low), flags);
  });
}

Handler choose_pair(Type type, Rounding rounding, const Operation& operation) {
  if (operation.count != 3) return nullptr;
  return for_rounding(rounding, [&]<Rounding mode>() -> Handler {
    return type == Type::f16x2 ? run_pair<Half, mode> : run_pair<Bfloat, mode>;
  });
}

/// Two f32 to a pair of bytes, and such a pair to one of f16: `a` and the upper byte go to the high half.
template <class T>
void run_to_bytes(Warp& warp, const Operation& operation) {
  warp.assign<U32, float, float>(
      operation, [](float high, float low) { return U32{T(high).bits} << 8 | U32{T(low).bits}; });
}
template <class T>
void run_from_bytes(Warp& warp, const Operation& operation) {
  const auto half_of = [](U32 bits) {
    T value;
    value.bits = static_cast<std::uint8_t>(bits);
    return U32{f16(static_cast<float>(value)).bits};
  };
  warp.assign<U32, U32>(operation,
                        [=](U32 pair) { return half_of(pair >> 8 & 0xFF) << 16 | half_of(pair & 0xFF); });
}

bool is_pair_of_bytes(Type type) {
  return type == Type::e4m3x2 || type == Type::e5m2x2;
}

/// As GPUs have them: to nearest, saturated to what is finite.
Handler choose_bytes(const Instruction& instruction, const Operation& operation, Type to, Type from) {
  if (!instruction.has("rn") || instruction.has("relu")) return nullptr;
  if (to == Type::f16x2 && operation.count == 2)
    return from == Type::e4m3x2 ? run_from_bytes<e4m3> : run_from_bytes<e5m2>;
  if (from != Type::f32 || operation.count != 3 || !instruction.has("satfinite")) return nullptr;
  return to == Type::e4m3x2 ? run_to_bytes<e4m3> : run_to_bytes<e5m2>;
}

bool is_integer(Type type) {
  return type >= Type::u8 && type <= Type::s64;
}

Handler choose_floating(const Instruction& instruction, Operation& operation, Type to, Type from) {
  const auto integer_rounding = rounding_of(instruction, "i");
  const Rounding rounding = rounding_of(instruction).value_or(Rounding::nearest);
  if (integer_rounding.has_value()) {
    operation.variant = static_cast<std::uint16_t>(*integer_rounding);
    if (to != from) return nullptr;
    return for_formats(to, []<class F>(F) -> Handler { return run_integral<F>; });
  }
  return for_rounding(rounding, [&]<Rounding mode>() {
    return for_formats(to, [&]<class F>(F) {
      return for_formats(from, []<class S>(S) -> Handler { return run_to_floating<F, S, mode>; });
    });
  });
}

Handler choose_from_integer(const Instruction& instruction, Type to, Type from) {
  const Rounding rounding = rounding_of(instruction).value_or(Rounding::nearest);
  return for_rounding(rounding, [&]<Rounding mode>() {
    return for_formats(to, [&]<class F>(F) {
      return AllIntegers::choose(from, []<class S>(S) -> Handler { return run_from_integer<F, S, mode>; });
    });
  });
}

Handler choose_to_integer(const Instruction& instruction, Operation& operation, Type to, Type from) {
  // Without a rounding, the value is truncated.
  const Rounding rounding = rounding_of(instruction, "i").value_or(Rounding::zero);
  operation.variant = static_cast<std::uint16_t>(rounding);
  return AllIntegers::choose(to, [&]<class R>(R) {
    return for_formats(from, []<class F>(F) -> Handler { return run_to_integer<R, F>; });
  });
}

Handler choose_cvt(const Instruction& instruction, Operation& operation) {
  const std::vector<Type> types = instruction.types();
  const Type to = types[0], from = types[1];
  operation.type = to;
  operation.source_type = from;
  operation.pipe = Pipe::convert;
  operation.flags = (instruction.has("ftz") ? flag_flush : 0) | (instruction.has("sat") ? flag_saturate : 0) |
                    (instruction.has("satfinite") ? flag_finite : 0) |
                    (instruction.has("relu") ? flag_rectify : 0);
  const bool is_tie_away = instruction.has("rna");
  if (is_tie_away && to != Type::tf32) return nullptr;
  const Rounding rounding = rounding_of(instruction).value_or(Rounding::nearest);
  if (is_pair_of_bytes(to) || is_pair_of_bytes(from)) return choose_bytes(instruction, operation, to, from);
  if (to == Type::f16x2 || to == Type::bf16x2)
    return from == Type::f32 ? choose_pair(to, rounding, operation) : nullptr;
  if (operation.count != 2) return nullptr;
  if (to == Type::tf32) {
    if (from != Type::f32) return nullptr;
    return for_rounding(rounding,
                        []<Rounding mode>() -> Handler { return run_to_floating<Tensor, Single, mode>; });
  }
  if (is_integer(to) && is_integer(from)) {
    operation.pipe = Pipe::integer;
    const bool saturates = instruction.has("sat");
    operation.moved_sources = saturates ? 0 : 1;
    return AllIntegers::choose(to, [&]<class R>(R) {
      return AllIntegers::choose(from, [&]<class S>(S) { return integer_to_integer<R, S>(saturates); });
    });
  }
  if (is_integer(to)) return choose_to_integer(instruction, operation, to, from);
  if (is_integer(from)) return choose_from_integer(instruction, to, from);
  return choose_floating(instruction, operation, to, from);
}

template <class R>
U32 packed(std::int32_t value) {
  return static_cast<std::make_unsigned_t<R>>(clamped_integer<R>(value));
}

/// cvt.pack.sat.u16.s32 d, a, b: a goes to the high half. With bytes, c's low half moves up.
Handler choose_pack(const Instruction& instruction, Operation& operation) {
  using S = std::int32_t;
  const std::vector<Type> types = instruction.types();
  if (types[1] != Type::s32 || (types.size() == 3 && types[2] != Type::b32)) return nullptr;
  operation.pipe = Pipe::convert;
  const auto make = [&]<class R>(R) {
    if constexpr (sizeof(R) == 2)
      return lanewise(operation, [](S a, S b) { return packed<R>(a) << 16 | packed<R>(b); });
    else
      return lanewise(operation, [](S a, S b, U32 c) { return c << 16 | packed<R>(a) << 8 | packed<R>(b); });
  };
  return types.size() == 2 ? TypeSet<Type::u16, Type::s16>::choose(types[0], make)
                           : TypeSet<Type::u8, Type::s8>::choose(types[0], make);
}

constexpr Opcode table[] = {
    {"cvt", choose_cvt, 2, "", "rn rz rm rp rna rni rzi rmi rpi ftz sat satfinite relu", 2},
    {"cvt", choose_pack, 2, "pack sat", "", 2},
    {"cvt", choose_pack, 2, "pack sat", "", 3},
};

}  // namespace

std::span<const Opcode> conversion_opcodes() {
  return table;
}

}  // namespace weft::simulator
