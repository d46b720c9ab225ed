// The functions of atom, red and their bulk forms.
#pragma once

#include <weft/backends/simulator/machine/operation.h>
#include <weft/dsl/dtype.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace weft::simulator {

/// The new value, from the old one, the operand, and the second operand (of cas).
template <class T>
using AtomicFunction = T (*)(T old, T value, T other);

namespace atomics {

/// Two 16-bit floats in one word.
template <class T>
struct Pair {
  T low, high;
};

template <class T>
T add(T old, T value, T) {
  if constexpr (std::is_arithmetic_v<T>) {
    return old + value;
  } else if constexpr (requires { old.low; }) {
    return {add(old.low, value.low, {}), add(old.high, value.high, {})};
  } else {
    return T(static_cast<float>(old) + static_cast<float>(value));
  }
}
template <class T>
T minimum(T old, T value, T) {
  return std::min(old, value);
}
template <class T>
T maximum(T old, T value, T) {
  return std::max(old, value);
}
template <class T>
T exchange(T, T value, T) {
  return value;
}
template <class T>
T compare_and_swap(T old, T value, T other) {
  return old == value ? other : old;
}
template <class T>
T bit_and(T old, T value, T) {
  return old & value;
}
template <class T>
T bit_or(T old, T value, T) {
  return old | value;
}
template <class T>
T bit_xor(T old, T value, T) {
  return old ^ value;
}
template <class T>
T increment(T old, T value, T) {
  return old >= value ? 0 : old + 1;
}
template <class T>
T decrement(T old, T value, T) {
  return old == 0 || old > value ? value : old - 1;
}

/// Updates the elements at `to` with those at `from`.
template <class T, AtomicFunction<T> function>
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
  using ptx::Type;
  const auto integer = [&]<class T>() -> Handler {
    if (instruction.has("add")) return make.template operator()<T, atomics::add<T>>();
    if (instruction.has("min")) return make.template operator()<T, atomics::minimum<T>>();
    if (instruction.has("max")) return make.template operator()<T, atomics::maximum<T>>();
    if (instruction.has("exch")) return make.template operator()<T, atomics::exchange<T>>();
    if (instruction.has("cas")) return make.template operator()<T, atomics::compare_and_swap<T>>();
    if (instruction.has("and")) return make.template operator()<T, atomics::bit_and<T>>();
    if (instruction.has("or")) return make.template operator()<T, atomics::bit_or<T>>();
    if (instruction.has("xor")) return make.template operator()<T, atomics::bit_xor<T>>();
    if (instruction.has("inc")) return make.template operator()<T, atomics::increment<T>>();
    if (instruction.has("dec")) return make.template operator()<T, atomics::decrement<T>>();
    return nullptr;
  };
  const auto floating = [&]<class T>() -> Handler {
    return instruction.has("add") ? make.template operator()<T, atomics::add<T>>() : nullptr;
  };
  switch (type) {
    case Type::u32:
    case Type::b32:
      return integer.template operator()<std::uint32_t>();
    case Type::s32:
      return integer.template operator()<std::int32_t>();
    case Type::u64:
    case Type::b64:
      return integer.template operator()<std::uint64_t>();
    case Type::s64:
      return integer.template operator()<std::int64_t>();
    case Type::f32:
      return floating.template operator()<float>();
    case Type::f64:
      return floating.template operator()<double>();
    case Type::f16x2:
      return floating.template operator()<atomics::Pair<f16>>();
    case Type::bf16x2:
      return floating.template operator()<atomics::Pair<bf16>>();
    case Type::f16:
      return floating.template operator()<f16>();
    case Type::bf16:
      return floating.template operator()<bf16>();
    default:
      return nullptr;
  }
}

}  // namespace weft::simulator
