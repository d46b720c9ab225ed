// setp, set, selp and slct: PTX ISA, chapters 9.7.6 and 9.7.7.
#include <weft/backends/simulator/execute/numbers.h>

#include <array>

namespace weft::simulator {
namespace {

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
  return lanes_where(
      [&](std::size_t lane) { return holds<outcomes>(Reader::read(a[lane]), Reader::read(b[lane])); });
}

/// The outcome with the predicate operand `which`, where there is one.
Mask combined(const Warp& warp, const Operation& operation, Mask outcome, std::size_t which) {
  switch (static_cast<Combination>(operation.variant)) {
    case Combination::none: return outcome;
    case Combination::both: return outcome & warp.mask(operation, which);
    case Combination::either: return outcome | warp.mask(operation, which);
    case Combination::exactly_one: return outcome ^ warp.mask(operation, which);
  }
  return outcome;
}

/// setp p, a, b{, c} and setp p|q, a, b{, c}: q is the opposite comparison, or that of the high halves of
/// pairs.
template <unsigned outcomes, class Low, class... High>
void run_setp(Warp& warp, const Operation& operation) {
  const std::size_t first = operation.results;
  const Mask low = compared<Low, outcomes>(warp, operation, first);
  Mask second = ~low;
  ((second = compared<High, outcomes>(warp, operation, first)), ...);
  const Mask p = combined(warp, operation, low, first + 2), q = combined(warp, operation, second, first + 2);
  warp.set_mask(operation, 0, p);
  if (operation.results == 2) warp.set_mask(operation, 1, q);
}

/// What `set` writes for true; a half of a pair gets its low 16 bits.
std::int64_t true_value(Type type) {
  switch (type) {
    case Type::f32: return 0x3F80'0000;
    case Type::f16:
    case Type::f16x2: return 0x3C00;
    case Type::bf16:
    case Type::bf16x2: return 0x3F80;
    case Type::u16:
    case Type::s16: return 0xFFFF;
    default: return 0xFFFF'FFFF;
  }
}

template <unsigned outcomes, class Low, class... High>
void run_set(Warp& warp, const Operation& operation) {
  const Mask low = combined(warp, operation, compared<Low, outcomes>(warp, operation, 1), 3);
  Mask high = 0;
  ((high = combined(warp, operation, compared<High, outcomes>(warp, operation, 1), 3)), ...);
  const auto value = static_cast<U32>(operation.immediate);
  U32* const to = warp.result<U32>(operation, 0);
  for (const std::size_t lane : lanes_of(warp.active()))
    to[lane] = ((low >> lane & 1) != 0 ? value : 0) | ((high >> lane & 1) != 0 ? value << 16 : 0);
}

/// `Readers`: one, or those of both halves of a pair.
template <class... Readers>
Handler handler_for(unsigned outcomes, bool is_set) {
  static constexpr auto handlers = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<std::array<Handler, 2>, sizeof...(I)>{
        {{run_setp<I, Readers...>, run_set<I, Readers...>}...}};
  }(std::make_index_sequence<16>{});
  return handlers[outcomes][is_set ? 1 : 0];
}

Handler choose_handler(Type type, bool flushes, unsigned outcomes, bool is_set) {
  using enum Type;
  using Whole = TypeSet<b16, u16, s16, b32, u32, s32, b64, u64, s64>;
  const Handler whole =
      Whole::choose(type, [&]<class T>(T) { return handler_for<Plain<T>>(outcomes, is_set); });
  if (whole != nullptr) return whole;
  return for_floating(type, [&]<class F, bool is_packed>() {
    const auto make = [&]<bool ftz>() {
      if constexpr (std::is_same_v<F, Double>) return handler_for<Plain<double>>(outcomes, is_set);
      if constexpr (std::is_same_v<F, Single>)
        return handler_for<std::conditional_t<ftz, FlushedSingle, Plain<float>>>(outcomes, is_set);
      if constexpr (is_packed) return handler_for<Narrow<F, ftz>, Narrow<F, ftz, 16>>(outcomes, is_set);
      return handler_for<Narrow<F, ftz>>(outcomes, is_set);
    };
    return with_constants(make, flushes);
  });
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

/// a < 0, 0 <= a, and the same by a > -1, a <= -1.
bool is_of_sign(const Instruction& instruction, Type type, const std::string& comparison) {
  const ptx::Operand& second = instruction.operands[2];
  if (type != Type::s32 || second.kind != ptx::Operand::Kind::integer) return false;
  const auto value = static_cast<std::int32_t>(second.bits);
  return value == 0 ? comparison == "lt" || comparison == "ge"
                    : value == -1 && (comparison == "gt" || comparison == "le");
}

Handler choose_comparison(const Instruction& instruction, Operation& operation) {
  const bool is_set = instruction.opcode == "set";
  const std::vector<Type> types = instruction.types();
  if (types.size() != (is_set ? 2U : 1U) || !has_sources(instruction)) return nullptr;
  const Type type = types.back();
  const std::string& comparison = instruction.modifiers.front();
  const auto outcomes = outcomes_of(comparison, type);
  if (!outcomes || !has_only(instruction, is_set ? 2 : 1, comparison + " and or xor ftz")) return nullptr;
  const bool flushes = instruction.has("ftz");
  if (flushes && type != Type::f32 && type != Type::f16 && type != Type::f16x2) return nullptr;
  const Combination combination = combination_of(instruction);
  operation.variant = static_cast<std::uint16_t>(combination);
  operation.source_type = type;
  if (combination == Combination::both) operation.flags |= decided_by_false;
  if (combination == Combination::either) operation.flags |= decided_by_true;
  if (combination == Combination::none && is_of_sign(instruction, type, comparison))
    operation.flags |= asks_sign;
  if (is_set) {
    operation.type = types.front();
    operation.immediate = true_value(types.front()) & (is_pair(type) ? 0xFFFF : 0xFFFF'FFFF);
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
  if (operation.count != operation.results + sources) return nullptr;
  return choose_handler(type, flushes, *outcomes, is_set);
}

/// 16-bit immediates may have a sign above their 16 bits.
template <class T>
void run_selp(Warp& warp, const Operation& operation) {
  const auto *a = warp.source<Lane<T>>(operation, 1), *b = warp.source<Lane<T>>(operation, 2);
  const Mask choice = warp.mask(operation, 3);
  auto* const to = warp.result<Lane<T>>(operation, 0);
  for (const std::size_t lane : lanes_of(warp.active()))
    to[lane] = static_cast<T>((choice >> lane & 1) != 0 ? a[lane] : b[lane]);
}

Handler choose_selp(const Instruction&, Operation& operation) {
  if (operation.count != 4) return nullptr;
  operation.keeps_undefined = true;
  operation.moved_sources = 2;
  const std::uint8_t width = lane_bytes_of(operation.type);
  operation.lane_bytes = {width, width, width, 1};
  return by_size(operation.type, []<class T>(T) -> Handler { return run_selp<T>; });
}

/// By the sign of an S.
template <class S, bool flushes>
Handler choose_slct(const Instruction& instruction, Operation& operation) {
  const std::vector<Type> types = instruction.types();
  if (types[1] != (std::integral<S> ? Type::s32 : Type::f32)) return nullptr;
  operation.type = types[0];
  operation.source_type = types[1];
  return by_size(types[0], [&]<class T>(T) {
    return lanewise(operation, [](T a, T b, U32 c) {
      if constexpr (flushes) c = flushed<Single>(c);
      return from_lane<S>(c) >= S{0} ? a : b;
    });
  });
}

constexpr Opcode table[] = {
    {"setp", choose_comparison, 3, "", "", any_modifiers},
    {"set", choose_comparison, 3, "", "", any_modifiers},
    {"selp", choose_selp, 4},
    {"slct", choose_slct<std::int32_t, false>, 4, "", "", 2},
    {"slct", choose_slct<float, false>, 4, "", "", 2},
    {"slct", choose_slct<float, true>, 4, "ftz", "", 2},
};

}  // namespace

std::span<const Opcode> comparison_opcodes() {
  return table;
}

}  // namespace weft::simulator
