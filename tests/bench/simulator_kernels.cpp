#include "simulator_kernels.h"

#include <fmt/format.h>

#include <bit>
#include <random>

namespace weft::bench {
namespace {

constexpr std::string_view head = ".version 8.0\n.target sm_90a\n.address_size 64\n";

std::vector<std::uint32_t> random_floats(std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(count));
  std::uniform_real_distribution<float> between(-1, 1);
  std::vector<std::uint32_t> words(count);
  for (std::uint32_t& word : words) word = std::bit_cast<std::uint32_t>(between(random));
  return words;
}

}  // namespace

SimulatedKernel tiled_product() {
  constexpr std::size_t m = 256, n = 128, k = 128;
  std::string inner;
  // A's tile lies by columns of 64 and a pad of 4, B's by rows of 16.
  for (int step = 0; step < 16; ++step) {
    inner += fmt::format(
        "  ld.shared.v4.f32 {{%a0, %a1, %a2, %a3}}, [%read_a+{}];\n  ld.shared.f32 %b0, [%read_b+{}];\n",
        step * 272, step * 64);
    for (int row = 0; row < 4; ++row) inner += fmt::format("  fma.rn.f32 %c{0}, %a{0}, %b0, %c{0};\n", row);
  }
  const std::string ptx = fmt::format(R"({}
.visible .entry kernel(.param .u64 a, .param .u64 b, .param .u64 c)
.reqntid 256, 1, 1
{{
  .shared .align 16 .b8 tile_a[4352];
  .shared .align 16 .b8 tile_b[1024];
  .reg .pred %more;
  .reg .b32 %thread, %row, %column, %x, %y, %at, %write_a, %write_b, %read_a, %read_b, %step;
  .reg .b64 %a, %b, %c;
  .reg .f32 %a0, %a1, %a2, %a3, %b0, %c0, %c1, %c2, %c3;
  ld.param.u64 %a, [a];
  ld.param.u64 %b, [b];
  ld.param.u64 %c, [c];
  mov.u32 %thread, %tid.x;
  mov.u32 %x, %ctaid.x;
  mov.u32 %y, %ctaid.y;
  // A: four columns of one row a thread.
  shr.u32 %row, %thread, 2;
  and.b32 %column, %thread, 3;
  mad.lo.u32 %at, %y, 64, %row;
  mul.lo.u32 %at, %at, 512;
  mad.lo.u32 %at, %column, 16, %at;
  mad.wide.u32 %a, %at, 1, %a;
  mov.u32 %write_a, tile_a;
  mad.lo.u32 %write_a, %column, 1088, %write_a;
  mad.lo.u32 %write_a, %row, 4, %write_a;
  // B: one value a thread.
  shr.u32 %row, %thread, 4;
  and.b32 %column, %thread, 15;
  mul.lo.u32 %at, %row, 512;
  mad.lo.u32 %at, %x, 64, %at;
  mad.lo.u32 %at, %column, 4, %at;
  mad.wide.u32 %b, %at, 1, %b;
  mov.u32 %write_b, tile_b;
  mad.lo.u32 %write_b, %thread, 4, %write_b;
  mov.u32 %read_a, tile_a;
  mad.lo.u32 %read_a, %row, 16, %read_a;
  mov.u32 %read_b, tile_b;
  mad.lo.u32 %read_b, %column, 4, %read_b;
  mov.f32 %c0, 0f00000000;
  mov.f32 %c1, 0f00000000;
  mov.f32 %c2, 0f00000000;
  mov.f32 %c3, 0f00000000;
  mov.u32 %step, 0;
next:
  ld.global.v4.f32 {{%a0, %a1, %a2, %a3}}, [%a];
  ld.global.f32 %b0, [%b];
  st.shared.f32 [%write_a], %a0;
  st.shared.f32 [%write_a+272], %a1;
  st.shared.f32 [%write_a+544], %a2;
  st.shared.f32 [%write_a+816], %a3;
  st.shared.f32 [%write_b], %b0;
  bar.sync 0;
{}  bar.sync 0;
  add.u64 %a, %a, 64;
  add.u64 %b, %b, 8192;
  add.u32 %step, %step, 1;
  setp.lt.u32 %more, %step, 8;
  @%more bra next;
  mad.lo.u32 %row, %y, 16, %row;
  mul.lo.u32 %at, %row, 2048;
  mad.lo.u32 %at, %x, 64, %at;
  mad.lo.u32 %at, %column, 4, %at;
  mad.wide.u32 %c, %at, 1, %c;
  st.global.f32 [%c], %c0;
  st.global.f32 [%c+512], %c1;
  st.global.f32 [%c+1024], %c2;
  st.global.f32 [%c+1536], %c3;
  ret;
}}
)",
                                      head, inner);
  SimulatedKernel kernel{ptx, {}, {random_floats(m * k), random_floats(k * n)}, m * n};
  kernel.shape.grid = {n / 16, m / 64, 1};
  kernel.shape.block = {256, 1, 1};
  return kernel;
}

SimulatedKernel sparse_gather() {
  constexpr std::uint32_t rows = 512, columns = 1024, n = 32;
  const std::string ptx = fmt::format(R"({}
.visible .entry kernel(.param .u64 starts, .param .u64 indices, .param .u64 values, .param .u64 b, .param .u64 c)
.reqntid 128, 1, 1
{{
  .reg .pred %more;
  .reg .b32 %thread, %lane, %row, %at, %end, %index;
  .reg .b64 %starts, %indices, %values, %b, %c, %from;
  .reg .f32 %value, %x, %sum;
  ld.param.u64 %starts, [starts];
  ld.param.u64 %indices, [indices];
  ld.param.u64 %values, [values];
  ld.param.u64 %b, [b];
  ld.param.u64 %c, [c];
  mov.u32 %thread, %tid.x;
  mov.u32 %row, %ctaid.x;
  and.b32 %lane, %thread, 31;
  shr.u32 %thread, %thread, 5;
  mad.lo.u32 %row, %row, 4, %thread;
  mad.wide.u32 %starts, %row, 4, %starts;
  ld.global.nc.u32 %at, [%starts];
  ld.global.nc.u32 %end, [%starts+4];
  mad.wide.u32 %indices, %at, 4, %indices;
  mad.wide.u32 %values, %at, 4, %values;
  mad.wide.u32 %b, %lane, 4, %b;
  mov.f32 %sum, 0f00000000;
  setp.ge.u32 %more, %at, %end;
  @%more bra done;
next:
  ld.global.nc.u32 %index, [%indices];
  ld.global.nc.f32 %value, [%values];
  mad.wide.u32 %from, %index, 128, %b;
  ld.global.nc.f32 %x, [%from];
  fma.rn.f32 %sum, %value, %x, %sum;
  add.u64 %indices, %indices, 4;
  add.u64 %values, %values, 4;
  add.u32 %at, %at, 1;
  setp.lt.u32 %more, %at, %end;
  @%more bra next;
done:
  mad.lo.u32 %at, %row, 32, %lane;
  mad.wide.u32 %c, %at, 4, %c;
  st.global.f32 [%c], %sum;
  ret;
}}
)",
                                      head);
  std::mt19937_64 random(1);
  std::vector<std::uint32_t> starts{0}, indices;
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (auto column = static_cast<std::uint32_t>(random() % 16); column < columns;
         column += 1 + static_cast<std::uint32_t>(random() % 32))
      indices.push_back(column);
    starts.push_back(static_cast<std::uint32_t>(indices.size()));
  }
  const std::size_t stored = indices.size();
  SimulatedKernel kernel{
      ptx,
      {},
      {std::move(starts), std::move(indices), random_floats(stored), random_floats(std::size_t{columns} * n)},
      std::size_t{rows} * n};
  kernel.shape.grid = {rows / 4, 1, 1};
  kernel.shape.block = {128, 1, 1};
  return kernel;
}

SimulatedKernel copy() {
  constexpr std::size_t blocks = 64, threads = 256, turns = 8;
  const std::string ptx = fmt::format(R"({}
.visible .entry kernel(.param .u64 from, .param .u64 to)
.reqntid 256, 1, 1
{{
  .reg .pred %more;
  .reg .b32 %thread, %block, %at, %end, %w0, %w1, %w2, %w3;
  .reg .b64 %from, %to, %source, %target;
  ld.param.u64 %from, [from];
  ld.param.u64 %to, [to];
  mov.u32 %thread, %tid.x;
  mov.u32 %block, %ctaid.x;
  mad.lo.u32 %at, %block, 256, %thread;
  mov.u32 %end, {};
next:
  mul.wide.u32 %source, %at, 16;
  add.u64 %target, %to, %source;
  add.u64 %source, %from, %source;
  ld.global.v4.u32 {{%w0, %w1, %w2, %w3}}, [%source];
  st.global.v4.u32 [%target], {{%w0, %w1, %w2, %w3}};
  add.u32 %at, %at, {};
  setp.lt.u32 %more, %at, %end;
  @%more bra next;
  ret;
}}
)",
                                      head, blocks * threads * turns, blocks * threads);
  constexpr std::size_t words = blocks * threads * turns * 4;
  SimulatedKernel kernel{ptx, {}, {random_floats(words)}, words};
  kernel.shape.grid = {blocks, 1, 1};
  kernel.shape.block = {threads, 1, 1};
  return kernel;
}

SimulatedKernel matrix_loop() {
  constexpr std::size_t blocks = 16, threads = 128;
  std::string products, sums, stores;
  for (int column = 0; column < 4; ++column) {
    std::string c;
    for (int i = 0; i < 4; ++i) {
      const int number = column * 4 + i;
      c += fmt::format("{}%c{}", i == 0 ? "" : ", ", number);
      sums += fmt::format("  mov.f32 %c{}, 0f00000000;\n", number);
      stores += fmt::format("  st.global.f32 [%out+{}], %c{};\n", number * 4, number);
    }
    products += fmt::format(
        "  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{0}}}, {{%a0, %a1, %a2, %a3}}, "
        "{{%b{1}, %b{2}}}, {{{0}}};\n",
        c, column * 2, column * 2 + 1);
  }
  const std::string ptx = fmt::format(R"({}
.visible .entry kernel(.param .u64 in, .param .u64 out)
.reqntid 128, 1, 1
{{
  .shared .align 16 .b8 tiles[3072];
  .reg .pred %more;
  .reg .b32 %thread, %block, %lane, %warp, %at, %read_a, %read_b, %step, %word;
  .reg .b32 %a<4>, %b<8>;
  .reg .b64 %in, %out;
  .reg .f32 %c<16>;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %thread, %tid.x;
  mov.u32 %block, %ctaid.x;
  and.b32 %lane, %thread, 31;
  shr.u32 %warp, %thread, 5;
  mad.wide.u32 %in, %thread, 4, %in;
  mov.u32 %at, tiles;
  mad.lo.u32 %at, %thread, 4, %at;
  mov.u32 %step, 0;
fill:
  ld.global.u32 %word, [%in];
  st.shared.u32 [%at], %word;
  add.u64 %in, %in, 512;
  add.u32 %at, %at, 512;
  add.u32 %step, %step, 1;
  setp.lt.u32 %more, %step, 6;
  @%more bra fill;
  bar.sync 0;
  mov.u32 %read_b, tiles;
  mad.lo.u32 %read_b, %lane, 16, %read_b;
  mad.lo.u32 %read_a, %warp, 512, %read_b;
  mov.u32 %step, 0;
{}next:
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%a0, %a1, %a2, %a3}}, [%read_a];
  ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{%b0, %b1, %b2, %b3}}, [%read_b+2048];
  ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{%b4, %b5, %b6, %b7}}, [%read_b+2560];
{}  add.u32 %step, %step, 1;
  setp.lt.u32 %more, %step, 128;
  @%more bra next;
  mad.lo.u32 %at, %block, 128, %thread;
  mad.wide.u32 %out, %at, 64, %out;
{}  ret;
}}
)",
                                      head, sums, products, stores);
  // Pairs of f16 that are 1 or -1.
  std::mt19937 random(2);
  std::vector<std::uint32_t> words(768);
  for (std::uint32_t& word : words) word = 0x3C003C00 | static_cast<std::uint32_t>(random() & 0x80008000);
  SimulatedKernel kernel{ptx, {}, {std::move(words)}, blocks * threads * 16};
  kernel.shape.grid = {blocks, 1, 1};
  kernel.shape.block = {threads, 1, 1};
  return kernel;
}

}  // namespace weft::bench
