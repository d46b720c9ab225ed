// The functions of atom, red and their bulk forms.
#pragma once

#include <weft/backends/simulator/machine/operation.h>
#include <weft/dsl/dtype.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace weft::simulator {

/// Functions of atom, red and their like: the new value, from the old one, the operand, and the second
/// operand (of cas).
namespace atomics {

/// Two 16-bit floats in one word.
template <class T>
struct Pair {
  T low, high;
};

template <class T>
T sum(T a, T b) {
  if constexpr (std::is_arithmetic_v<T>) {
    return a + b;
  } else if constexpr (requires { a.low; }) {
    return {sum(a.low, b.low), sum(a.high, b.high)};
  } else {
    return T(static_cast<float>(a) + static_cast<float>(b));
  }
}

constexpr auto add = []<class T>(T old, T value, T) { return sum(old, value); };
constexpr auto minimum = []<class T>(T old, T value, T) { return std::min(old, value); };
constexpr auto maximum = []<class T>(T old, T value, T) { return std::max(old, value); };
constexpr auto exchange = []<class T>(T, T value, T) { return value; };
constexpr auto compare_and_swap = []<class T>(T old, T value, T other) { return old == value ? other : old; };
constexpr auto bit_and = []<class T>(T old, T value, T) { return old & value; };
constexpr auto bit_or = []<class T>(T old, T value, T) { return old | value; };
constexpr auto bit_xor = []<class T>(T old, T value, T) { return old ^ value; };
constexpr auto increment = []<class T>(T old, T value, T) { return old >= value ? T{0} : old + 1; };
constexpr auto decrement = []<class T>(T old, T value, T) {
  return old == 0 || old > value ? value : old - 1;
};

/// Updates the elements at `to` with those at `from`.
template <class T, auto function>
void update(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(T)) {
    T old, value;
    std::memcpy(&old, to + at, sizeof(T));
    std::memcpy(&value, from + at, sizeof(T));
    const T fresh = function(old, value, T{});
    std::memcpy(to + at, &fresh, sizeof(T));
  }
}

}  // namespace atomics

/// Calls make.operator()<T, function>() for the function that the modifiers name on `type`; null for none.
template <class Make>
Handler select_atomic(const ptx::Instruction& instruction, ptx::Type type, Make make) {
  const auto integer = [&]<class T>() -> Handler {
    if (instruction.has("add")) return make.template operator()<T, atomics::add>();
    if (instruction.has("min")) return make.template operator()<T, atomics::minimum>();
    if (instruction.has("max")) return make.template operator()<T, atomics::maximum>();
    if (instruction.has("exch")) return make.template operator()<T, atomics::exchange>();
    if (instruction.has("cas")) return make.template operator()<T, atomics::compare_and_swap>();
    if (instruction.has("and")) return make.template operator()<T, atomics::bit_and>();
    if (instruction.has("or")) return make.template operator()<T, atomics::bit_or>();
    if (instruction.has("xor")) return make.template operator()<T, atomics::bit_xor>();
    if (instruction.has("inc")) return make.template operator()<T, atomics::increment>();
    if (instruction.has("dec")) return make.template operator()<T, atomics::decrement>();
    return nullptr;
  };
  const auto floating = [&]<class T>() -> Handler {
    return instruction.has("add") ? make.template operator()<T, atomics::add>() : nullptr;
  };
  switch (type) {
    case Type::u32:
    case Type::b32: return integer.template operator()<std::uint32_t>();
    case Type::s32: return integer.template operator()<std::int32_t>();
    case Type::u64:
    case Type::b64: return integer.template operator()<std::uint64_t>();
    case Type::s64: return integer.template operator()<std::int64_t>();
    case Type::f32: return floating.template operator()<float>();
    case Type::f64: return floating.template operator()<double>();
    case Type::f16x2: return floating.template operator()<atomics::Pair<f16>>();
    case Type::bf16x2: return floating.template operator()<atomics::Pair<bf16>>();
    case Type::f16: return floating.template operator()<f16>();
    case Type::bf16: return floating.template operator()<bf16>();
    default: return nullptr;
  }
}

}  // namespace weft::simulator
