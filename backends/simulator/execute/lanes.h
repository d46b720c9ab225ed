// What the scalar families share: lane types, and handlers made of a function of one lane.
#pragma once

#include <weft/backends/simulator/machine/operation.h>
#include <weft/backends/simulator/machine/warp.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace weft::simulator {

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
using S16 = std::int16_t;
using S32 = std::int32_t;

/// Two 16-bit values in a register.
struct Pair {
  std::uint16_t low = 0, high = 0;
};

/// How a value of T lies in a lane: 4 bytes with zeros above, or 8.
template <class T>
using Lane = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;

template <class T>
T from_lane(Lane<T> raw) {
  if constexpr (std::integral<T>)
    return static_cast<T>(raw);
  else
    return std::bit_cast<T>(raw);
}

template <class T>
Lane<T> to_lane(T value) {
  if constexpr (std::integral<T>)
    return static_cast<std::make_unsigned_t<T>>(value);
  else
    return std::bit_cast<Lane<T>>(value);
}

template <class F, class R, class... S>
Handler lanewise_of(Operation& operation, R (F::*)(S...) const) {
  if (operation.count != 1 + sizeof...(S)) return nullptr;
  operation.lane_bytes = {sizeof(Lane<R>), sizeof(Lane<S>)...};
  return [](Warp& warp, const Operation& current) {
    warp.assign<Lane<R>, Lane<S>...>(current, [](Lane<S>... raw) {
      const R value = F{}(from_lane<S>(raw)...);
      return to_lane<R>(value);
    });
  };
}

/// The handler that gives result 0 the value of `function`, a lambda without captures, of the sources.
template <class F>
Handler lanewise(Operation& operation, F) {
  return lanewise_of(operation, &F::operator());
}

/// Arithmetic that wraps is done in this type: nothing narrower than int, nothing signed.
template <std::integral T>
using Wrapping = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;

template <std::integral T>
constexpr int bits_of = static_cast<int>(sizeof(T) * 8);

/// The C++ types of the PTX types from b8 to s64.
using NumberTypes =
    std::tuple<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, void, std::uint8_t, std::uint16_t,
               std::uint32_t, std::uint64_t, std::int8_t, std::int16_t, std::int32_t, std::int64_t>;
template <ptx::Type type>
using NumberOf =
    std::tuple_element_t<static_cast<std::size_t>(type) - static_cast<std::size_t>(ptx::Type::b8),
                         NumberTypes>;

/// A set of untyped and integer types.
template <ptx::Type... members>
struct TypeSet {
  /// Calls `make` with a value of the C++ type of `type`; null for one that is no member.
  template <class F>
  static Handler choose(ptx::Type type, F make) {
    Handler made = nullptr;
    const auto try_member = [&](ptx::Type member, auto zero) {
      if (type == member) made = make(zero);
    };
    (try_member(members, NumberOf<members>{}), ...);
    return made;
  }
};
using AnyBits = TypeSet<ptx::Type::b16, ptx::Type::b32, ptx::Type::b64>;
using WordBits = TypeSet<ptx::Type::b32, ptx::Type::b64>;
using Word = TypeSet<ptx::Type::b32>;
using Integers =
    TypeSet<ptx::Type::u16, ptx::Type::s16, ptx::Type::u32, ptx::Type::s32, ptx::Type::u64, ptx::Type::s64>;
using SignedIntegers = TypeSet<ptx::Type::s16, ptx::Type::s32, ptx::Type::s64>;
using NarrowIntegers = TypeSet<ptx::Type::u16, ptx::Type::s16, ptx::Type::u32, ptx::Type::s32>;
using WideIntegers = TypeSet<ptx::Type::u32, ptx::Type::s32, ptx::Type::u64, ptx::Type::s64>;
using WordIntegers = TypeSet<ptx::Type::u32, ptx::Type::s32>;
using SignedWord = TypeSet<ptx::Type::s32>;

/// Calls `make` with an unsigned integer of the type's size; null for others than 2, 4 and 8 bytes.
template <class F>
Handler by_size(ptx::Type type, F make) {
  switch (ptx::size_of(type)) {
    case 2: return make(std::uint16_t{});
    case 4: return make(std::uint32_t{});
    case 8: return make(std::uint64_t{});
    default: return nullptr;
  }
}

/// Opcode::choose of an instruction that is one function of its sources, lane by lane, for the types of a
/// set: `function` is a lambda, or one with the type as its parameter.
template <class Set, auto function>
Handler lanewise_over(const ptx::Instruction&, Operation& operation) {
  using F = std::remove_const_t<decltype(function)>;
  return Set::choose(operation.type, [&]<class T>(T) {
    if constexpr (requires { &F::operator(); })
      return lanewise_of(operation, &F::operator());
    else
      return lanewise_of(operation, &F::template operator()<T>);
  });
}

/// Calls make.operator()<...>() with what is so, as constants.
template <bool... known, class F>
Handler with_constants(F make) {
  return make.template operator()<known...>();
}
template <bool... known, class F, std::same_as<bool>... Rest>
Handler with_constants(F make, bool next, Rest... rest) {
  return next ? with_constants<known..., true>(make, rest...)
              : with_constants<known..., false>(make, rest...);
}

/// How Operation::lane_bytes says it.
inline std::uint8_t lane_bytes_of(ptx::Type type) {
  return static_cast<std::uint8_t>(type == ptx::Type::pred ? 1
                                                           : std::max<std::size_t>(ptx::size_of(type), 4));
}

}  // namespace weft::simulator
