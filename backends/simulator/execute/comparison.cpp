// setp, set, selp and slct: PTX ISA, chapters 9.7.6 and 9.7.7.
#include <weft/backends/simulator/execute/numbers.h>

#include <array>

namespace weft::simulator {
namespace {

using ptx::Instruction;
using ptx::Type;
using U32 = std::uint32_t;
using U16 = std::uint16_t;

/// A comparison is the set of the outcomes for which it is true.
enum Outcome : unsigned { less = 1, equal = 2, greater = 4, unordered = 8 };

struct Comparison {
  std::string_view name;
  unsigned outcomes;
};
constexpr Comparison comparisons[] = {
    {"eq", equal},
    {"ne", less | greater},
    {"lt", less},
    {"le", less | equal},
    {"gt", greater},
    {"ge", greater | equal},
    {"equ", equal | unordered},
    {"neu", less | greater | unordered},
    {"ltu", less | unordered},
    {"leu", less | equal | unordered},
    {"gtu", greater | unordered},
    {"geu", greater | equal | unordered},
    {"num", less | equal | greater},
    {"nan", unordered},
};
constexpr Comparison unsigned_comparisons[] = {
    {"lo", less}, {"ls", less | equal}, {"hi", greater}, {"hs", greater | equal}};

/// How the outcome and the predicate operand combine.
enum class Combination : std::uint16_t { none, both, either, exactly_one };

template <unsigned outcomes, class T>
bool holds(T a, T b) {
  bool result = false;
  if ((outcomes & less) != 0) result |= a < b;
  if ((outcomes & equal) != 0) result |= a == b;
  if ((outcomes & greater) != 0) result |= a > b;
  if constexpr (std::floating_point<T>) {
    if ((outcomes & unordered) != 0) result |= std::isunordered(a, b);
  }
  return result;
}

// How a value lies in a lane, and which number it is.

template <class T>
struct Plain {
  using Raw = Lane<T>;
  static T read(Raw raw) { return from_lane<T>(raw); }
};
struct FlushedSingle {
  using Raw = U32;
  static float read(Raw raw) { return single_source<true>(raw); }
};
/// A 16-bit format; `shift` 16 for the high half of a pair.
template <class F, bool flushes, int shift = 0>
struct Narrow {
  using Raw = U32;
  static double read(Raw raw) {
    const auto bits = static_cast<U16>(raw >> shift);
    return decode<F>(flushes ? flushed<F>(bits) : bits);
  }
};

template <class Reader, unsigned outcomes>
Mask compared(const Warp& warp, const Operation& operation, std::size_t first) {
  const auto* a = warp.source<typename Reader::Raw>(operation, first);
  const auto* b = warp.source<typename Reader::Raw>(operation, first + 1);
  Mask result = 0;
  for (unsigned lane = 0; lane < lanes; ++lane)
    result |= Mask{holds<outcomes>(Reader::read(a[lane]), Reader::read(b[lane]))} << lane;
  return result;
}

Mask combined(Combination combination, Mask outcome, Mask other) {
  switch (combination) {
    case Combination::none:
      return outcome;
    case Combination::both:
      return outcome & other;
    case Combination::either:
      return outcome | other;
    case Combination::exactly_one:
      return outcome ^ other;
  }
  return outcome;
}

/// setp p, a, b{, c} and setp p|q, a, b{, c}: q is the opposite comparison.
template <class Reader, unsigned outcomes>
void run_setp(Warp& warp, const Operation& operation) {
  const std::size_t results = operation.results;
  const Mask outcome = compared<Reader, outcomes>(warp, operation, results);
  const auto combination = static_cast<Combination>(operation.variant);
  const Mask other = combination == Combination::none ? 0 : warp.mask(operation, results + 2);
  warp.set_mask(operation, 0, combined(combination, outcome, other));
  if (results == 2) warp.set_mask(operation, 1, combined(combination, ~outcome, other));
}

/// Of pairs: p for the low halves, q for the high ones.
template <class F, bool flushes, unsigned outcomes>
void run_setp_pair(Warp& warp, const Operation& operation) {
  const Mask low = compared<Narrow<F, flushes, 0>, outcomes>(warp, operation, 2);
  const Mask high = compared<Narrow<F, flushes, 16>, outcomes>(warp, operation, 2);
  const auto combination = static_cast<Combination>(operation.variant);
  const Mask other = combination == Combination::none ? 0 : warp.mask(operation, 4);
  warp.set_mask(operation, 0, combined(combination, low, other));
  warp.set_mask(operation, 1, combined(combination, high, other));
}

/// What `set` writes for true; `immediate` for a half of a pair too.
std::int64_t true_value(Type type) {
  switch (type) {
    case Type::f32:
      return 0x3F80'0000;
    case Type::f16:
    case Type::f16x2:
      return 0x3C00;
    case Type::bf16:
    case Type::bf16x2:
      return 0x3F80;
    case Type::u16:
    case Type::s16:
      return 0xFFFF;
    default:
      return 0xFFFF'FFFF;
  }
}

template <class Reader, unsigned outcomes>
void run_set(Warp& warp, const Operation& operation) {
  const auto combination = static_cast<Combination>(operation.variant);
  const Mask other = combination == Combination::none ? 0 : warp.mask(operation, 3);
  const Mask truth = combined(combination, compared<Reader, outcomes>(warp, operation, 1), other);
  const auto value = static_cast<U32>(operation.immediate);
  U32* const to = warp.result<U32>(operation, 0);
  for (Mask rest = warp.active(); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    to[lane] = (truth >> lane & 1) != 0 ? value : 0;
  }
}

template <class F, bool flushes, unsigned outcomes>
void run_set_pair(Warp& warp, const Operation& operation) {
  const auto combination = static_cast<Combination>(operation.variant);
  const Mask other = combination == Combination::none ? 0 : warp.mask(operation, 3);
  const Mask low =
      combined(combination, compared<Narrow<F, flushes, 0>, outcomes>(warp, operation, 1), other);
  const Mask high =
      combined(combination, compared<Narrow<F, flushes, 16>, outcomes>(warp, operation, 1), other);
  const auto value = static_cast<U16>(operation.immediate);
  U32* const to = warp.result<U32>(operation, 0);
  for (Mask rest = warp.active(); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    to[lane] = ((low >> lane & 1) != 0 ? U32{value} : 0) | ((high >> lane & 1) != 0 ? U32{value} << 16 : 0);
  }
}

/// The handlers of one source type, chosen by the comparison's outcomes.
using ByOutcome = std::array<Handler, 16>;

template <class Reader>
constexpr ByOutcome setp_handlers = []<std::size_t... I>(std::index_sequence<I...>) {
  return ByOutcome{run_setp<Reader, I>...};
}(std::make_index_sequence<16>{});
template <class Reader>
constexpr ByOutcome set_handlers = []<std::size_t... I>(std::index_sequence<I...>) {
  return ByOutcome{run_set<Reader, I>...};
}(std::make_index_sequence<16>{});
template <class F, bool flushes>
constexpr ByOutcome setp_pair_handlers = []<std::size_t... I>(std::index_sequence<I...>) {
  return ByOutcome{run_setp_pair<F, flushes, I>...};
}(std::make_index_sequence<16>{});
template <class F, bool flushes>
constexpr ByOutcome set_pair_handlers = []<std::size_t... I>(std::index_sequence<I...>) {
  return ByOutcome{run_set_pair<F, flushes, I>...};
}(std::make_index_sequence<16>{});

template <class Reader>
const ByOutcome& scalar(bool is_set) {
  return is_set ? set_handlers<Reader> : setp_handlers<Reader>;
}
template <class F, bool flushes>
const ByOutcome& paired(bool is_set) {
  return is_set ? set_pair_handlers<F, flushes> : setp_pair_handlers<F, flushes>;
}

const ByOutcome* handlers_of(Type type, bool flushes, bool is_set) {
  using enum Type;
  switch (type) {
    case b16:
    case u16:
      return &scalar<Plain<U16>>(is_set);
    case s16:
      return &scalar<Plain<std::int16_t>>(is_set);
    case b32:
    case u32:
      return &scalar<Plain<U32>>(is_set);
    case s32:
      return &scalar<Plain<std::int32_t>>(is_set);
    case b64:
    case u64:
      return &scalar<Plain<std::uint64_t>>(is_set);
    case s64:
      return &scalar<Plain<std::int64_t>>(is_set);
    case f32:
      return flushes ? &scalar<FlushedSingle>(is_set) : &scalar<Plain<float>>(is_set);
    case f64:
      return &scalar<Plain<double>>(is_set);
    case f16:
      return flushes ? &scalar<Narrow<Half, true>>(is_set) : &scalar<Narrow<Half, false>>(is_set);
    case bf16:
      return &scalar<Narrow<Bfloat, false>>(is_set);
    case f16x2:
      return flushes ? &paired<Half, true>(is_set) : &paired<Half, false>(is_set);
    case bf16x2:
      return &paired<Bfloat, false>(is_set);
    default:
      return nullptr;
  }
}

bool is_floating(Type type) {
  using enum Type;
  return type == f16 || type == f16x2 || type == bf16 || type == bf16x2 || type == f32 || type == f64;
}
bool is_pair(Type type) {
  return type == Type::f16x2 || type == Type::bf16x2;
}
bool is_unsigned(Type type) {
  return type == Type::u16 || type == Type::u32 || type == Type::u64;
}
bool is_bits(Type type) {
  return type == Type::b16 || type == Type::b32 || type == Type::b64;
}

std::optional<unsigned> outcomes_of(const std::string& name, Type type) {
  for (const Comparison& each : comparisons) {
    if (each.name != name) continue;
    const bool is_ordered_only = (each.outcomes & unordered) == 0 && name != "num";
    if (!is_floating(type) && !is_ordered_only) return std::nullopt;
    if (is_bits(type) && name != "eq" && name != "ne") return std::nullopt;
    return each.outcomes;
  }
  for (const Comparison& each : unsigned_comparisons) {
    if (each.name == name && is_unsigned(type)) return each.outcomes;
  }
  return std::nullopt;
}

Combination combination_of(const Instruction& instruction) {
  if (instruction.has("and")) return Combination::both;
  if (instruction.has("or")) return Combination::either;
  if (instruction.has("xor")) return Combination::exactly_one;
  return Combination::none;
}

Handler choose_comparison(const Instruction& instruction, Operation& operation) {
  const bool is_set = instruction.opcode == "set";
  const std::vector<Type> types = instruction.types();
  if (types.size() != (is_set ? 2U : 1U) || !has_sources(instruction) || instruction.operands.empty())
    return nullptr;
  const Type type = types.back();
  const auto outcomes = outcomes_of(instruction.modifiers.front(), type);
  if (!outcomes || !has_only(instruction, types.size(),
                             {std::string_view(instruction.modifiers.front()), "and", "or", "xor", "ftz"}))
    return nullptr;
  const bool flushes = instruction.has("ftz");
  if (flushes && type != Type::f32 && type != Type::f16 && type != Type::f16x2) return nullptr;
  const Combination combination = combination_of(instruction);
  operation.variant = static_cast<std::uint16_t>(combination);
  operation.source_type = type;
  if (combination == Combination::both) operation.flags |= decided_by_false;
  if (combination == Combination::either) operation.flags |= decided_by_true;
  if (is_set) {
    operation.type = types.front();
    operation.immediate = is_pair(type) && !is_floating(types.front()) ? 0xFFFF : true_value(types.front());
  } else {
    const bool has_second = instruction.operands.front().kind == ptx::Operand::Kind::pair;
    if (is_pair(type) && !has_second) return nullptr;
    operation.type = Type::pred;
    operation.results = has_second ? 2 : 1;
  }
  const std::uint8_t width = lane_bytes_of(type), result = is_set ? 4 : 1;
  operation.lane_bytes = {result, width, width, 1};
  if (operation.results == 2) operation.lane_bytes = {1, 1, width, width, 1};
  const std::size_t sources = combination == Combination::none ? 2 : 3;
  const ByOutcome* const handlers = handlers_of(type, flushes, is_set);
  if (handlers == nullptr || operation.count != operation.results + sources) return nullptr;
  return (*handlers)[*outcomes];
}

template <class T>
void run_selp(Warp& warp, const Operation& operation) {
  const T *a = warp.source<T>(operation, 1), *b = warp.source<T>(operation, 2);
  const Mask choice = warp.mask(operation, 3);
  T* const to = warp.result<T>(operation, 0);
  for (Mask rest = warp.active(); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    to[lane] = (choice >> lane & 1) != 0 ? a[lane] : b[lane];
  }
}

/// 16-bit immediates may have a sign above their 16 bits.
void run_selp16(Warp& warp, const Operation& operation) {
  const Mask choice = warp.mask(operation, 3);
  const U32 *a = warp.source<U32>(operation, 1), *b = warp.source<U32>(operation, 2);
  U32* const to = warp.result<U32>(operation, 0);
  for (Mask rest = warp.active(); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    to[lane] = ((choice >> lane & 1) != 0 ? a[lane] : b[lane]) & 0xFFFF;
  }
}

Handler choose_selp(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 1, {}) || operation.count != 4) return nullptr;
  operation.keeps_undefined = true;
  operation.flags |= selects_source;
  const std::uint8_t width = lane_bytes_of(operation.type);
  operation.lane_bytes = {width, width, width, 1};
  switch (ptx::size_of(operation.type)) {
    case 2:
      return run_selp16;
    case 4:
      return run_selp<U32>;
    case 8:
      return run_selp<std::uint64_t>;
    default:
      return nullptr;
  }
}

template <class S, bool flushes>
bool is_not_negative(U32 raw) {
  if constexpr (flushes) raw = flushed<Single>(raw);
  return from_lane<S>(raw) >= S{0};
}

template <class S, bool flushes>
Handler slct_handler(Operation& operation) {
  const auto make = [&]<class T>(T) {
    return lanewise<T, T, T, U32>(operation,
                                  [](T a, T b, U32 c) { return is_not_negative<S, flushes>(c) ? a : b; });
  };
  switch (ptx::size_of(operation.type)) {
    case 2:
      return make(U16{});
    case 4:
      return make(U32{});
    case 8:
      return make(std::uint64_t{});
    default:
      return nullptr;
  }
}

Handler choose_slct(const Instruction& instruction, Operation& operation) {
  if (!has_sources(instruction) || !has_only(instruction, 2, {"ftz"})) return nullptr;
  const std::vector<Type> types = instruction.types();
  operation.type = types[0];
  operation.source_type = types[1];
  if (types[1] == Type::s32)
    return instruction.has("ftz") ? nullptr : slct_handler<std::int32_t, false>(operation);
  if (types[1] != Type::f32) return nullptr;
  return instruction.has("ftz") ? slct_handler<float, true>(operation)
                                : slct_handler<float, false>(operation);
}

constexpr Opcode table[] = {
    {"setp", choose_comparison}, {"set", choose_comparison}, {"selp", choose_selp}, {"slct", choose_slct}};

}  // namespace

std::span<const Opcode> comparison_opcodes() {
  return table;
}

}  // namespace weft::simulator
