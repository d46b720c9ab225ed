// Arithmetic that reads or writes the carry flag CC.CF: PTX ISA, chapter 9.7.2.
#include <weft/backends/simulator/execute/lanes.h>

namespace weft::simulator {
namespace {

/// Runs `step` for each active lane: it turns sources and the flag into a result, and changes the flag.
template <class T, std::size_t sources, bool reads_flag, bool writes_flag, auto step>
void run(Warp& warp, const Operation& operation) {
  std::array<const T*, sources> from{};
  for (std::size_t i = 0; i < sources; ++i) from[i] = warp.source<T>(operation, i + 1);
  T* const to = warp.result<T>(operation, 0);
  Mask& flags = warp.carry[0];
  for (const std::size_t lane : lanes_of(warp.active())) {
    std::array<T, sources> values;
    for (std::size_t i = 0; i < sources; ++i) values[i] = from[i][lane];
    bool flag = reads_flag && (flags >> lane & 1) != 0;
    to[lane] = step(values, flag);
    if (writes_flag) flags = (flags & ~(Mask{1} << lane)) | Mask{flag} << lane;
  }
}

constexpr auto sum = []<class T>(T a, T b, bool& carry) {
  const T partial = a + b;
  const T whole = partial + T{carry};
  carry = partial < a || whole < partial;
  return whole;
};
constexpr auto sum_of_two = []<class T>(const std::array<T, 2>& of, bool& carry) {
  return sum(of[0], of[1], carry);
};

/// The flag holds a borrow.
constexpr auto difference = []<class T>(const std::array<T, 2>& of, bool& borrow) {
  const T partial = of[0] - of[1];
  const T whole = partial - T{borrow};
  borrow = of[0] < of[1] || partial < T{borrow};
  return whole;
};

enum class Part { low, high_unsigned, high_signed };

template <Part part>
constexpr auto product_plus = []<class T>(const std::array<T, 3>& of, bool& carry) {
  __extension__ using U = unsigned __int128;
  __extension__ using S = __int128;
  using Signed = std::make_signed_t<T>;
  T product = of[0] * of[1];
  if constexpr (part == Part::high_unsigned) product = static_cast<T>(U{of[0]} * U{of[1]} >> bits_of<T>);
  if constexpr (part == Part::high_signed)
    product = static_cast<T>(S{static_cast<Signed>(of[0])} * S{static_cast<Signed>(of[1])} >> bits_of<T>);
  return sum(product, of[2], carry);
};

/// `signed_step`: of signed types, where it differs.
template <std::size_t sources, bool reads, bool writes, auto step, auto signed_step = step>
Handler choose(const Instruction&, Operation& operation) {
  if (operation.count != sources + 1) return nullptr;
  operation.lane_bytes.fill(lane_bytes_of(operation.type));
  return WideIntegers::choose(operation.type, []<class T>(T) -> Handler {
    if constexpr (std::is_signed_v<T>)
      return run<std::make_unsigned_t<T>, sources, reads, writes, signed_step>;
    return run<std::make_unsigned_t<T>, sources, reads, writes, step>;
  });
}

constexpr auto low = product_plus<Part::low>;
constexpr auto high = product_plus<Part::high_unsigned>;
constexpr auto signed_high = product_plus<Part::high_signed>;

constexpr Opcode table[] = {
    {"add", choose<2, false, true, sum_of_two>, 3, "cc"},
    {"addc", choose<2, true, false, sum_of_two>, 3},
    {"addc", choose<2, true, true, sum_of_two>, 3, "cc"},
    {"sub", choose<2, false, true, difference>, 3, "cc"},
    {"subc", choose<2, true, false, difference>, 3},
    {"subc", choose<2, true, true, difference>, 3, "cc"},
    {"mad", choose<3, false, true, low>, 4, "lo cc"},
    {"mad", choose<3, false, true, high, signed_high>, 4, "hi cc"},
    {"madc", choose<3, true, false, low>, 4, "lo"},
    {"madc", choose<3, true, false, high, signed_high>, 4, "hi"},
    {"madc", choose<3, true, true, low>, 4, "lo cc"},
    {"madc", choose<3, true, true, high, signed_high>, 4, "hi cc"},
};

}  // namespace

std::span<const Opcode> carry_opcodes() {
  return table;
}

}  // namespace weft::simulator
