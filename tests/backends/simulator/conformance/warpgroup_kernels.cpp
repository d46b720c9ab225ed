#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>

#include <algorithm>
#include <array>

#include "matrix_kernels.h"

namespace weft::simulator::testing {
namespace {

constexpr int threads = 128, rows = 64, copied_at_once = threads * 16;

/// How a matrix lies in shared memory: the width of its swizzle (16 for none), the way it is turned.
struct Layout {
  int width = 128;
  bool is_mn_major = false;
  int advance = 0;  ///< K major: how many products of k stand before this one in the same rows
};

struct Case {
  int columns, inner;
  Type a, b, d;
  Layout layout_a, layout_b;
  bool a_in_registers = false;
  int selector = -1;  ///< -1: dense
  bool adds = true;
  int sign_a = 1, sign_b = 1;
  bool saturates = false;
  bool is_whole = true;
  int stored() const { return selector >= 0 ? inner / 2 : inner; }
};

/// A matrix in shared memory, from `start` on: where elements stand, and the descriptor.
class Image {
 public:
  Image(const Layout& layout, int start, int count, int inner, int element_bytes)
      : layout_(layout), start_(start), count_(count), inner_(inner), element_bytes_(element_bytes) {
    const int width = layout.width;
    if (!layout.is_mn_major) {
      leading_ = width == 16 ? 128 : 16;
      stride_ = width == 16 ? 128 * row_bytes() / 16 : 8 * width;
    } else if (width == 16) {
      leading_ = 128;
      stride_ = inner * 16;
    } else {
      leading_ = inner * width;
      stride_ = 8 * width;
    }
  }
  int row_bytes() const { return inner_ * element_bytes_; }
  int bytes() const {
    const int dense = count_ * (layout_.is_mn_major   ? row_bytes()
                                : layout_.width == 16 ? row_bytes()
                                                      : layout_.width);
    const int atom = layout_.is_mn_major ? layout_.width / 2 : 8;
    return layout_.is_mn_major ? ceil_divide(count_, atom) * atom * row_bytes() : dense;
  }
  /// Where the element of row (of B: column) `row` at `k` stands.
  int place(int row, int k) const {
    const int width = layout_.width;
    if (layout_.is_mn_major) {
      if (width == 16) return start_ + row / 8 * stride_ + k / 8 * leading_ + k % 8 * 16 + row % 8 * 2;
      const int atom = width / 2;
      return start_ + row / atom * leading_ + k / 8 * stride_ + k % 8 * width +
             exchanged(row % atom / 8, k % 8) * 16 + row % 8 * 2;
    }
    const int byte = k * element_bytes_;
    if (width == 16) return start_ + row / 8 * stride_ + byte / 16 * leading_ + row % 8 * 16 + byte % 16;
    const int in_row = byte + layout_.advance * row_bytes();
    return start_ + row / 8 * stride_ + row % 8 * width + exchanged(in_row / 16, row % 8) * 16 + in_row % 16;
  }
  /// With the start in it, less where shared memory begins.
  std::uint64_t descriptor() const {
    const std::uint64_t mode = layout_.width == 128  ? 1
                               : layout_.width == 64 ? 2
                               : layout_.width == 32 ? 3
                                                     : 0;
    const int first = start_ + (layout_.is_mn_major ? 0 : layout_.advance * row_bytes());
    return static_cast<std::uint64_t>(first) / 16 | static_cast<std::uint64_t>(leading_ / 16) << 16 |
           static_cast<std::uint64_t>(stride_ / 16) << 32 | mode << 62;
  }

 private:
  /// Chunk `chunk` of line `line` of eight lines of a swizzle.
  int exchanged(int chunk, int line) const {
    switch (layout_.width) {
      case 128: return chunk ^ line;
      case 64: return chunk ^ line / 2;
      case 32: return chunk ^ line / 4;
      default: return chunk;
    }
  }

  Layout layout_;
  int start_, count_, inner_, element_bytes_;
  int leading_ = 0, stride_ = 0;
};

std::string text_of(const Layout& layout) {
  return fmt::format("{}{}{}", layout.width == 16 ? "no swizzle" : fmt::format("{} B", layout.width),
                     layout.is_mn_major ? " MN major" : "",
                     layout.advance == 0 ? "" : fmt::format(" +{}", layout.advance));
}

std::string instruction_of(const Case& test) {
  return fmt::format("wgmma.mma_async{}.sync.aligned.m64n{}k{}{}.{}.{}.{}", test.selector >= 0 ? ".sp" : "",
                     test.columns, test.inner, test.saturates ? ".satfinite" : "", name_of(test.d),
                     name_of(test.a), name_of(test.b));
}

/// Operands, what comes out, and the words that the kernel loads: shared memory, then a thread's registers.
struct Prepared {
  std::vector<std::uint32_t> input;
  std::vector<double> expected;
  std::uint64_t a = 0, b = 0;  ///< descriptors
  int shared_bytes = 0, words_c = 0, words_a = 0, words = 0;
};

void set(std::vector<std::uint32_t>& words, std::size_t byte, int count, std::uint64_t bits) {
  for (int i = 0; i < count; ++i) {
    std::uint32_t& word = words[(byte + static_cast<std::size_t>(i)) / 4];
    const auto shift = (byte + static_cast<std::size_t>(i)) % 4 * 8;
    word = (word & ~(0xFFU << shift)) | static_cast<std::uint32_t>(bits >> 8 * i & 0xFF) << shift;
  }
}

Prepared prepare(const Case& test, std::uint32_t seed) {
  Draw draw(seed);
  const int stored = test.stored();
  const Operands a(test.a, rows, stored, test.is_whole, draw);
  const Operands b(test.b, test.columns, test.inner, test.is_whole, draw);  // column by column
  const Operands c(test.d, rows, test.columns, test.is_whole, draw);
  const Image image_a(test.layout_a, 0, rows, stored, bytes_of(test.a));
  const int start_b = test.a_in_registers ? 0 : (image_a.bytes() + 1023) / 1024 * 1024;
  const Image image_b(test.layout_b, start_b, test.columns, test.inner, bytes_of(test.b));
  Prepared result;
  result.a = image_a.descriptor();
  result.b = image_b.descriptor();
  result.shared_bytes = ceil_divide(start_b + image_b.bytes(), copied_at_once) * copied_at_once;
  result.words_c = rows * test.columns / threads * bytes_of(test.d) / 4;
  result.words_a = test.a_in_registers ? 4 : 0;
  result.words = result.words_c + result.words_a + 1;
  const int input_words = result.shared_bytes / 4 + threads * result.words;
  result.input.resize(static_cast<std::size_t>(input_words));
  for (std::uint32_t& word : result.input) word = draw.word();
  const auto at_register = [&](int thread, int word, int byte) {
    const int at = result.shared_bytes + (thread * result.words + word) * 4 + byte;
    return static_cast<std::size_t>(at);
  };
  std::vector<int> position(static_cast<std::size_t>(rows * stored));
  for (int warp = 0; warp < rows / 16; ++warp) {
    if (test.selector < 0) continue;
    const Sparsity sparsity(test.a, test.inner, test.selector, draw);
    std::ranges::copy(sparsity.positions, position.begin() + warp * 16 * stored);
    for (int lane = 0; lane < 32; ++lane)
      set(result.input, at_register(warp * 32 + lane, result.words - 1, 0), 4,
          sparsity.metadata[static_cast<std::size_t>(lane)]);
  }
  if (!test.a_in_registers)
    for (int row = 0; row < rows; ++row)
      for (int k = 0; k < stored; ++k)
        set(result.input, static_cast<std::size_t>(image_a.place(row, k)), bytes_of(test.a), a.bit(row, k));
  for (int column = 0; column < test.columns; ++column)
    for (int k = 0; k < test.inner; ++k)
      set(result.input, static_cast<std::size_t>(image_b.place(column, k)), bytes_of(test.b),
          b.bit(column, k));
  const double sign = test.sign_a * test.sign_b;
  for (int thread = 0; thread < threads; ++thread) {
    const int lane = thread % 32, first_row = thread / 32 * 16;
    for (int i = 0; test.a_in_registers && i < 16 / bytes_of(test.a); ++i) {
      const Place at = place_in_a(test.a, 16, lane, i);
      set(result.input, at_register(thread, result.words_c, i * bytes_of(test.a)), bytes_of(test.a),
          a.bit(first_row + at.row, at.column));
    }
    for (int i = 0; i < rows * test.columns / threads; ++i) {
      const Place in_block = place_of_sum(lane, i % 4);
      const int row = first_row + in_block.row, column = i / 4 * 8 + in_block.column;
      set(result.input, at_register(thread, 0, i * bytes_of(test.d)), bytes_of(test.d), c.bit(row, column));
      double products = 0;
      for (int k = 0; k < stored; ++k)
        products +=
            a.value(row, k) * b.value(column, test.selector >= 0 ? position.data()[row * stored + k] : k);
      result.expected.push_back(
          accumulated(test.d, test.adds ? c.value(row, column) : 0, sign * products, test.saturates));
    }
  }
  return result;
}

std::string text_of(const Case& test, const Prepared& prepared) {
  const char kind = test.d == Type::f32 ? 'f' : 'r';
  const std::string_view type = test.d == Type::f32 ? "f32" : "b32";
  const int first = kind == 'f' ? 0 : 20;
  std::string text = fmt::format(R"(.version 8.5
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 in, .param .u64 out)
.maxntid 128, 1, 1
{{
  .shared .align 1024 .b8 tile[{}];
  .reg .b32 %r<160>;
  .reg .f32 %f<130>;
  .reg .b64 %a<8>;
  .reg .pred %p<2>;
  ld.param.u64 %a0, [in];
  ld.param.u64 %a1, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, tile;
  mad.wide.u32 %a2, %r0, 16, %a0;
  mad.lo.u32 %r2, %r0, 16, %r1;
)",
                                 prepared.shared_bytes);
  for (int at = 0; at < prepared.shared_bytes; at += copied_at_once)
    text += fmt::format(
        "  ld.global.v4.b32 {{%r3, %r4, %r5, %r6}}, [%a2+{0}];\n"
        "  st.shared.v4.b32 [%r2+{0}], {{%r3, %r4, %r5, %r6}};\n",
        at);
  text += fmt::format("  mad.wide.u32 %a3, %r0, {}, %a0;\n  mad.wide.u32 %a1, %r0, {}, %a1;\n",
                      prepared.words * 4, prepared.words_c * 4);
  for (int i = 0; i < prepared.words_c; ++i)
    text += fmt::format("  ld.global.{} %{}{}, [%a3+{}];\n", type, kind, first + i,
                        prepared.shared_bytes + i * 4);
  for (int i = 0; i <= prepared.words_a; ++i)  // the last one is the metadata
    text += fmt::format("  ld.global.b32 %r{}, [%a3+{}];\n", i == prepared.words_a ? 12 : 8 + i,
                        prepared.shared_bytes + (prepared.words_c + i) * 4);
  text += fmt::format(R"(  and.b32 %r7, %r1, 0x3FFFF;
  shr.u32 %r7, %r7, 4;
  cvt.u64.u32 %a4, %r7;
  add.s64 %a5, %a4, {};
  add.s64 %a6, %a4, {};
  setp.{}.u32 %p0, %r0, %r0;
  fence.proxy.async;
  bar.sync 0;
  wgmma.fence.sync.aligned;
)",
                      static_cast<std::int64_t>(prepared.a), static_cast<std::int64_t>(prepared.b),
                      test.adds ? "eq" : "ne");
  text += fmt::format("  {} {{{}}}, {}, %a6{}, %p0", instruction_of(test),
                      register_list(kind, first, prepared.words_c),
                      test.a_in_registers ? "{" + register_list('r', 8, 4) + "}" : std::string("%a5"),
                      test.selector >= 0 ? fmt::format(", %r12, {}", test.selector) : "");
  if (!is_integer(test.a)) text += fmt::format(", {}, {}", test.sign_a, test.sign_b);
  if (bytes_of(test.a) == 2 && !test.a_in_registers) text += test.layout_a.is_mn_major ? ", 1" : ", 0";
  if (bytes_of(test.a) == 2) text += test.layout_b.is_mn_major ? ", 1" : ", 0";
  text += ";\n  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n";
  for (int i = 0; i < prepared.words_c; ++i)
    text += fmt::format("  st.global.{} [%a1+{}], %{}{};\n", type, i * 4, kind, first + i);
  return text + "  ret;\n}\n";
}

MatrixKernel kernel_of(const Case& test, std::uint32_t seed) {
  Prepared prepared = prepare(test, seed);
  MatrixKernel kernel;
  kernel.name = fmt::format(
      "{}; A {}, B {}{}{}{}{}", instruction_of(test),
      test.a_in_registers ? "in registers" : text_of(test.layout_a), text_of(test.layout_b),
      test.selector >= 0 ? fmt::format("; selector {}", test.selector) : "", test.adds ? "" : "; scale-d 0",
      test.sign_a * test.sign_b < 0 || test.sign_a < 0
          ? fmt::format("; signs {} {}", test.sign_a, test.sign_b)
          : "",
      test.is_whole ? "; whole" : "; random");
  kernel.ptx = text_of(test, prepared);
  kernel.threads = threads;
  kernel.input = std::move(prepared.input);
  kernel.result = test.d;
  kernel.expected = std::move(prepared.expected);
  kernel.tolerance = tolerance_of(test.a, test.d, test.inner, test.is_whole);
  return kernel;
}

constexpr std::array<int, 4> widths{16, 32, 64, 128};

void add_layouts(std::vector<Case>& cases) {
  const Case half{64, 16, Type::f16, Type::f16, Type::f32, {}, {}};
  const auto add = [&](Layout a, Layout b, int columns = 64) {
    Case test = half;
    test.columns = columns;
    test.layout_a = a;
    test.layout_b = b;
    cases.push_back(test);
  };
  for (const int width : widths) {
    add({width}, {width});
    add({width, true}, {width}, 32);
    add({width}, {width, true}, 128);
    add({width, true}, {width, true}, 256);
    for (int advance = 1; advance < width / 32; ++advance)
      add({width, false, advance}, {width, false, advance}, 24);
  }
  Case in_registers = half;
  in_registers.a_in_registers = true;
  cases.push_back(in_registers);
  in_registers.layout_b.is_mn_major = true;
  cases.push_back(in_registers);
}

void add_types(std::vector<Case>& cases) {
  const auto add = [&](int columns, int inner, Type a, Type b, Type d) {
    Case test{columns, inner, a, b, d, {.width = 32}, {.width = 128, .is_mn_major = false, .advance = 2}};
    cases.push_back(test);
    test.a_in_registers = true;
    test.layout_b = {.width = 64};
    cases.push_back(test);
    if (d != Type::s32) return;
    test.saturates = true;
    cases.push_back(test);
  };
  add(8, 16, Type::f16, Type::f16, Type::f32);
  add(16, 16, Type::f16, Type::f16, Type::f16);
  add(40, 16, Type::bf16, Type::bf16, Type::f32);
  add(64, 8, Type::tf32, Type::tf32, Type::f32);
  add(256, 16, Type::bf16, Type::bf16, Type::f32);
  for (const Type a : {Type::s8, Type::u8})
    for (const Type b : {Type::s8, Type::u8}) add(24, 32, a, b, Type::s32);
  for (const Type a : {Type::e4m3, Type::e5m2})
    for (const Type b : {Type::e4m3, Type::e5m2}) add(32, 32, a, b, Type::f32);
  add(32, 32, Type::e4m3, Type::e5m2, Type::f16);
  Case scaled{16, 16, Type::f16, Type::f16, Type::f32, {}, {}};
  scaled.adds = false;
  cases.push_back(scaled);
  for (const int sign : {1, -1}) {
    scaled.adds = true;
    scaled.sign_a = -1;
    scaled.sign_b = sign;
    cases.push_back(scaled);
  }
}

void add_sparse(std::vector<Case>& cases) {
  const auto add = [&](int columns, int inner, Type a, Type b, Type d, Layout layout_a, Layout layout_b) {
    for (int selector = 0; selector < selectors_of(a, inner); ++selector) {
      Case test{columns, inner, a, b, d, layout_a, layout_b};
      test.selector = selector;
      cases.push_back(test);
      test.a_in_registers = true;
      cases.push_back(test);
    }
  };
  for (const int width : {16, 64, 128}) {
    add(32, 32, Type::f16, Type::f16, Type::f32, {width == 64 ? 32 : width}, {width});
    add(64, 32, Type::f16, Type::f16, Type::f32, {width, true}, {width, true});
  }
  add(16, 32, Type::f16, Type::f16, Type::f16, {64, false, 1}, {128, false, 1});
  add(8, 32, Type::bf16, Type::bf16, Type::f32, {128, false, 3}, {64});
  add(32, 16, Type::tf32, Type::tf32, Type::f32, {32}, {64});
  add(64, 64, Type::s8, Type::s8, Type::s32, {32}, {64});
  add(16, 64, Type::u8, Type::s8, Type::s32, {128}, {128});
  add(32, 64, Type::e4m3, Type::e5m2, Type::f32, {32}, {64});
}

}  // namespace

std::vector<MatrixKernel> warpgroup_kernels() {
  std::vector<Case> cases;
  add_layouts(cases);
  add_types(cases);
  add_sparse(cases);
  std::vector<MatrixKernel> kernels;
  std::uint32_t seed = 1000;
  for (Case test : cases) {
    kernels.push_back(kernel_of(test, seed++));
    if (is_integer(test.d)) continue;
    test.is_whole = false;
    kernels.push_back(kernel_of(test, seed++));
  }
  return kernels;
}

}  // namespace weft::simulator::testing
