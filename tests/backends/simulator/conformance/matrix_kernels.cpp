#include "matrix_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft::simulator::testing {
namespace {

constexpr int lanes = 32;

constexpr std::string_view module_start = R"(.version 8.5
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 in, .param .u64 out)
{
  .reg .b32 %r<80>;
  .reg .f32 %f<20>;
  .reg .f64 %d<40>;
  .reg .b64 %a<8>;
  ld.param.u64 %a0, [in];
  ld.param.u64 %a1, [out];
  mov.u32 %r0, %tid.x;
)";

// Fragments as the PTX ISA lists them, shape by shape.

int group_of(int lane) {
  return lane / 4;
}
int member_of(int lane) {
  return lane % 4;
}

}  // namespace

Place place_in_a(Type type, int rows, int lane, int i) {
  const int group = group_of(lane), member = member_of(lane);
  switch (bytes_of(type)) {
    case 1: return {(i % 8 < 4 || rows == 8 ? group : group + 8), member * 4 + i % 4 + (i >= 8 ? 16 : 0)};
    case 2: return {i % 4 < 2 ? group : group + 8, member * 2 + i % 2 + (i >= 4 ? 8 : 0)};
    case 4: return {i % 2 == 0 ? group : group + 8, member + (i >= 2 ? 4 : 0)};
    default: return {i % 2 == 0 ? group : group + 8, member + i / 2 * 4};
  }
}

Place place_in_b(Type type, int lane, int i) {
  const int group = group_of(lane), member = member_of(lane);
  switch (bytes_of(type)) {
    case 1: return {member * 4 + i % 4 + i / 4 * 16, group};
    case 2: return {member * 2 + i % 2 + i / 2 * 8, group};
    default: return {member + i * 4, group};
  }
}

Place place_of_sum(int lane, int i) {
  return {group_of(lane) + (i >= 2 ? 8 : 0), member_of(lane) * 2 + i % 2};
}

std::string register_list(char kind, int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", kind, first + i);
  return text;
}

double tolerance_of(Type operand, Type result, int inner, bool is_whole) {
  if (is_whole || is_integer(result)) return 0;
  if (result == Type::f16) return 0x1p-7;
  if (result == Type::f64) return (inner + 1) * 0x1p-52;
  return (inner + 1) * (bytes_of(operand) == 1 ? 0x1p-13 : 0x1p-21);
}

double accumulated(Type result, double start, double products, bool saturates) {
  const double sum = start + products;
  if (result != Type::s32) return decode(result, encode(result, sum));
  if (saturates) return std::clamp(sum, -0x1p31, 0x1p31 - 1);
  return decode(Type::s32, static_cast<std::uint64_t>(static_cast<std::int64_t>(sum)));
}

int selectors_of(Type type, int inner) {
  const bool is_long = inner * bytes_of(type) == 64;
  if (bytes_of(type) == 1) return is_long ? 1 : 2;
  return is_long ? 2 : 4;
}

Sparsity::Sparsity(Type type, int inner, int selector, Draw& draw) : inner_(inner) {
  const bool is_single = type == Type::tf32;
  const bool is_long = inner * bytes_of(type) == 64;
  metadata.resize(lanes);
  // Lanes that give nothing have anything in their registers.
  for (std::uint32_t& word : metadata) word = draw.word();
  positions.resize(static_cast<std::size_t>(16 * inner / 2));
  const int group_columns = is_single ? 2 : 4;
  for (int row = 0; row < 16; ++row)
    for (int group = 0; group < inner / group_columns; ++group) {
      int first = 0, second = 1;
      int* const to = positions.data() + row * inner / 2 + group * group_columns / 2;
      if (is_single) {
        to[0] = group * 2 + draw.below(2);
        first = to[0] % 2 * 2;
        second = first + 1;
      } else {
        first = draw.below(3);
        second = first + 1 + draw.below(3 - first);
        to[0] = group * 4 + first;
        to[1] = group * 4 + second;
      }
      const auto bits = static_cast<std::uint32_t>(first | second << 2);
      int lane = row % 8 * 4, shift = 0;
      if (bytes_of(type) == 1) {
        lane += is_long ? (row < 8 ? 0 : 1) + group / 8 * 2 : selector * 2 + (row < 8 ? 0 : 1);
        shift = group % 8 * 4;
      } else {
        lane += is_long ? selector * 2 + group / 4 : selector;
        shift = group % 4 * 4 + (row < 8 ? 0 : 16);
      }
      std::uint32_t& word = metadata[static_cast<std::size_t>(lane)];
      word = (word & ~(15U << shift)) | bits << shift;
    }
}

namespace {

struct Case {
  int rows, inner;
  Type a, b, d;
  std::string_view sparse = {};  ///< "sp", "sp::ordered_metadata"
  int selector = 0;
  bool saturates = false;
  bool is_whole = true;
};

std::string instruction_of(const Case& test) {
  return fmt::format("mma{}{}.sync.aligned.m{}n8k{}.row.col{}.{}.{}.{}.{}", test.sparse.empty() ? "" : ".",
                     test.sparse, test.rows, test.inner, test.saturates ? ".satfinite" : "", name_of(test.d),
                     name_of(test.a), name_of(test.b), name_of(test.d));
}

/// The registers of all lanes, lane by lane, filled element by element.
class Registers {
 public:
  explicit Registers(int words_of_lane) : words_of_lane_(words_of_lane) {
    words.resize(static_cast<std::size_t>(words_of_lane) * lanes);
  }
  void set(int lane, int first_word, int element_bytes, int index, std::uint64_t bits) {
    const int at = first_word * 4 + index * element_bytes;
    for (int byte = 0; byte < element_bytes; ++byte)
      words.data()[lane * words_of_lane_ + (at + byte) / 4] |=
          static_cast<std::uint32_t>(bits >> 8 * byte & 0xFF) << 8 * ((at + byte) % 4);
  }
  std::vector<std::uint32_t> words;

 private:
  int words_of_lane_;
};

/// Loads or stores registers of a lane: `kind` r (32 bits), f, d (64 bits).
std::string transfers(bool is_load, char kind, int first, int count, std::string_view address, int offset) {
  const std::string_view type = kind == 'r' ? "b32" : kind == 'f' ? "f32" : "f64";
  std::string text;
  for (int i = 0; i < count; ++i) {
    const int at = offset + i * (kind == 'd' ? 8 : 4);
    text += is_load ? fmt::format("  ld.global.{} %{}{}, [{}+{}];\n", type, kind, first + i, address, at)
                    : fmt::format("  st.global.{} [{}+{}], %{}{};\n", type, address, at, kind, first + i);
  }
  return text;
}

MatrixKernel multiply_kernel(const Case& test, std::uint32_t seed) {
  Draw draw(seed);
  const bool is_sparse = !test.sparse.empty();
  const int stored = is_sparse ? test.inner / 2 : test.inner;
  const Operands a(test.a, test.rows, stored, test.is_whole, draw);
  const Operands b(test.b, test.inner, 8, test.is_whole, draw);
  const Operands c(test.d, test.rows, 8, test.is_whole, draw);
  const int of_a = test.rows * stored / lanes, of_b = test.inner * 8 / lanes, of_c = test.rows * 8 / lanes;
  const int words_a = of_a * bytes_of(test.a) / 4, words_b = of_b * bytes_of(test.b) / 4,
            words_c = of_c * bytes_of(test.d) / 4;
  const int words = words_a + words_b + words_c + 1 + (words_a + words_b + words_c + 1) % 2;
  Registers registers(words);
  const int at_metadata = words_a + words_b + words_c;
  MatrixKernel kernel;
  std::vector<int> positions;
  if (is_sparse) {
    const Sparsity sparsity(test.a, test.inner, test.selector, draw);
    positions = sparsity.positions;
    for (int lane = 0; lane < lanes; ++lane)
      registers.set(lane, at_metadata, 4, 0, sparsity.metadata[static_cast<std::size_t>(lane)]);
  }
  for (int lane = 0; lane < lanes; ++lane) {
    for (int i = 0; i < of_a; ++i) {
      const Place at = place_in_a(test.a, test.rows, lane, i);
      registers.set(lane, 0, bytes_of(test.a), i, a.bit(at.row, at.column));
    }
    for (int i = 0; i < of_b; ++i) {
      const Place at = place_in_b(test.b, lane, i);
      registers.set(lane, words_a, bytes_of(test.b), i, b.bit(at.row, at.column));
    }
    for (int i = 0; i < of_c; ++i) {
      const Place at = place_of_sum(lane, i);
      registers.set(lane, words_a + words_b, bytes_of(test.d), i, c.bit(at.row, at.column));
      double products = 0;
      for (int k = 0; k < stored; ++k)
        products +=
            a.value(at.row, k) * b.value(is_sparse ? positions.data()[at.row * stored + k] : k, at.column);
      kernel.expected.push_back(accumulated(test.d, c.value(at.row, at.column), products, test.saturates));
    }
  }
  const char kind_a = test.a == Type::f64 ? 'd' : 'r';
  const char kind_c = test.d == Type::f64 ? 'd' : test.d == Type::f32 ? 'f' : 'r';
  const int unit = kind_a == 'd' ? 2 : 1, unit_c = kind_c == 'd' ? 2 : 1;
  const int r_a = 1, r_b = r_a + words_a / unit, r_c = kind_c == 'f' ? 0 : r_b + words_b / unit,
            count_c = words_c / unit_c;
  const std::string instruction = instruction_of(test);
  kernel.ptx =
      std::string(module_start) +
      fmt::format("  mad.wide.u32 %a0, %r0, {}, %a0;\n  mad.wide.u32 %a1, %r0, {}, %a1;\n", words * 4,
                  words_c * 4) +
      transfers(true, kind_a, r_a, words_a / unit, "%a0", 0) +
      transfers(true, kind_a, r_b, words_b / unit, "%a0", words_a * 4) +
      transfers(true, kind_c, r_c, count_c, "%a0", (words_a + words_b) * 4) +
      (is_sparse ? fmt::format("  ld.global.b32 %r79, [%a0+{}];\n", at_metadata * 4) : "") +
      fmt::format("  {} {{{}}}, {{{}}}, {{{}}}, {{{}}}{};\n", instruction,
                  register_list(kind_c, r_c + count_c, count_c), register_list(kind_a, r_a, words_a / unit),
                  register_list(kind_a, r_b, words_b / unit), register_list(kind_c, r_c, count_c),
                  is_sparse ? fmt::format(", %r79, {}", test.selector) : "") +
      transfers(false, kind_c, r_c + count_c, count_c, "%a1", 0) + "  ret;\n}\n";
  kernel.name = instruction + (is_sparse ? fmt::format(" selector {}", test.selector) : "") +
                (test.is_whole ? " whole" : " random");
  kernel.input = registers.words;
  kernel.result = test.d;
  kernel.tolerance = tolerance_of(test.a, test.d, test.inner, test.is_whole);
  return kernel;
}

void add_dense(std::vector<Case>& cases) {
  for (const int inner : {8, 16}) {
    cases.push_back({16, inner, Type::f16, Type::f16, Type::f32});
    cases.push_back({16, inner, Type::f16, Type::f16, Type::f16});
    cases.push_back({16, inner, Type::bf16, Type::bf16, Type::f32});
    cases.push_back({16, inner / 2, Type::tf32, Type::tf32, Type::f32});
  }
  cases.push_back({8, 4, Type::f64, Type::f64, Type::f64});
  for (const int inner : {4, 8, 16}) cases.push_back({16, inner, Type::f64, Type::f64, Type::f64});
  for (const Type a : {Type::s8, Type::u8})
    for (const Type b : {Type::s8, Type::u8})
      for (const bool saturates : {false, true}) {
        cases.push_back({.rows = 8, .inner = 16, .a = a, .b = b, .d = Type::s32, .saturates = saturates});
        cases.push_back({.rows = 16, .inner = 16, .a = a, .b = b, .d = Type::s32, .saturates = saturates});
        cases.push_back({.rows = 16, .inner = 32, .a = a, .b = b, .d = Type::s32, .saturates = saturates});
      }
  for (const Type a : {Type::e4m3, Type::e5m2})
    for (const Type b : {Type::e4m3, Type::e5m2}) cases.push_back({16, 32, a, b, Type::f32});
}

void add_sparse(std::vector<Case>& cases) {
  const auto add = [&cases](Type a, Type b, Type d, int inner) {
    for (const std::string_view kind : {"sp", "sp::ordered_metadata"})
      for (int selector = 0; selector < selectors_of(a, inner); ++selector)
        cases.push_back({16, inner, a, b, d, kind, selector});
  };
  for (const int inner : {16, 32}) {
    add(Type::f16, Type::f16, Type::f32, inner);
    add(Type::f16, Type::f16, Type::f16, inner);
    add(Type::bf16, Type::bf16, Type::f32, inner);
    add(Type::tf32, Type::tf32, Type::f32, inner / 2);
    add(Type::s8, Type::s8, Type::s32, inner * 2);
    add(Type::u8, Type::s8, Type::s32, inner * 2);
  }
  add(Type::e4m3, Type::e5m2, Type::f32, 64);
}

}  // namespace

std::vector<MatrixKernel> multiply_kernels() {
  std::vector<Case> cases;
  add_dense(cases);
  add_sparse(cases);
  std::vector<MatrixKernel> kernels;
  std::uint32_t seed = 1;
  for (Case test : cases) {
    kernels.push_back(multiply_kernel(test, seed++));
    if (is_integer(test.d)) continue;
    test.is_whole = false;
    kernels.push_back(multiply_kernel(test, seed++));
  }
  return kernels;
}

std::vector<MatrixKernel> matrix_kernels() {
  std::vector<MatrixKernel> all = matrix_move_kernels();
  std::ranges::move(multiply_kernels(), std::back_inserter(all));
  std::ranges::move(warpgroup_kernels(), std::back_inserter(all));
  return all;
}

}  // namespace weft::simulator::testing
