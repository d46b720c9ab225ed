// Logic, shifts and bit fields: PTX ISA, chapters 9.7.1 and 9.7.8.
#include <weft/backends/simulator/execute/lanes.h>

#include <algorithm>
#include <array>

namespace weft::simulator {
namespace {

constexpr auto both = []<class T>(T a, T b) { return static_cast<T>(a & b); };
constexpr auto either = []<class T>(T a, T b) { return static_cast<T>(a | b); };
constexpr auto exactly_one = []<class T>(T a, T b) { return static_cast<T>(a ^ b); };
constexpr auto inverse = []<class T>(T a) { return static_cast<T>(~a); };
constexpr auto is_zero = []<class T>(T a) { return static_cast<T>(a == 0 ? 1 : 0); };

/// On predicates: `decides` says which value of one source is enough to know the result.
template <auto function, std::uint32_t decides = 0>
Handler on_predicates(const Instruction&, Operation& operation) {
  constexpr std::size_t sources = std::invocable<decltype(function), Mask, Mask> ? 2 : 1;
  if (operation.type != Type::pred || operation.count != 1 + sources) return nullptr;
  operation.lane_bytes = {1, 1, sources - 1};
  operation.flags |= decides;
  return [](Warp& warp, const Operation& current) {
    if constexpr (sources == 2)
      warp.set_mask(current, 0, function(warp.mask(current, 1), warp.mask(current, 2)));
    else
      warp.set_mask(current, 0, function(warp.mask(current, 1)));
  };
}

/// Of instructions whose result has the bits of the first `sources` sources.
template <std::uint8_t sources, auto choose>
Handler moving(const Instruction& instruction, Operation& operation) {
  operation.moved_sources = sources;
  return choose(instruction, operation);
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
    for (const std::size_t lane : lanes_of(warp.active())) to[lane] = values[lane];
  }
  warp.set_mask(operation, 1, is_and ? is_set & other : is_set | other);
}

Handler choose_lop3(const Instruction& instruction, Operation& operation) {
  if (operation.type != Type::b32 || instruction.operands.size() < 5) return nullptr;
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
  operation.moved_sources = 3;
  return operation.count == 5 ? lop3_handlers[table.bits] : nullptr;
}

/// Shifts by the width or more give zeros, or the sign.
constexpr auto shift_left = []<class T>(T a, U32 by) {
  return by >= bits_of<T> ? T{0} : static_cast<T>(Wrapping<T>(a) << by);
};
constexpr auto shift_right = []<class T>(T a, U32 by) {
  constexpr U32 width = bits_of<T>;
  if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> std::min(by, width - 1));
  return by >= width ? T{0} : static_cast<T>(a >> by);
};

/// Of the 64 bits high:low, the upper 32 after a shift to the left, or the lower ones after one to the right.
template <bool left, bool wraps>
constexpr auto funnel = [](U32 low, U32 high, U32 by) {
  const U32 count = wraps ? by & 31 : std::min(by, U32{32});
  const std::uint64_t pair = std::uint64_t{high} << 32 | low;
  return static_cast<U32>(left ? pair << count >> 32 : pair >> count);
};

enum class Permutation { by_selector, forward4, backward4, replicate8, edge_left, edge_right, replicate16 };

/// Which of the eight bytes of b:a goes to byte `i`.
template <Permutation mode>
unsigned chosen_byte(unsigned i, U32 selector) {
  const unsigned base = selector & 3;
  switch (mode) {
    case Permutation::by_selector: return selector >> (4 * i) & 15;
    case Permutation::forward4: return base + i;
    case Permutation::backward4: return (base + 8 - i) & 7;
    case Permutation::replicate8: return base;
    case Permutation::edge_left: return std::max(i, base);
    case Permutation::edge_right: return std::min(i, base);
    case Permutation::replicate16: return (base & 1) * 2 + (i & 1);
  }
  return 0;
}

template <Permutation mode>
constexpr auto permuted = [](U32 a, U32 b, U32 selector) {
  const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
  U32 result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned choice = chosen_byte<mode>(i, selector);
    U32 byte = static_cast<U32>(bytes >> ((choice & 7) * 8)) & 0xFF;
    if ((choice & 8) != 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
    result |= byte << (8 * i);
  }
  return result;
};

constexpr auto leading_zeros = []<class T>(T a) { return static_cast<U32>(std::countl_zero(a)); };
constexpr auto ones_of = []<class T>(T a) { return static_cast<U32>(std::popcount(a)); };

/// The highest bit that differs from the sign; all ones where there is none.
template <bool as_shift>
constexpr auto find_bit = []<class T>(T a) {
  using U = std::make_unsigned_t<T>;
  const U bits = std::is_signed_v<T> && a < 0 ? static_cast<U>(~a) : static_cast<U>(a);
  if (bits == 0) return ~U32{0};
  const int zeros = std::countl_zero(bits);
  return static_cast<U32>(as_shift ? zeros : bits_of<T> - 1 - zeros);
};

/// The offset-th set bit from `base` upwards, or downwards for a negative offset.
constexpr auto find_nth = [](U32 mask, U32 base, S32 offset) {
  if (base >= 32) return ~U32{0};
  const int step = offset < 0 ? -1 : 1;
  std::int64_t left = offset == 0 ? 0 : std::int64_t{offset} * step - 1;
  for (auto at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1) != 0 && left-- == 0) return static_cast<U32>(at);
    if (offset == 0) break;
  }
  return ~U32{0};
};

constexpr auto reversed = []<class T>(T a) {
  T result = 0;
  for (int bit = 0; bit < bits_of<T>; ++bit) {
    result = static_cast<T>(result << 1 | (a & 1));
    a = static_cast<T>(a >> 1);
  }
  return result;
};

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
constexpr auto extracted = []<class T>(T a, U32 start, U32 length) {
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
};

constexpr auto inserted = []<class T>(T field, T into, U32 start, U32 length) {
  const U32 from = field_number<T>(start);
  const T mask = shift_left(ones<T>(field_number<T>(length)), from);
  return static_cast<T>((into & ~mask) | (shift_left(field, from) & mask));
};

template <bool clamps>
constexpr auto field_mask = [](U32 start, U32 length) {
  if (clamps && start >= 32) return U32{0};
  const U32 from = start & 31;
  const U32 count = clamps ? length : length & 31;
  return shift_left(ones<U32>(count), from);
};

template <bool clamps>
constexpr auto extended = []<class T>(T a, U32 width) {
  if (clamps && width >= 32) return a;
  const U32 count = width & 31;
  if (count == 0) return T{0};
  return static_cast<T>(static_cast<T>(static_cast<U32>(a) << (32 - count)) >> (32 - count));
};

constexpr Opcode table[] = {
    {"and", on_predicates<both, decided_by_false>, 3},
    {"and", moving<2, lanewise_over<AnyBits, both>>, 3},
    {"or", on_predicates<either, decided_by_true>, 3},
    {"or", moving<2, lanewise_over<AnyBits, either>>, 3},
    {"xor", on_predicates<exactly_one>, 3},
    {"xor", moving<2, lanewise_over<AnyBits, exactly_one>>, 3},
    {"not", on_predicates<inverse>, 2},
    {"not", moving<1, lanewise_over<AnyBits, inverse>>, 2},
    {"cnot", lanewise_over<AnyBits, is_zero>, 2},
    {"lop3", choose_lop3, 5, "", "and or"},
    {"shl", moving<1, lanewise_over<AnyBits, shift_left>>, 3},
    {"shr", moving<1, lanewise_over<AnyBits, shift_right>>, 3},
    {"shr", moving<1, lanewise_over<Integers, shift_right>>, 3},
    {"shf", moving<2, lanewise_over<Word, funnel<true, false>>>, 4, "l clamp"},
    {"shf", moving<2, lanewise_over<Word, funnel<true, true>>>, 4, "l wrap"},
    {"shf", moving<2, lanewise_over<Word, funnel<false, false>>>, 4, "r clamp"},
    {"shf", moving<2, lanewise_over<Word, funnel<false, true>>>, 4, "r wrap"},
    {"prmt", moving<2, lanewise_over<Word, permuted<Permutation::by_selector>>>, 4},
    {"prmt", moving<2, lanewise_over<Word, permuted<Permutation::forward4>>>, 4, "f4e"},
    {"prmt", moving<2, lanewise_over<Word, permuted<Permutation::backward4>>>, 4, "b4e"},
    {"prmt", moving<2, lanewise_over<Word, permuted<Permutation::replicate8>>>, 4, "rc8"},
    {"prmt", moving<2, lanewise_over<Word, permuted<Permutation::edge_left>>>, 4, "ecl"},
    {"prmt", moving<2, lanewise_over<Word, permuted<Permutation::edge_right>>>, 4, "ecr"},
    {"prmt", moving<2, lanewise_over<Word, permuted<Permutation::replicate16>>>, 4, "rc16"},
    {"popc", lanewise_over<WordBits, ones_of>, 2},
    {"clz", lanewise_over<WordBits, leading_zeros>, 2},
    {"bfind", lanewise_over<WideIntegers, find_bit<false>>, 2},
    {"bfind", lanewise_over<WideIntegers, find_bit<true>>, 2, "shiftamt"},
    {"fns", lanewise_over<Word, find_nth>, 4},
    {"brev", moving<1, lanewise_over<WordBits, reversed>>, 2},
    {"bfe", moving<1, lanewise_over<WideIntegers, extracted>>, 4},
    {"bfi", moving<2, lanewise_over<WordBits, inserted>>, 5},
    {"bmsk", lanewise_over<Word, field_mask<true>>, 3, "clamp"},
    {"bmsk", lanewise_over<Word, field_mask<false>>, 3, "wrap"},
    {"szext", moving<1, lanewise_over<WordIntegers, extended<true>>>, 3, "clamp"},
    {"szext", moving<1, lanewise_over<WordIntegers, extended<false>>>, 3, "wrap"},
};

}  // namespace

std::span<const Opcode> bit_opcodes() {
  return table;
}

}  // namespace weft::simulator
