// Arithmetic that reads or writes the carry flag CC.CF: PTX ISA, chapter 9.7.2.
#include <weft/backends/simulator/execute/lanes.h>

namespace weft::simulator {
namespace {

using ptx::Instruction;
using ptx::Type;

/// Runs `step` for each active lane: it turns sources and the flag into a result, and changes the flag.
template <class T, std::size_t sources, bool writes_flag, class F>
void with_carry(Warp& warp, const Operation& operation, F step) {
  std::array<const T*, sources> from{};
  for (std::size_t i = 0; i < sources; ++i) from[i] = warp.source<T>(operation, i + 1);
  T* const to = warp.result<T>(operation, 0);
  Mask& flags = warp.carry[0];
  for (Mask rest = warp.active(); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    std::array<T, sources> values;
    for (std::size_t i = 0; i < sources; ++i) values[i] = from[i][lane];
    bool flag = (flags >> lane & 1) != 0;
    to[lane] = step(values, flag);
    if (writes_flag) flags = (flags & ~(Mask{1} << lane)) | Mask{flag} << lane;
  }
}

template <class T>
T sum(T a, T b, bool& carry) {
  const T partial = a + b;
  const T whole = partial + T{carry};
  carry = partial < a || whole < partial;
  return whole;
}

/// The flag holds a borrow.
template <class T>
T difference(T a, T b, bool& borrow) {
  const T partial = a - b;
  const T whole = partial - T{borrow};
  borrow = a < b || partial < T{borrow};
  return whole;
}

enum class Part { low, high_unsigned, high_signed };

template <class T, Part part>
T product(T a, T b) {
  __extension__ using U = unsigned __int128;
  __extension__ using S = __int128;
  if constexpr (part == Part::low) return a * b;
  if constexpr (part == Part::high_unsigned) return static_cast<T>(U{a} * U{b} >> bits_of<T>);
  using Signed = std::make_signed_t<T>;
  return static_cast<T>(S{static_cast<Signed>(a)} * S{static_cast<Signed>(b)} >> bits_of<T>);
}

template <class T, bool reads, bool writes>
Handler sum_handler(bool subtracts) {
  if (subtracts) {
    return [](Warp& warp, const Operation& operation) {
      with_carry<T, 2, writes>(warp, operation, [](const std::array<T, 2>& of, bool& flag) {
        flag = flag && reads;
        return difference(of[0], of[1], flag);
      });
    };
  }
  return [](Warp& warp, const Operation& operation) {
    with_carry<T, 2, writes>(warp, operation, [](const std::array<T, 2>& of, bool& flag) {
      flag = flag && reads;
      return sum(of[0], of[1], flag);
    });
  };
}

template <class T, bool reads, bool writes>
Handler product_handler(const Instruction& instruction, bool is_signed) {
  const auto make = []<Part part>() -> Handler {
    return [](Warp& warp, const Operation& operation) {
      with_carry<T, 3, writes>(warp, operation, [](const std::array<T, 3>& of, bool& flag) {
        flag = flag && reads;
        return sum(product<T, part>(of[0], of[1]), of[2], flag);
      });
    };
  };
  if (instruction.has("lo")) return make.template operator()<Part::low>();
  return is_signed ? make.template operator()<Part::high_signed>()
                   : make.template operator()<Part::high_unsigned>();
}

template <class T>
Handler of_width(const Instruction& instruction, bool is_signed) {
  const std::string& name = instruction.opcode;
  const bool multiplies = name.starts_with("mad");
  const bool reads = name.ends_with('c');
  const bool writes = instruction.has("cc");
  const auto make = [&]<bool read, bool write>() {
    return multiplies ? product_handler<T, read, write>(instruction, is_signed)
                      : sum_handler<T, read, write>(name.starts_with("sub"));
  };
  if (!reads) return writes ? make.template operator()<false, true>() : nullptr;
  return writes ? make.template operator()<true, true>() : make.template operator()<true, false>();
}

Handler choose(const Instruction& instruction, Operation& operation) {
  const bool multiplies = instruction.opcode.starts_with("mad");
  if (!has_sources(instruction) || operation.count != (multiplies ? 4 : 3)) return nullptr;
  if (multiplies) {
    if (!has_only(instruction, 1, {"cc", "lo", "hi"}) || instruction.has("lo") == instruction.has("hi"))
      return nullptr;
  } else if (!has_only(instruction, 1, {"cc"})) {
    return nullptr;
  }
  operation.lane_bytes.fill(lane_bytes_of(operation.type));
  switch (operation.type) {
    case Type::u32:
    case Type::s32:
      return of_width<std::uint32_t>(instruction, operation.type == Type::s32);
    case Type::u64:
    case Type::s64:
      return of_width<std::uint64_t>(instruction, operation.type == Type::s64);
    default:
      return nullptr;
  }
}

constexpr Opcode table[] = {{"add", choose},  {"addc", choose}, {"sub", choose},
                            {"subc", choose}, {"mad", choose},  {"madc", choose}};

}  // namespace

std::span<const Opcode> carry_opcodes() {
  return table;
}

}  // namespace weft::simulator
