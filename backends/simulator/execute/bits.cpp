// Logic, shifts and bit fields: PTX ISA, chapters 9.7.1 and 9.7.8.
#include <weft/backends/simulator/execute/lanes.h>

#include <algorithm>
#include <array>

namespace weft::simulator {
namespace {

using ptx::Instruction;
using ptx::Type;
using U32 = std::uint32_t;
using S32 = std::int32_t;

template <class F>
Handler logic(const Instruction& instruction, Operation& operation, F, std::uint32_t flags = 0) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {})) return nullptr;
  if (operation.type == Type::pred) {
    if (operation.count != 3) return nullptr;
    operation.lane_bytes = {1, 1, 1};
    operation.flags |= flags;
    return [](Warp& warp, const Operation& current) {
      warp.set_mask(current, 0, F{}(warp.mask(current, 1), warp.mask(current, 2)));
    };
  }
  return for_bits(operation.type, [&]<class T>(T) {
    return lanewise<T, T, T>(operation, [](T a, T b) { return static_cast<T>(F{}(a, b)); });
  });
}

Handler choose_and(const Instruction& instruction, Operation& operation) {
  return logic(instruction, operation, [](auto a, auto b) { return a & b; }, decided_by_false);
}
Handler choose_or(const Instruction& instruction, Operation& operation) {
  return logic(instruction, operation, [](auto a, auto b) { return a | b; }, decided_by_true);
}
Handler choose_xor(const Instruction& instruction, Operation& operation) {
  return logic(instruction, operation, [](auto a, auto b) { return a ^ b; });
}

Handler choose_not(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {})) return nullptr;
  const bool is_logical = instruction.opcode == "cnot";
  if (operation.type == Type::pred) {
    if (operation.count != 2 || is_logical) return nullptr;
    operation.lane_bytes = {1, 1};
    return [](Warp& warp, const Operation& current) { warp.set_mask(current, 0, ~warp.mask(current, 1)); };
  }
  return for_bits(operation.type, [&]<class T>(T) {
    return is_logical ? lanewise<T, T>(operation, [](T a) { return static_cast<T>(a == 0 ? 1 : 0); })
                      : lanewise<T, T>(operation, [](T a) { return static_cast<T>(~a); });
  });
}

/// Any function of three bits: the table's bit (a * 4 + b * 2 + c).
inline U32 look_up(std::size_t table, U32 a, U32 b, U32 c) {
  const auto entry = [&](unsigned at) {
    const U32 here = ((at & 4) != 0 ? a : ~a) & ((at & 2) != 0 ? b : ~b) & ((at & 1) != 0 ? c : ~c);
    return (table >> at & 1) != 0 ? here : 0;
  };
  return entry(0) | entry(1) | entry(2) | entry(3) | entry(4) | entry(5) | entry(6) | entry(7);
}

template <std::size_t table>
void run_lop3(Warp& warp, const Operation& operation) {
  warp.assign<U32, U32, U32, U32>(operation, [](U32 a, U32 b, U32 c) { return look_up(table, a, b, c); });
}

/// One for each table, so that the compiler sees which logic it is.
constexpr auto lop3_handlers = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array<Handler, sizeof...(I)>{run_lop3<I>...};
}(std::make_index_sequence<256>{});

/// lop3.and.b32 d|p, a, b, c, table, q: p = (d != 0) and q.
template <bool is_and>
void run_lop3_predicate(Warp& warp, const Operation& operation) {
  const U32 *a = warp.source<U32>(operation, 2), *b = warp.source<U32>(operation, 3),
            *c = warp.source<U32>(operation, 4);
  const Mask other = warp.mask(operation, 6);
  std::array<U32, lanes> values;
  Mask is_set = 0;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    values[lane] = look_up(operation.variant, a[lane], b[lane], c[lane]);
    is_set |= Mask{values[lane] != 0} << lane;
  }
  if (!warp.is_sink(operation, 0)) {
    U32* const to = warp.result<U32>(operation, 0);
    for (Mask rest = warp.active(); rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      to[lane] = values[lane];
    }
  }
  warp.set_mask(operation, 1, is_and ? is_set & other : is_set | other);
}

Handler choose_lop3(const Instruction& instruction, Operation& operation) {
  if (operation.type != Type::b32 || !has_sources(instruction) || !has_only(instruction, 1, {"and", "or"}) ||
      instruction.operands.size() < 5)
    return nullptr;
  const ptx::Operand& table = instruction.operands[4];
  if (table.kind != ptx::Operand::Kind::integer || table.bits > 255) return nullptr;
  operation.variant = static_cast<std::uint16_t>(table.bits);
  const bool is_and = instruction.has("and");
  if (is_and || instruction.has("or")) {
    if (operation.count != 7 || instruction.operands.size() != 6) return nullptr;
    operation.results = 2;
    operation.lane_bytes = {4, 1, 4, 4, 4, 0, 1};
    return is_and ? run_lop3_predicate<true> : run_lop3_predicate<false>;
  }
  operation.lane_bytes = {4, 4, 4, 4};
  return operation.count == 5 ? lop3_handlers[table.bits] : nullptr;
}

/// Shifts by the width or more give zeros, or the sign.
template <class T>
T shift_left(T a, U32 by) {
  return by >= bits_of<T> ? T{0} : static_cast<T>(Wrapping<T>(a) << by);
}
template <class T>
T shift_right(T a, U32 by) {
  constexpr U32 width = bits_of<T>;
  if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> std::min(by, width - 1));
  return by >= width ? T{0} : static_cast<T>(a >> by);
}

Handler choose_shl(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {})) return nullptr;
  return for_bits(operation.type, [&]<class T>(T) {
    return lanewise<T, T, U32>(operation, [](T a, U32 by) { return shift_left(a, by); });
  });
}

Handler choose_shr(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {})) return nullptr;
  const auto make = [&]<class T>(T) {
    return lanewise<T, T, U32>(operation, [](T a, U32 by) { return shift_right(a, by); });
  };
  const Handler bits = for_bits(operation.type, make);
  return bits != nullptr ? bits : for_integers(operation.type, make);
}

/// Of the 64 bits high:low, the upper 32 after a shift to the left, or the lower ones after one to the right.
Handler choose_shf(const Instruction& instruction, Operation& operation) {
  if (operation.type != Type::b32 || !has_sources(instruction) ||
      !has_only(instruction, 1, {"l", "r", "clamp", "wrap"}))
    return nullptr;
  const bool is_left = instruction.has("l");
  const bool wraps = instruction.has("wrap");
  if (is_left == instruction.has("r") || wraps == instruction.has("clamp")) return nullptr;
  const auto make = [&]<bool left, bool wrap>() {
    return lanewise<U32, U32, U32, U32>(operation, [](U32 low, U32 high, U32 by) {
      const U32 count = wrap ? by & 31 : std::min(by, U32{32});
      const std::uint64_t both = std::uint64_t{high} << 32 | low;
      return static_cast<U32>(left ? both << count >> 32 : both >> count);
    });
  };
  if (is_left) return wraps ? make.operator()<true, true>() : make.operator()<true, false>();
  return wraps ? make.operator()<false, true>() : make.operator()<false, false>();
}

enum class Permutation { by_selector, forward4, backward4, replicate8, edge_left, edge_right, replicate16 };

/// Which of the eight bytes of b:a goes to byte `i`.
template <Permutation mode>
unsigned chosen_byte(unsigned i, U32 selector) {
  const unsigned base = selector & 3;
  switch (mode) {
    case Permutation::by_selector:
      return selector >> (4 * i) & 15;
    case Permutation::forward4:
      return base + i;
    case Permutation::backward4:
      return (base + 8 - i) & 7;
    case Permutation::replicate8:
      return base;
    case Permutation::edge_left:
      return std::max(i, base);
    case Permutation::edge_right:
      return std::min(i, base);
    case Permutation::replicate16:
      return (base & 1) * 2 + (i & 1);
  }
  return 0;
}

template <Permutation mode>
U32 permuted(U32 a, U32 b, U32 selector) {
  const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
  U32 result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned choice = chosen_byte<mode>(i, selector);
    U32 byte = static_cast<U32>(bytes >> ((choice & 7) * 8)) & 0xFF;
    if ((choice & 8) != 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
    result |= byte << (8 * i);
  }
  return result;
}

Handler choose_prmt(const Instruction& instruction, Operation& operation) {
  if (operation.type != Type::b32 || !has_sources(instruction) ||
      !has_only(instruction, 1, {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}) ||
      instruction.modifiers.size() > 2)
    return nullptr;
  const auto make = [&]<Permutation mode>() {
    return lanewise<U32, U32, U32, U32>(operation,
                                        [](U32 a, U32 b, U32 c) { return permuted<mode>(a, b, c); });
  };
  if (instruction.has("f4e")) return make.operator()<Permutation::forward4>();
  if (instruction.has("b4e")) return make.operator()<Permutation::backward4>();
  if (instruction.has("rc8")) return make.operator()<Permutation::replicate8>();
  if (instruction.has("ecl")) return make.operator()<Permutation::edge_left>();
  if (instruction.has("ecr")) return make.operator()<Permutation::edge_right>();
  if (instruction.has("rc16")) return make.operator()<Permutation::replicate16>();
  return make.operator()<Permutation::by_selector>();
}

Handler choose_count(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {}) || operation.type == Type::b16)
    return nullptr;
  const bool leading = instruction.opcode == "clz";
  return for_bits(operation.type, [&]<class T>(T) {
    return leading ? lanewise<U32, T>(operation, [](T a) { return static_cast<U32>(std::countl_zero(a)); })
                   : lanewise<U32, T>(operation, [](T a) { return static_cast<U32>(std::popcount(a)); });
  });
}

/// The highest bit that differs from the sign; all ones where there is none.
template <class T, bool as_shift>
U32 find_bit(T a) {
  using U = std::make_unsigned_t<T>;
  const U bits = std::is_signed_v<T> && a < 0 ? static_cast<U>(~a) : static_cast<U>(a);
  if (bits == 0) return ~U32{0};
  const int zeros = std::countl_zero(bits);
  return static_cast<U32>(as_shift ? zeros : bits_of<T> - 1 - zeros);
}

Handler choose_bfind(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {"shiftamt"})) return nullptr;
  const bool as_shift = instruction.has("shiftamt");
  return for_wide_integers(operation.type, [&]<class T>(T) {
    return as_shift ? lanewise<U32, T>(operation, [](T a) { return find_bit<T, true>(a); })
                    : lanewise<U32, T>(operation, [](T a) { return find_bit<T, false>(a); });
  });
}

/// The offset-th set bit from `base` upwards, or downwards for a negative offset.
U32 find_nth(U32 mask, U32 base, S32 offset) {
  if (base >= 32) return ~U32{0};
  const int step = offset < 0 ? -1 : 1;
  std::int64_t left = offset == 0 ? 0 : std::int64_t{offset} * step - 1;
  for (auto at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1) != 0 && left-- == 0) return static_cast<U32>(at);
    if (offset == 0) break;
  }
  return ~U32{0};
}

Handler choose_fns(const Instruction& instruction, Operation& operation) {
  if (operation.type != Type::b32 || !has_sources(instruction) || !has_only(instruction, 1, {}))
    return nullptr;
  return lanewise<U32, U32, U32, S32>(
      operation, [](U32 mask, U32 base, S32 offset) { return find_nth(mask, base, offset); });
}

template <class T>
T reversed(T a) {
  T result = 0;
  for (int bit = 0; bit < bits_of<T>; ++bit) {
    result = static_cast<T>(result << 1 | (a & 1));
    a = static_cast<T>(a >> 1);
  }
  return result;
}

Handler choose_brev(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {}) || operation.type == Type::b16)
    return nullptr;
  return for_bits(operation.type,
                  [&]<class T>(T) { return lanewise<T, T>(operation, [](T a) { return reversed(a); }); });
}

/// `length` ones, all of them for the width or more.
template <class U>
U ones(U32 length) {
  return length >= bits_of<U> ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << length) - 1);
}

/// Places and lengths past 255 are left open by the ISA: the hardware looks at the low byte where it has an
/// instruction, and the assembler's code for 64 bits at all of it.
template <class T>
U32 field_number(U32 value) {
  return sizeof(T) == 8 ? std::min<U32>(value, 0xFF) : value & 0xFF;
}

/// A field that runs past the top is filled with the sign: of the field for signed types, else zero.
template <class T>
T extracted(T a, U32 start, U32 length) {
  using U = std::make_unsigned_t<T>;
  constexpr U32 width = bits_of<T>;
  const U32 from = field_number<T>(start), count = field_number<T>(length);
  const U mask = ones<U>(count);
  const U field = shift_right(static_cast<U>(a), from) & mask;
  if (!std::is_signed_v<T> || count == 0) return static_cast<T>(field);
  const U32 sign_at = std::min(from + count - 1, width - 1);
  if ((static_cast<U>(a) >> sign_at & 1) == 0) return static_cast<T>(field);
  const U present = from >= width ? U{0} : static_cast<U>(ones<U>(width - from) & mask);
  return static_cast<T>(field | static_cast<U>(~present));
}

Handler choose_bfe(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {})) return nullptr;
  return for_wide_integers(operation.type, [&]<class T>(T) {
    return lanewise<T, T, U32, U32>(operation,
                                    [](T a, U32 start, U32 length) { return extracted(a, start, length); });
  });
}

template <class T>
T inserted(T field, T into, U32 start, U32 length) {
  const U32 from = field_number<T>(start);
  const T mask = shift_left(ones<T>(field_number<T>(length)), from);
  return static_cast<T>((into & ~mask) | (shift_left(field, from) & mask));
}

Handler choose_bfi(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {}) || operation.type == Type::b16)
    return nullptr;
  return for_bits(operation.type, [&]<class T>(T) {
    return lanewise<T, T, T, U32, U32>(operation, [](T field, T into, U32 start, U32 length) {
      return inserted(field, into, start, length);
    });
  });
}

template <bool clamps>
U32 field_mask(U32 start, U32 length) {
  if (clamps && start >= 32) return 0;
  const U32 from = start & 31;
  const U32 count = clamps ? length : length & 31;
  return shift_left(ones<U32>(count), from);
}

template <bool clamps, class T>
T extended(T a, U32 width) {
  if (clamps && width >= 32) return a;
  const U32 count = width & 31;
  if (count == 0) return 0;
  return static_cast<T>(static_cast<T>(static_cast<U32>(a) << (32 - count)) >> (32 - count));
}

Handler choose_bmsk(const Instruction& instruction, Operation& operation) {
  if (operation.type != Type::b32 || !has_sources(instruction) ||
      !has_only(instruction, 1, {"clamp", "wrap"}) || instruction.modifiers.size() != 2)
    return nullptr;
  return instruction.has("clamp")
             ? lanewise<U32, U32, U32>(operation, [](U32 a, U32 b) { return field_mask<true>(a, b); })
             : lanewise<U32, U32, U32>(operation, [](U32 a, U32 b) { return field_mask<false>(a, b); });
}

Handler choose_szext(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {"clamp", "wrap"}) ||
      instruction.modifiers.size() != 2)
    return nullptr;
  const bool clamps = instruction.has("clamp");
  const auto make = [&]<class T>(T) {
    return clamps ? lanewise<T, T, U32>(operation, [](T a, U32 b) { return extended<true>(a, b); })
                  : lanewise<T, T, U32>(operation, [](T a, U32 b) { return extended<false>(a, b); });
  };
  if (operation.type == Type::u32) return make(U32{});
  if (operation.type == Type::s32) return make(S32{});
  return nullptr;
}

constexpr Opcode table[] = {
    {"and", choose_and},     {"or", choose_or},     {"xor", choose_xor},     {"not", choose_not},
    {"cnot", choose_not},    {"lop3", choose_lop3}, {"shl", choose_shl},     {"shr", choose_shr},
    {"shf", choose_shf},     {"prmt", choose_prmt}, {"popc", choose_count},  {"clz", choose_count},
    {"bfind", choose_bfind}, {"fns", choose_fns},   {"brev", choose_brev},   {"bfe", choose_bfe},
    {"bfi", choose_bfi},     {"bmsk", choose_bmsk}, {"szext", choose_szext},
};

}  // namespace

std::span<const Opcode> bit_opcodes() {
  return table;
}

}  // namespace weft::simulator
