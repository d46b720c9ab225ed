// Copies to shared memory that go on by themselves.
#include <fmt/format.h>
#include <weft/scheduler/hardware/instructions/family.h>

namespace weft::families {
namespace {

/// Four words of one byte of each of four others. What says which byte of two words is 64 and 17 times its
/// number.
Instruction turn_bytes() {
  std::string parts, words;
  for (int i = 0; i < 4; ++i) {
    parts += fmt::format("prmt.b32 low{0}, $4, $5, ${1}; prmt.b32 high{0}, $6, $7, ${1}; ", i, 8 + i);
    words += fmt::format("prmt.b32 ${0}, low{0}, high{0}, 21520; ", i);
  }
  Instruction row =
      effect("turn_bytes", 0, std::vector<DType>(8, DType::i32),
             "{ .reg .b32 low0, low1, low2, low3, high0, high1, high2, high3; " + parts + words + "}",
             DType::i32, 4);
  row.only_registers = true;
  return row;
}

}  // namespace

Rows copies() {
  using enum DType;
  return {
      turn_bytes(),
      // To shared memory, from global memory, 16 bytes.
      effect("copy_16_bytes", 80, {i32, i64}, "cp.async.cg.shared.global [$0], [$1], 16;"),
      // To shared memory, from global memory, bytes, the barrier that counts them.
      effect("bulk_copy", 90, {i32, i64, i32, i32},
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];"),
      // Four bytes from global memory, or zeros where $2 is 0; and to shared memory, so far behind the place
      // of which bits are changed first.
      effect(
          "load_word", 0, {i64, i32},
          "{ .reg .pred inside; setp.ne.b32 inside, $2, 0; mov.b32 $0, 0; @inside ld.global.b32 $0, [$1]; }",
          i32, 1),
      effect("store_word", 0, {i32, i32, i32, i32},
             "{ .reg .b32 place; xor.b32 place, $1, #1; st.shared.b32 [place+#2], $0; }"),
      // The same to that place in each block of the cluster that has a bit, whose barrier there counts the
      // bytes.
      effect("bulk_copy_to_cluster", 90, {i32, i64, i32, i32, i32},
             "{ .reg .b16 blocks; mov.b16 blocks, #4; "
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
             "[$0], [$1], $2, [$3], blocks; }"),
  };
}

}  // namespace weft::families
