// What the scalar families share: lane types, handlers made of a function of one lane, and the reading of
// modifiers.
#pragma once

#include <weft/backends/simulator/machine/operation.h>
#include <weft/backends/simulator/machine/warp.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>

namespace weft::simulator {

/// Two 16-bit values in a register.
struct Pair {
  std::uint16_t low = 0, high = 0;
};

/// How a value of T lies in a lane: 4 bytes with zeros above, or 8.
template <class T>
using Lane = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;

template <class T>
T from_lane(Lane<T> raw) {
  if constexpr (std::integral<T>) {
    return static_cast<T>(raw);
  } else {
    return std::bit_cast<T>(raw);
  }
}

template <class T>
Lane<T> to_lane(T value) {
  if constexpr (std::integral<T>) {
    return static_cast<std::make_unsigned_t<T>>(value);
  } else {
    return std::bit_cast<Lane<T>>(value);
  }
}

/// The handler that gives result 0 the value of `function`, a lambda without captures, of the sources.
template <class R, class... S, class F>
Handler lanewise(Operation& operation, F) {
  if (operation.count != 1 + sizeof...(S)) return nullptr;
  operation.lane_bytes = {sizeof(Lane<R>), sizeof(Lane<S>)...};
  return [](Warp& warp, const Operation& current) {
    warp.assign<Lane<R>, Lane<S>...>(current, [](Lane<S>... raw) {
      const R value = F{}(from_lane<S>(raw)...);
      return to_lane<R>(value);
    });
  };
}

/// Arithmetic that wraps is done in this type: nothing narrower than int, nothing signed.
template <std::integral T>
using Wrapping = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;

template <std::integral T>
constexpr int bits_of = static_cast<int>(sizeof(T) * 8);

/// Calls `make` with a value of the C++ type; null for a type that is not listed.
template <class F>
Handler for_narrow_integers(ptx::Type type, F make) {
  switch (type) {
    case ptx::Type::u32:
      return make(std::uint32_t{});
    case ptx::Type::s32:
      return make(std::int32_t{});
    case ptx::Type::u16:
      return make(std::uint16_t{});
    case ptx::Type::s16:
      return make(std::int16_t{});
    default:
      return nullptr;
  }
}

template <class F>
Handler for_wide_integers(ptx::Type type, F make) {
  switch (type) {
    case ptx::Type::u32:
      return make(std::uint32_t{});
    case ptx::Type::s32:
      return make(std::int32_t{});
    case ptx::Type::u64:
      return make(std::uint64_t{});
    case ptx::Type::s64:
      return make(std::int64_t{});
    default:
      return nullptr;
  }
}

template <class F>
Handler for_integers(ptx::Type type, F make) {
  const Handler narrow = for_narrow_integers(type, make);
  return narrow != nullptr ? narrow : for_wide_integers(type, make);
}

template <class F>
Handler for_bits(ptx::Type type, F make) {
  switch (type) {
    case ptx::Type::b16:
      return make(std::uint16_t{});
    case ptx::Type::b32:
      return make(std::uint32_t{});
    case ptx::Type::b64:
      return make(std::uint64_t{});
    default:
      return nullptr;
  }
}

/// How Operation::lane_bytes says it.
inline std::uint8_t lane_bytes_of(ptx::Type type) {
  return static_cast<std::uint8_t>(type == ptx::Type::pred ? 1
                                                           : std::max<std::size_t>(ptx::size_of(type), 4));
}

/// Are the modifiers `types` types and, beyond these, only accepted words?
bool has_only(const ptx::Instruction& instruction, std::size_t types,
              std::initializer_list<std::string_view> accepted);

/// Is the first operand a register, or several of them, and has each of the others a value?
bool has_sources(const ptx::Instruction& instruction);

/// The packed integer types, which a register cannot have: "u16x2", "s16x2".
bool is_packed_integer(const ptx::Instruction& instruction);

/// The second halves of families, in files of their own.
std::span<const Opcode> bit_opcodes();        ///< logic, shifts, bit fields
std::span<const Opcode> carry_opcodes();      ///< with CC.CF
std::span<const Opcode> selection_opcodes();  ///< floating min, max, abs, neg, copysign, testp
std::span<const Opcode> move_opcodes();       ///< mov, cvta, isspacep

/// One table of several.
std::vector<Opcode> joined(std::initializer_list<std::span<const Opcode>> tables);

}  // namespace weft::simulator
