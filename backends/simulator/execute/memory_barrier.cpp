// mbarrier: counters in shared memory that warps and copies arrive at. PTX ISA 9.7.13.15.
#include <fmt/format.h>
#include <weft/backends/simulator/execute/memory_barrier.h>

namespace weft::simulator {

MemoryBarrier* find_barrier(Warp& warp, const Operation& operation, std::uint64_t address) {
  if (address < window::shared) address += window::shared;
  Block* block = warp.machine().block_of(warp, address);
  if (block != nullptr) {
    const auto found = block->barriers.find(static_cast<std::uint32_t>(address % window::shared_bytes));
    if (found != block->barriers.end()) return &found->second;
  }
  warp.report(operation, "mbarrier", fmt::format("no mbarrier was initialised at {:#x}", address));
  return nullptr;
}

namespace {

void complete_if_due(Warp& warp, MemoryBarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  barrier.completed = std::move(barrier.gathered);
  barrier.gathered = View();
  barrier.pending = barrier.expected;
  ++barrier.phase;
  warp.machine().note_progress();
}

}  // namespace

void arrive(Warp& warp, const Operation& operation, MemoryBarrier& barrier, std::uint32_t count) {
  if (count == 0 || count > barrier.pending) {
    warp.report(operation, "mbarrier",
                fmt::format("{} arrivals where {} are still expected in this phase", count, barrier.pending));
    return;
  }
  barrier.pending -= count;
  complete_if_due(warp, barrier);
}

void complete_bytes(Warp& warp, MemoryBarrier& barrier, std::int64_t bytes, Epoch done, bool may_complete) {
  // The copy's own work is what a waiting warp learns of.
  if (barrier.gathered.seen.is_empty()) {
    const Cluster& cluster = *warp.block().cluster;
    barrier.gathered = View(cluster.first_serial, cluster.size);
  }
  barrier.gathered.seen.learn(done);
  barrier.bytes -= bytes;
  if (may_complete) complete_if_due(warp, barrier);
  warp.machine().note_progress();
}

namespace {

constexpr std::uint32_t most_arrivals = (1U << 20) - 1;

/// Calls function(lane, barrier) for the active lanes whose address operand `which` is that of an mbarrier.
template <class F>
void for_each_barrier(Warp& warp, const Operation& operation, std::size_t which, F function) {
  const auto addresses = warp.addresses(operation, which);
  for (const std::size_t lane : lanes_of(warp.active()))
    if (MemoryBarrier* barrier = find_barrier(warp, operation, addresses[lane]); barrier != nullptr)
      function(lane, *barrier);
}

void initialise(Warp& warp, const Operation& operation) {
  const auto addresses = warp.addresses(operation, 0);
  const std::uint32_t* count = warp.source<std::uint32_t>(operation, 1);
  const Pointers at =
      warp.reach(operation, ptx::Space::shared, addresses.data(), warp.active(), 8, Access::write);
  for (const std::size_t lane : lanes_of(warp.active())) {
    if (at[lane] == nullptr) continue;
    if (count[lane] == 0 || count[lane] > most_arrivals) {
      warp.report(operation, "mbarrier", fmt::format("an arrival count of {}", count[lane]),
                  static_cast<int>(lane));
      continue;
    }
    Block* block = warp.machine().block_of(warp, addresses[lane] | window::shared);
    MemoryBarrier barrier;
    barrier.initialised = warp.epoch();
    barrier.expected = barrier.pending = count[lane];
    block->barriers[static_cast<std::uint32_t>(addresses[lane] % window::shared_bytes)] = std::move(barrier);
  }
}

void invalidate(Warp& warp, const Operation& operation) {
  const auto addresses = warp.addresses(operation, 0);
  for_each_barrier(warp, operation, 0, [&](std::size_t lane, MemoryBarrier&) {
    warp.block().barriers.erase(static_cast<std::uint32_t>(addresses[lane] % window::shared_bytes));
  });
}

/// Of Operation::variant.
enum Arrival : std::uint16_t { plain = 0, expects_bytes = 1, drops = 2, relaxed = 4, has_state = 8 };

/// mbarrier.arrive, .arrive_drop, .arrive.expect_tx and .expect_tx.
void run_arrive(Warp& warp, const Operation& operation) {
  const std::size_t address = operation.results;
  const bool has_operand = operation.count > address + 1;
  const std::uint32_t* operand = has_operand ? warp.source<std::uint32_t>(operation, address + 1) : nullptr;
  for_each_barrier(warp, operation, address, [&](std::size_t lane, MemoryBarrier& barrier) {
    if (warp.loads_matrices)
      warp.report(
          operation, "early arrival",
          "ldmatrix may still read what copies write after this: only a fence (fence.acq_rel.cta, then "
          "bar.warp.sync) or a barrier waits for it",
          static_cast<int>(lane));
    if (operation.results == 1 && !warp.is_sink(operation, 0))
      warp.result<std::uint64_t>(operation, 0)[lane] = barrier.phase;
    if ((operation.variant & relaxed) == 0) barrier.gathered.join(warp.view());
    std::uint32_t count = 1;
    if ((operation.variant & expects_bytes) != 0) {
      barrier.bytes += operand[lane];
    } else if (has_operand) {
      count = operand[lane];
    }
    if ((operation.variant & drops) != 0) --barrier.expected;
    arrive(warp, operation, barrier, count);
  });
  warp.tick();
}

void run_expect(Warp& warp, const Operation& operation) {
  const std::uint32_t* bytes = warp.source<std::uint32_t>(operation, 1);
  for_each_barrier(warp, operation, 0,
                   [&](std::size_t lane, MemoryBarrier& barrier) { barrier.bytes += bytes[lane]; });
}

void run_complete(Warp& warp, const Operation& operation) {
  const std::uint32_t* bytes = warp.source<std::uint32_t>(operation, 1);
  for_each_barrier(warp, operation, 0, [&](std::size_t lane, MemoryBarrier& barrier) {
    complete_bytes(warp, barrier, bytes[lane], warp.epoch());
  });
}

enum Wait : std::uint16_t { by_state = 0, by_parity = 1, without_acquire = 2 };

void run_wait(Warp& warp, const Operation& operation) {
  Mask done = warp.active();  // a lane without an mbarrier does not wait
  for_each_barrier(warp, operation, 1, [&](std::size_t lane, MemoryBarrier& barrier) {
    const bool is_done = (operation.variant & by_parity) != 0
                             ? (barrier.phase & 1) != (warp.source<std::uint32_t>(operation, 2)[lane] & 1)
                             : barrier.phase != warp.source<std::uint64_t>(operation, 2)[lane];
    if (!is_done) {
      done &= ~(Mask{1} << lane);
    } else if ((operation.variant & without_acquire) == 0) {
      warp.view().join(barrier.completed);
      warp.view_changed();
    }
  });
  warp.set_mask(operation, 0, done);
  if (done != warp.active()) warp.poll();
}

Handler choose_barrier(const Instruction& instruction, Operation& operation) {
  operation.pipe = Pipe::memory;
  operation.space = ptx::Space::shared;
  operation.results = 0;
  const std::size_t operands = operation.count;
  if (instruction.has("init")) return operands == 2 ? initialise : nullptr;
  if (instruction.has("inval")) return operands == 1 ? invalidate : nullptr;
  if (instruction.has("test_wait") || instruction.has("try_wait")) {
    operation.results = 1;
    operation.variant = instruction.has("parity") ? by_parity : by_state;
    if (instruction.has("relaxed")) operation.variant |= without_acquire;
    return operands >= 3 ? run_wait : nullptr;
  }
  if (instruction.has("arrive") || instruction.has("arrive_drop")) {
    const bool has_result =
        !instruction.operands.empty() && instruction.operands[0].kind != ptx::Operand::Kind::address;
    operation.results = has_result ? 1 : 0;
    operation.variant = instruction.has("expect_tx") ? expects_bytes : plain;
    if (instruction.has("arrive_drop")) operation.variant |= drops;
    if (instruction.has("relaxed")) operation.variant |= relaxed;
    const std::size_t least = operation.results + (instruction.has("expect_tx") ? 2U : 1U);
    return operands >= least ? run_arrive : nullptr;
  }
  if (instruction.has("expect_tx")) return operands == 2 ? run_expect : nullptr;
  return instruction.has("complete_tx") && operands == 2 ? run_complete : nullptr;
}

constexpr Opcode table[] = {{"mbarrier", choose_barrier}};

}  // namespace

std::span<const Opcode> barrier_opcodes() {
  return table;
}

}  // namespace weft::simulator
