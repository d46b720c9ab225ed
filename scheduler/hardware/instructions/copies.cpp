// Copies to shared memory that go on by themselves.
#include <weft/scheduler/hardware/instructions/family.h>

namespace weft::families {

Rows copies() {
  using enum DType;
  return {
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
