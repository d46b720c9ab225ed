// Copies to shared memory that go on by themselves, and bytes that are turned over on the way.
#include <fmt/format.h>
#include <weft/scheduler/hardware/instructions/family.h>

namespace weft::families {
namespace {

/// Four words of one byte of each of four others: the first of their first bytes, and so on.
Instruction turn_bytes() {
  // The lower bytes of two words in turns, and the upper ones; then their halves.
  Instruction row = effect("turn_bytes", 0, std::vector<DType>(4, DType::i32),
                           "{ .reg .b32 low0, low1, high0, high1; "
                           "prmt.b32 low0, $4, $5, 0x5140; prmt.b32 high0, $4, $5, 0x7362; "
                           "prmt.b32 low1, $6, $7, 0x5140; prmt.b32 high1, $6, $7, 0x7362; "
                           "prmt.b32 $0, low0, low1, 0x5410; prmt.b32 $1, low0, low1, 0x7632; "
                           "prmt.b32 $2, high0, high1, 0x5410; prmt.b32 $3, high0, high1, 0x7632; }",
                           DType::i32, 4);
  row.only_registers = true;
  return row;
}

/// The same in another order: what says which byte the words of a result are of is 64 and 17 times its
/// number.
Instruction turn_bytes_in_order() {
  std::string parts, words;
  for (int i = 0; i < 4; ++i) {
    parts += fmt::format("prmt.b32 low{0}, $4, $5, ${1}; prmt.b32 high{0}, $6, $7, ${1}; ", i, 8 + i);
    words += fmt::format("prmt.b32 ${0}, low{0}, high{0}, 21520; ", i);
  }
  Instruction row =
      effect("turn_bytes_in_order", 0, std::vector<DType>(8, DType::i32),
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
      turn_bytes_in_order(),
      // From shared memory.
      effect("load_4_bytes", 0, {i32}, "ld.shared.b32 $0, [$1];", i32, 1),
      effect("load_8_bytes", 0, {i32}, "ld.shared.v2.b32 {$0, $1}, [$2];", i32, 2),
      effect("load_16_bytes", 0, {i32}, "ld.shared.v4.b32 {$0, $1, $2, $3}, [$4];", i32, 4),
      // To global memory.
      effect("store_word", 0, {i32, i64}, "st.global.b32 [$1], $0;"),
      // To shared memory, so far behind the place of which bits are changed first.
      effect("store_16_bytes", 0, {i32, i32, i32, i32, i32, i32, i32},
             "{ .reg .b32 place; xor.b32 place, $4, #1; st.shared.v4.b32 [place+#2], {$0, $1, $2, $3}; }"),
      // To shared memory, from global memory, 16 bytes.
      effect("copy_16_bytes", 80, {i32, i64}, "cp.async.cg.shared.global [$0], [$1], 16;"),
      // To shared memory, from global memory, bytes, the barrier that counts them.
      effect("bulk_copy", 90, {i32, i64, i32, i32},
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];"),
      // The same to that place in each block of the cluster that has a bit, whose barrier there counts the
      // bytes.
      effect("bulk_copy_to_cluster", 90, {i32, i64, i32, i32, i32},
             "{ .reg .b16 blocks; mov.b16 blocks, #4; "
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
             "[$0], [$1], $2, [$3], blocks; }"),
  };
}

}  // namespace weft::families
