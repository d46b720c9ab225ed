// Integer arithmetic: PTX ISA, chapter 9.7.1.
#include <weft/backends/simulator/execute/lanes.h>

#include <algorithm>
#include <limits>

namespace weft::simulator {
namespace {

constexpr auto plus = []<class T>(T a, T b) { return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b)); };
constexpr auto minus = []<class T>(T a, T b) { return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b)); };
constexpr auto least = []<class T>(T a, T b) { return std::min(a, b); };
constexpr auto most = []<class T>(T a, T b) { return std::max(a, b); };
template <auto function>
constexpr auto rectified = []<class T>(T a, T b) { return std::max(function(a, b), T{0}); };

S32 saturated(std::int64_t value) {
  using Limits = std::numeric_limits<S32>;
  return static_cast<S32>(std::clamp<std::int64_t>(value, Limits::min(), Limits::max()));
}
constexpr auto saturated_sum = [](S32 a, S32 b) { return saturated(std::int64_t{a} + b); };
constexpr auto saturated_difference = [](S32 a, S32 b) { return saturated(std::int64_t{a} - b); };

/// Both halves of a pair, as values of T.
template <class T, auto function>
Handler halfwise(const Instruction&, Operation& operation) {
  return lanewise(operation, [](Pair a, Pair b) {
    const auto half = [](U16 x, U16 y) {
      return static_cast<U16>(function(static_cast<T>(x), static_cast<T>(y)));
    };
    return Pair{half(a.low, b.low), half(a.high, b.high)};
  });
}

/// The type of twice the width and the same sign.
__extension__ using Unsigned128 = unsigned __int128;
__extension__ using Signed128 = __int128;
template <class T>
using Doubled =
    std::tuple_element_t<std::countr_zero(sizeof(T)) - 1,
                         std::conditional_t<std::is_signed_v<T>, std::tuple<S32, std::int64_t, Signed128>,
                                            std::tuple<U32, std::uint64_t, Unsigned128>>>;

constexpr auto low_product = []<class T>(T a, T b) {
  return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
};
constexpr auto high_product = []<class T>(T a, T b) {
  return static_cast<T>(static_cast<Doubled<T>>(a) * static_cast<Doubled<T>>(b) >> bits_of<T>);
};
constexpr auto wide_product = []<class T>(T a, T b) {
  return static_cast<Doubled<T>>(Doubled<T>{a} * Doubled<T>{b});
};

template <auto product>
constexpr auto product_plus = []<class T>(T a, T b, T c) { return plus(product(a, b), c); };
constexpr auto wide_product_plus = []<class T>(T a, T b, Doubled<T> c) {
  return plus(static_cast<Doubled<T>>(Doubled<T>{a} * Doubled<T>{b}), c);
};
template <auto product>
constexpr auto saturated_product_plus =
    [](S32 a, S32 b, S32 c) { return saturated(std::int64_t{product(a, b)} + c); };

/// The 48-bit product of the low 24 bits; `shift` 16 for its high half.
template <int shift>
constexpr auto product24 = []<class T>(T a, T b) {
  const auto narrow = [](T value) {
    return std::int64_t{static_cast<T>(static_cast<T>(static_cast<U32>(value) << 8) >> 8)};
  };
  return static_cast<T>(static_cast<std::uint64_t>(narrow(a) * narrow(b)) >> shift);
};

constexpr auto difference_plus = []<class T>(T a, T b, T c) {
  return plus(c, a < b ? minus(b, a) : minus(a, b));
};

/// What the ISA leaves open is what the hardware does: x / 0 and x % 0 are all ones, and the least integer
/// divided by -1 is itself.
constexpr auto quotient = []<class T>(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return minus(T{0}, a);
  return static_cast<T>(a / b);
};
constexpr auto remainder = []<class T>(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return T{0};
  return static_cast<T>(a % b);
};

constexpr auto magnitude = []<class T>(T a) { return a < 0 ? minus(T{0}, a) : a; };
constexpr auto negative = []<class T>(T a) { return minus(T{0}, a); };

template <class T>
using Byte = std::conditional_t<std::is_signed_v<T>, std::int8_t, std::uint8_t>;

/// Sums of products of bytes (dp4a), or of halves of `a` and two bytes of `b` (dp2a); signs as the types say.
template <class A, class B, int count, int first_byte>
U32 dot_product(U32 a, U32 b, U32 c) {
  constexpr int width = 32 / count;
  using Wide = std::conditional_t<count == 4, A, std::conditional_t<std::is_signed_v<A>, S16, U16>>;
  for (int i = 0; i < count; ++i) {
    const auto x = static_cast<Wide>(a >> (i * width));
    const auto y = static_cast<B>(b >> ((i + first_byte) * 8));
    c += static_cast<U32>(x * y);
  }
  return c;
}

template <int count, int first_byte>
Handler choose_dot(const Instruction& instruction, Operation& operation) {
  const std::vector<ptx::Type> types = instruction.types();
  return WordIntegers::choose(types[0], [&]<class A>(A) {
    return WordIntegers::choose(types[1], [&]<class B>(B) {
      return lanewise(operation, [](U32 a, U32 b, U32 c) {
        return dot_product<Byte<A>, Byte<B>, count, first_byte>(a, b, c);
      });
    });
  });
}

constexpr Opcode table[] = {
    {"add", lanewise_over<Integers, plus>, 3},
    {"add", lanewise_over<SignedWord, saturated_sum>, 3, "sat"},
    {"add", halfwise<U16, plus>, 3, "u16x2", "", 0},
    {"add", halfwise<S16, plus>, 3, "s16x2", "u16x2", 0},
    {"sub", lanewise_over<Integers, minus>, 3},
    {"sub", lanewise_over<SignedWord, saturated_difference>, 3, "sat"},
    {"mul", lanewise_over<Integers, low_product>, 3, "lo"},
    {"mul", lanewise_over<Integers, high_product>, 3, "hi", "lo"},
    {"mul", lanewise_over<NarrowIntegers, wide_product>, 3, "wide", "lo hi"},
    {"mad", lanewise_over<Integers, product_plus<low_product>>, 4, "lo"},
    {"mad", lanewise_over<Integers, product_plus<high_product>>, 4, "hi", "lo"},
    {"mad", lanewise_over<NarrowIntegers, wide_product_plus>, 4, "wide", "lo hi"},
    {"mad", lanewise_over<SignedWord, saturated_product_plus<high_product>>, 4, "hi sat"},
    {"mul24", lanewise_over<WordIntegers, product24<0>>, 3, "lo"},
    {"mul24", lanewise_over<WordIntegers, product24<16>>, 3, "hi"},
    {"mad24", lanewise_over<WordIntegers, product_plus<product24<0>>>, 4, "lo"},
    {"mad24", lanewise_over<WordIntegers, product_plus<product24<16>>>, 4, "hi"},
    {"mad24", lanewise_over<SignedWord, saturated_product_plus<product24<16>>>, 4, "hi sat"},
    {"sad", lanewise_over<Integers, difference_plus>, 4},
    {"div", lanewise_over<Integers, quotient>, 3},
    {"rem", lanewise_over<Integers, remainder>, 3},
    {"abs", lanewise_over<SignedIntegers, magnitude>, 2},
    {"neg", lanewise_over<SignedIntegers, negative>, 2},
    {"min", lanewise_over<Integers, least>, 3},
    {"min", lanewise_over<SignedWord, rectified<least>>, 3, "relu"},
    {"min", halfwise<U16, least>, 3, "u16x2", "", 0},
    {"min", halfwise<S16, least>, 3, "s16x2", "u16x2", 0},
    {"min", halfwise<S16, rectified<least>>, 3, "s16x2 relu", "", 0},
    {"max", lanewise_over<Integers, most>, 3},
    {"max", lanewise_over<SignedWord, rectified<most>>, 3, "relu"},
    {"max", halfwise<U16, most>, 3, "u16x2", "", 0},
    {"max", halfwise<S16, most>, 3, "s16x2", "u16x2", 0},
    {"max", halfwise<S16, rectified<most>>, 3, "s16x2 relu", "", 0},
    {"dp4a", choose_dot<4, 0>, 4, "", "", 2},
    {"dp2a", choose_dot<2, 0>, 4, "lo", "", 2},
    {"dp2a", choose_dot<2, 2>, 4, "hi", "", 2},
};

}  // namespace

std::span<const Opcode> integer_opcodes() {
  return table;
}

}  // namespace weft::simulator
