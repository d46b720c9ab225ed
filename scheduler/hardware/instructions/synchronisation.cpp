// Barriers, fences, and what launches and warps leave to one another.
#include <weft/scheduler/hardware/instructions/family.h>
#include <weft/scheduler/ir/visit.h>

namespace weft {

bool is_last_arrival(const ir::Expr& condition) {
  const auto* call = condition.as<ir::Call>();
  return call != nullptr && call->instruction == last_arrival;
}

ir::Expr arrival_of_block(ir::Expr place, ir::Expr count) {
  return ir::call(std::string(last_arrival), DType::boolean, {std::move(place), std::move(count), 0});
}

ir::Expr arrival_of_some(const ir::Call& of_block, std::int64_t threads) {
  return ir::call(std::string(last_arrival), DType::boolean,
                  {of_block.arguments.at(0), of_block.arguments.at(1), threads});
}

bool is_arrival_of_some(const ir::Expr& condition) {
  const auto* call = condition.as<ir::Call>();
  return is_last_arrival(condition) && *ir::integer_value(call->arguments.at(2)) > 0;
}

bool holds_arrival(const ir::Stmt& stmt) {
  return ir::any<ir::If>(stmt, [](const ir::If& branch) { return is_last_arrival(branch.condition); });
}

namespace families {

Rows synchronisation() {
  using enum DType;
  return {
      {last_arrival, boolean, {i32, i64, i64}, "", "", "", "", 0, nullptr},
      effect("mbarrier_init", 80, {i32, i32}, "mbarrier.init.shared.b64 [$0], $1;"),
      effect("mbarrier_end", 80, {i32}, "mbarrier.inval.shared.b64 [$0];"),
      // A wait that does not end would hang the device: it traps after a second or so.
      effect("mbarrier_wait", 90, {i32, i32},
             "{ .reg .pred done; .reg .b32 tries; mov.u32 tries, 0; again: "
             "mbarrier.try_wait.parity.shared.b64 done, [$0], $1; @done bra over; "
             "add.u32 tries, tries, 1; setp.lt.u32 done, tries, 1048576; @done bra again; trap; "
             "over: }"),
      // The same where nothing suspends a thread until then.
      effect("mbarrier_test", 80, {i32, i32},
             "{ .reg .pred done; .reg .b32 tries; mov.u32 tries, 0; again: "
             "mbarrier.test_wait.parity.shared.b64 done, [$0], $1; @done bra over; "
             "add.u32 tries, tries, 1; setp.lt.u32 done, tries, 67108864; @done bra again; trap; "
             "over: }"),
      effect("mbarrier_arrive", 80, {i32}, "{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [$0]; }"),
      effect("mbarrier_expect", 90, {i32, i32},
             "{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [$0], $1; }"),
      effect("mbarrier_arrive_copies", 80, {i32}, "cp.async.mbarrier.arrive.noinc.shared.b64 [$0];"),
      effect("fence_mbarrier_init", 90, {}, "fence.mbarrier_init.release.cluster;"),
      effect("fence_async", 90, {}, "fence.proxy.async.shared::cta;"),
      effect("fence_of_block", 70, {}, "fence.acq_rel.cta;"),
      // At the barrier in that place of the block of the cluster with that number. Not of the scope of the
      // cluster: that is slow, and copies into what the block has read wait at the barrier
      // (docs/decisions.md).
      effect("mbarrier_arrive_at", 90, {i32, i32},
             "{ .reg .b32 there; mapa.shared::cluster.u32 there, $0, $1; "
             "mbarrier.arrive.shared::cluster.b64 _, [there]; }"),
      effect("barrier_of_cluster", 90, {},
             "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"),
      // The next launch of the stream may begin; what the launches in front of this one wrote is there.
      effect("allow_next_launch", 90, {}, "griddepcontrol.launch_dependents;"),
      effect("wait_for_launch", 90, {}, "griddepcontrol.wait;"),
      effect("less_registers", 90, {i32}, "setmaxnreg.dec.sync.aligned.u32 #0;"),
      effect("more_registers", 90, {i32}, "setmaxnreg.inc.sync.aligned.u32 #0;"),
      effect("barrier_of_warp", 0, {}, "bar.warp.sync 0xffffffff;"),
      effect("barrier_of_some", 0, {i32, i32}, "bar.sync #0, #1;"),
  };
}

}  // namespace families
}  // namespace weft
