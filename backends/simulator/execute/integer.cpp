// Integer arithmetic: PTX ISA, chapter 9.7.1.
#include <weft/backends/simulator/execute/lanes.h>

#include <algorithm>
#include <limits>

namespace weft::simulator {
namespace {

using ptx::Instruction;
using ptx::Type;

constexpr auto plus = []<class T>(T a, T b) { return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b)); };
constexpr auto minus = []<class T>(T a, T b) { return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b)); };
constexpr auto least = []<class T>(T a, T b) { return std::min(a, b); };
constexpr auto most = []<class T>(T a, T b) { return std::max(a, b); };

std::int32_t saturated(std::int64_t value) {
  using Limits = std::numeric_limits<std::int32_t>;
  return static_cast<std::int32_t>(
      std::clamp(value, std::int64_t{Limits::min()}, std::int64_t{Limits::max()}));
}

/// Both halves of a pair, as signed or unsigned values.
template <class F>
Handler halfwise(const Instruction& instruction, Operation& operation, F) {
  const auto make = [&]<class T>(T) {
    return lanewise<Pair, Pair, Pair>(operation, [](Pair a, Pair b) {
      const auto half = [](std::uint16_t x, std::uint16_t y) {
        return static_cast<std::uint16_t>(F{}(static_cast<T>(x), static_cast<T>(y)));
      };
      return Pair{half(a.low, b.low), half(a.high, b.high)};
    });
  };
  return instruction.has("s16x2") ? make(std::int16_t{}) : make(std::uint16_t{});
}

Handler choose_add(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction)) return nullptr;
  if (is_packed_integer(instruction))
    return has_only(instruction, 0, {"u16x2", "s16x2"}) ? halfwise(instruction, operation, plus) : nullptr;
  if (instruction.has("sat") && operation.type == Type::s32 && has_only(instruction, 1, {"sat"})) {
    return lanewise<std::int32_t, std::int32_t, std::int32_t>(
        operation, [](std::int32_t a, std::int32_t b) { return saturated(std::int64_t{a} + b); });
  }
  if (!has_only(instruction, 1, {})) return nullptr;
  return for_integers(operation.type,
                      [&]<class T>(T) { return lanewise<T, T, T>(operation, decltype(plus){}); });
}

Handler choose_sub(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction)) return nullptr;
  if (instruction.has("sat") && operation.type == Type::s32 && has_only(instruction, 1, {"sat"})) {
    return lanewise<std::int32_t, std::int32_t, std::int32_t>(
        operation, [](std::int32_t a, std::int32_t b) { return saturated(std::int64_t{a} - b); });
  }
  if (!has_only(instruction, 1, {})) return nullptr;
  return for_integers(operation.type,
                      [&]<class T>(T) { return lanewise<T, T, T>(operation, decltype(minus){}); });
}

/// The type of twice the width and the same sign.
template <class T>
struct DoubledType;
template <>
struct DoubledType<std::uint16_t> {
  using type = std::uint32_t;
};
template <>
struct DoubledType<std::int16_t> {
  using type = std::int32_t;
};
template <>
struct DoubledType<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct DoubledType<std::int32_t> {
  using type = std::int64_t;
};
__extension__ using Unsigned128 = unsigned __int128;
__extension__ using Signed128 = __int128;
template <>
struct DoubledType<std::uint64_t> {
  using type = Unsigned128;
};
template <>
struct DoubledType<std::int64_t> {
  using type = Signed128;
};
template <class T>
using Doubled = typename DoubledType<T>::type;

template <class T>
T low_product(T a, T b) {
  return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
}
template <class T>
T high_product(T a, T b) {
  return static_cast<T>(static_cast<Doubled<T>>(a) * static_cast<Doubled<T>>(b) >> bits_of<T>);
}

Handler choose_mul(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {"lo", "hi", "wide"})) return nullptr;
  if (instruction.has("wide")) {
    return for_narrow_integers(operation.type, [&]<class T>(T) {
      return lanewise<Doubled<T>, T, T>(
          operation, [](T a, T b) { return static_cast<Doubled<T>>(Doubled<T>{a} * Doubled<T>{b}); });
    });
  }
  const bool high = instruction.has("hi");
  if (!high && !instruction.has("lo")) return nullptr;
  return for_integers(operation.type, [&]<class T>(T) {
    return high ? lanewise<T, T, T>(operation, [](T a, T b) { return high_product(a, b); })
                : lanewise<T, T, T>(operation, [](T a, T b) { return low_product(a, b); });
  });
}

Handler choose_mad(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction)) return nullptr;
  if (instruction.has("sat")) {
    if (operation.type != Type::s32 || !instruction.has("hi") || !has_only(instruction, 1, {"hi", "sat"}))
      return nullptr;
    using T = std::int32_t;
    return lanewise<T, T, T, T>(
        operation, [](T a, T b, T c) { return saturated(std::int64_t{high_product(a, b)} + c); });
  }
  if (!has_only(instruction, 1, {"lo", "hi", "wide"})) return nullptr;
  if (instruction.has("wide")) {
    return for_narrow_integers(operation.type, [&]<class T>(T) {
      using Wide = Doubled<T>;
      return lanewise<Wide, T, T, Wide>(
          operation, [](T a, T b, Wide c) { return plus(static_cast<Wide>(Wide{a} * Wide{b}), c); });
    });
  }
  const bool high = instruction.has("hi");
  if (!high && !instruction.has("lo")) return nullptr;
  return for_integers(operation.type, [&]<class T>(T) {
    return high ? lanewise<T, T, T, T>(operation, [](T a, T b, T c) { return plus(high_product(a, b), c); })
                : lanewise<T, T, T, T>(operation, [](T a, T b, T c) { return plus(low_product(a, b), c); });
  });
}

/// The 48-bit product of the low 24 bits; `shift` 16 for its high half.
template <class T, int shift>
T product24(T a, T b) {
  const auto narrow = [](T value) {
    return std::int64_t{static_cast<T>(static_cast<T>(static_cast<std::uint32_t>(value) << 8) >> 8)};
  };
  return static_cast<T>(static_cast<std::uint64_t>(narrow(a) * narrow(b)) >> shift);
}

template <class T>
Handler product24_handler(const Instruction& instruction, Operation& operation) {
  const bool high = instruction.has("hi");
  if (instruction.opcode == "mul24") {
    return high ? lanewise<T, T, T>(operation, [](T a, T b) { return product24<T, 16>(a, b); })
                : lanewise<T, T, T>(operation, [](T a, T b) { return product24<T, 0>(a, b); });
  }
  if constexpr (std::is_signed_v<T>) {
    if (instruction.has("sat")) {
      return lanewise<T, T, T, T>(
          operation, [](T a, T b, T c) { return saturated(std::int64_t{product24<T, 16>(a, b)} + c); });
    }
  }
  return high ? lanewise<T, T, T, T>(operation, [](T a, T b, T c) { return plus(product24<T, 16>(a, b), c); })
              : lanewise<T, T, T, T>(operation, [](T a, T b, T c) { return plus(product24<T, 0>(a, b), c); });
}

Handler choose_24(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {"lo", "hi", "sat"})) return nullptr;
  if (instruction.has("lo") == instruction.has("hi")) return nullptr;
  if (instruction.has("sat") &&
      (operation.type != Type::s32 || instruction.opcode == "mul24" || instruction.has("lo")))
    return nullptr;
  if (operation.type == Type::u32) return product24_handler<std::uint32_t>(instruction, operation);
  if (operation.type == Type::s32) return product24_handler<std::int32_t>(instruction, operation);
  return nullptr;
}

Handler choose_sad(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {})) return nullptr;
  return for_integers(operation.type, [&]<class T>(T) {
    return lanewise<T, T, T, T>(operation,
                                [](T a, T b, T c) { return plus(c, a < b ? minus(b, a) : minus(a, b)); });
  });
}

/// What the ISA leaves open is what the hardware does: x / 0 and x % 0 are all ones, and the least integer
/// divided by -1 is itself.
template <class T>
T quotient(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return minus(T{0}, a);
  return static_cast<T>(a / b);
}
template <class T>
T remainder(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
  return static_cast<T>(a % b);
}

Handler choose_division(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {})) return nullptr;
  const bool wants_rest = instruction.opcode == "rem";
  return for_integers(operation.type, [&]<class T>(T) {
    return wants_rest ? lanewise<T, T, T>(operation, [](T a, T b) { return remainder(a, b); })
                      : lanewise<T, T, T>(operation, [](T a, T b) { return quotient(a, b); });
  });
}

Handler choose_abs_neg(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {})) return nullptr;
  const bool is_abs = instruction.opcode == "abs";
  return for_integers(operation.type, [&]<class T>(T) -> Handler {
    if constexpr (std::is_signed_v<T>) {
      return is_abs ? lanewise<T, T>(operation, [](T a) { return a < 0 ? minus(T{0}, a) : a; })
                    : lanewise<T, T>(operation, [](T a) { return minus(T{0}, a); });
    }
    return nullptr;
  });
}

template <class F>
Handler choose_extreme(const Instruction& instruction, Operation& operation, F function) {
  if (!has_sources(instruction)) return nullptr;
  constexpr auto rectified = []<class T>(T a, T b) { return std::max(F{}(a, b), T{0}); };
  if (is_packed_integer(instruction)) {
    if (instruction.has("relu"))
      return has_only(instruction, 0, {"s16x2", "relu"}) ? halfwise(instruction, operation, rectified)
                                                         : nullptr;
    return has_only(instruction, 0, {"u16x2", "s16x2"}) ? halfwise(instruction, operation, function)
                                                        : nullptr;
  }
  if (instruction.has("relu")) {
    using T = std::int32_t;
    return operation.type == Type::s32 && has_only(instruction, 1, {"relu"})
               ? lanewise<T, T, T>(operation, rectified)
               : nullptr;
  }
  if (!has_only(instruction, 1, {})) return nullptr;
  return for_integers(operation.type, [&]<class T>(T) { return lanewise<T, T, T>(operation, F{}); });
}

Handler choose_min(const Instruction& instruction, Operation& operation) {
  return choose_extreme(instruction, operation, least);
}
Handler choose_max(const Instruction& instruction, Operation& operation) {
  return choose_extreme(instruction, operation, most);
}

/// Sums of products of bytes (dp4a), or of halves of `a` and two bytes of `b` (dp2a); signs as the types say.
template <class A, class B, int count, int first_byte>
std::uint32_t dot_product(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  constexpr int width = 32 / count;
  using Wide =
      std::conditional_t<count == 4, A, std::conditional_t<std::is_signed_v<A>, std::int16_t, std::uint16_t>>;
  for (int i = 0; i < count; ++i) {
    const auto x = static_cast<Wide>(a >> (i * width));
    const auto y = static_cast<B>(b >> ((i + first_byte) * 8));
    c += static_cast<std::uint32_t>(x * y);
  }
  return c;
}

template <class A, class B>
Handler dot_handler(const Instruction& instruction, Operation& operation) {
  using U = std::uint32_t;
  if (instruction.opcode == "dp4a") {
    return lanewise<U, U, U, U>(operation, [](U a, U b, U c) { return dot_product<A, B, 4, 0>(a, b, c); });
  }
  return instruction.has("hi")
             ? lanewise<U, U, U, U>(operation, [](U a, U b, U c) { return dot_product<A, B, 2, 2>(a, b, c); })
             : lanewise<U, U, U, U>(operation,
                                    [](U a, U b, U c) { return dot_product<A, B, 2, 0>(a, b, c); });
}

Handler choose_dot(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 2, {"lo", "hi"})) return nullptr;
  if ((instruction.opcode == "dp2a") != (instruction.has("lo") != instruction.has("hi"))) return nullptr;
  const std::vector<Type> types = instruction.types();
  for (const Type type : types) {
    if (type != Type::u32 && type != Type::s32) return nullptr;
  }
  using S = std::int8_t;
  using U = std::uint8_t;
  if (types[0] == Type::s32)
    return types[1] == Type::s32 ? dot_handler<S, S>(instruction, operation)
                                 : dot_handler<S, U>(instruction, operation);
  return types[1] == Type::s32 ? dot_handler<U, S>(instruction, operation)
                               : dot_handler<U, U>(instruction, operation);
}

constexpr Opcode arithmetic[] = {
    {"add", choose_add},      {"sub", choose_sub},     {"mul", choose_mul},     {"mad", choose_mad},
    {"mul24", choose_24},     {"mad24", choose_24},    {"sad", choose_sad},     {"div", choose_division},
    {"rem", choose_division}, {"abs", choose_abs_neg}, {"neg", choose_abs_neg}, {"min", choose_min},
    {"max", choose_max},      {"dp4a", choose_dot},    {"dp2a", choose_dot},
};

}  // namespace

std::span<const Opcode> integer_opcodes() {
  static const std::vector<Opcode> table = joined({arithmetic, bit_opcodes(), carry_opcodes()});
  return table;
}

}  // namespace weft::simulator
