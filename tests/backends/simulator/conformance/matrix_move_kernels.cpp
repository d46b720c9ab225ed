#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "matrix_kernels.h"

namespace weft::simulator::testing {
namespace {

constexpr int lanes = 32, tile_words = 128, words_of_row = 4;

std::string module_of(const std::string& body) {
  return R"(.version 8.5
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 in, .param .u64 out)
{
  .shared .align 16 .b8 tile[512];
  .reg .b32 %r<20>;
  .reg .b64 %a<8>;
  ld.param.u64 %a0, [in];
  ld.param.u64 %a1, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, tile;
  mad.lo.u32 %r2, %r0, 16, %r1;
  mad.wide.u32 %a2, %r0, 16, %a0;
  mad.wide.u32 %a3, %r0, 4, %a0;
)" + body +
         "  ret;\n}\n";
}

std::string vector_of(int count) {
  return "{" + register_list('r', 4, count) + "}";
}

/// 32 rows of eight 16-bit elements, and which of them each lane's address names.
struct Tile {
  explicit Tile(std::uint32_t seed) : draw(seed) {
    for (std::uint32_t& word : words) word = draw.word();
    std::iota(rows.begin(), rows.end(), 0);
    for (int i = lanes - 1; i > 0; --i)
      std::swap(rows[static_cast<std::size_t>(i)], rows[static_cast<std::size_t>(draw.below(i + 1))]);
  }
  std::vector<std::uint32_t> input(const std::vector<std::uint32_t>& first) const {
    std::vector<std::uint32_t> all = first;
    for (const int row : rows) all.push_back(static_cast<std::uint32_t>(row * 16));
    return all;
  }
  Draw draw;
  std::vector<std::uint32_t> words = std::vector<std::uint32_t>(tile_words);
  std::array<int, lanes> rows{};
};

std::uint32_t half_of(const std::uint32_t* row, int column) {
  return row[column / 2] >> 16 * (column % 2) & 0xFFFFU;
}

double as_element(std::uint32_t word) {
  return decode(Type::s32, word);
}

MatrixKernel load_kernel(int count, bool is_transposed, std::uint32_t seed) {
  const Tile tile(seed);
  MatrixKernel kernel;
  kernel.name =
      fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16", count, is_transposed ? ".trans" : "");
  std::string body =
      "  ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%a2];\n  st.shared.v4.b32 [%r2], {%r4, %r5, %r6, "
      "%r7};\n  bar.warp.sync -1;\n";
  body += fmt::format("  ld.global.b32 %r3, [%a3+{}];\n  add.u32 %r3, %r3, %r1;\n  {} {}, [%r3];\n",
                      tile_words * 4, kernel.name, vector_of(count));
  body += fmt::format("  mad.wide.u32 %a4, %r0, {}, %a1;\n", count * 4);
  for (int i = 0; i < count; ++i) body += fmt::format("  st.global.b32 [%a4+{}], %r{};\n", i * 4, 4 + i);
  kernel.ptx = module_of(body);
  kernel.input = tile.input(tile.words);
  kernel.result = Type::s32;
  for (int lane = 0; lane < lanes; ++lane)
    for (int i = 0; i < count; ++i) {
      const auto row = [&](int which) {
        return tile.words.data() + tile.rows.data()[i * 8 + which] * words_of_row;
      };
      const int along = lane / 4, across = lane % 4 * 2;
      const std::uint32_t low = is_transposed ? half_of(row(across), along) : half_of(row(along), across);
      const std::uint32_t high =
          is_transposed ? half_of(row(across + 1), along) : half_of(row(along), across + 1);
      kernel.expected.push_back(as_element(low | high << 16));
    }
  return kernel;
}

MatrixKernel store_kernel(int count, bool is_transposed, std::uint32_t seed) {
  Tile tile(seed);
  MatrixKernel kernel;
  kernel.name =
      fmt::format("stmatrix.sync.aligned.m8n8.x{}{}.shared.b16", count, is_transposed ? ".trans" : "");
  std::string body =
      "  mov.b32 %r4, 0;\n  st.shared.v4.b32 [%r2], {%r4, %r4, %r4, %r4};\n  bar.warp.sync -1;\n";
  for (int i = 0; i < count; ++i) body += fmt::format("  ld.global.b32 %r{}, [%a2+{}];\n", 4 + i, 4 * i);
  body += fmt::format("  ld.global.b32 %r3, [%a3+{}];\n  add.u32 %r3, %r3, %r1;\n  {} [%r3], {};\n",
                      tile_words * 4, kernel.name, vector_of(count));
  body +=
      "  bar.warp.sync -1;\n  ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r2];\n"
      "  mad.wide.u32 %a4, %r0, 16, %a1;\n  st.global.v4.b32 [%a4], {%r4, %r5, %r6, %r7};\n";
  kernel.ptx = module_of(body);
  kernel.input = tile.input(tile.words);  // four words a lane: its registers
  kernel.result = Type::s32;
  std::vector<std::uint32_t> stored(tile_words);
  for (int lane = 0; lane < lanes; ++lane)
    for (int i = 0; i < count; ++i)
      for (int half = 0; half < 2; ++half) {
        const std::uint32_t value = half_of(tile.words.data() + lane * words_of_row + i, half);
        const int along = lane / 4, across = lane % 4 * 2 + half;
        const int row = is_transposed ? across : along, column = is_transposed ? along : across;
        const int at = tile.rows.data()[i * 8 + row] * words_of_row + column / 2;
        stored[static_cast<std::size_t>(at)] |= value << 16 * (column % 2);
      }
  for (const std::uint32_t word : stored) kernel.expected.push_back(as_element(word));
  return kernel;
}

MatrixKernel transpose_kernel() {
  const Tile tile(9);
  MatrixKernel kernel;
  kernel.name = "movmatrix.sync.aligned.m8n8.trans.b16";
  kernel.ptx =
      module_of(fmt::format("  ld.global.b32 %r3, [%a3];\n  {} %r4, %r3;\n"
                            "  mad.wide.u32 %a4, %r0, 4, %a1;\n  st.global.b32 [%a4], %r4;\n",
                            kernel.name));
  kernel.input = tile.words;
  kernel.result = Type::s32;
  for (int lane = 0; lane < lanes; ++lane) {
    // Lane l of the result holds column l / 4 of the matrix whose rows are four words each.
    const auto element = [&](int row) { return half_of(tile.words.data() + row * 4, lane / 4); };
    kernel.expected.push_back(as_element(element(lane % 4 * 2) | element(lane % 4 * 2 + 1) << 16));
  }
  return kernel;
}

}  // namespace

std::vector<MatrixKernel> matrix_move_kernels() {
  std::vector<MatrixKernel> kernels;
  std::uint32_t seed = 100;
  for (const int count : {1, 2, 4})
    for (const bool is_transposed : {false, true}) {
      kernels.push_back(load_kernel(count, is_transposed, seed++));
      kernels.push_back(store_kernel(count, is_transposed, seed++));
    }
  kernels.push_back(transpose_kernel());
  return kernels;
}

}  // namespace weft::simulator::testing
