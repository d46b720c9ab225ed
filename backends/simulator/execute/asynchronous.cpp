// Copies that go on by themselves: cp.async, cp.async.bulk, cp.reduce.async.bulk, st.async, red.async.
#include <fmt/format.h>
#include <weft/backends/simulator/execute/bulk_copy.h>
#include <weft/backends/simulator/execute/memory_barrier.h>

#include <algorithm>
#include <map>
#include <memory>

namespace weft::simulator {
namespace {

struct Copy {
  std::uint64_t to = 0, from = 0;
  std::uint32_t bytes = 0, source_bytes = 0;
};

/// cp.async [to], [from], bytes {, source bytes or ignore predicate}
void copy_asynchronously(Warp& warp, const Operation& operation) {
  const auto to = warp.addresses(operation, 0);
  const auto from = warp.addresses(operation, 1);
  const std::uint32_t* bytes = warp.source<std::uint32_t>(operation, 2);
  std::vector<Copy> copies;
  for (const std::size_t lane : lanes_of(warp.active())) {
    Copy copy{to[lane], from[lane], bytes[lane], bytes[lane]};
    if (operation.variant == 1 && warp.operand_bytes(operation, 3) > 1) {
      copy.source_bytes = warp.source<std::uint32_t>(operation, 3)[lane];
    } else if (operation.variant == 1 && (warp.mask(operation, 3) >> lane & 1) != 0) {
      copy.source_bytes = 0;
    }
    if (copy.bytes != 4 && copy.bytes != 8 && copy.bytes != 16) {
      warp.report(operation, "misaligned",
                  fmt::format("cp.async of {} bytes; 4, 8 or 16 are possible", copy.bytes),
                  static_cast<int>(lane));
    } else if (copy.to % copy.bytes != 0 || (copy.source_bytes != 0 && copy.from % copy.bytes != 0)) {
      warp.report(operation, "misaligned",
                  fmt::format("{} bytes from {:#x} to {:#x}", copy.bytes, copy.from, copy.to),
                  static_cast<int>(lane));
    } else {
      copy.source_bytes = std::min(copy.source_bytes, copy.bytes);
      copies.push_back(copy);
    }
  }
  auto perform = [&operation, copies = std::move(copies)](Warp& self) {
    for (const Copy& copy : copies) {
      std::byte* target = self.reach_asynchronous(operation, Queue::copies, Space::shared, copy.to,
                                                  copy.bytes, Access::write);
      const std::byte* source = copy.source_bytes == 0
                                    ? nullptr
                                    : self.reach_asynchronous(operation, Queue::copies, Space::global,
                                                              copy.from, copy.source_bytes, Access::read);
      if (target == nullptr) continue;
      if (source != nullptr) std::memcpy(target, source, copy.source_bytes);
      std::memset(target + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
    }
  };
  warp.count(operation, Space::global, from.data(), warp.active(), bytes[std::countr_zero(warp.active())]);
  warp.start(Queue::copies, {&operation, std::move(perform), {}});
}

template <Queue queue>
void commit_group(Warp& warp, const Operation&) {
  warp.commit(queue);
}

template <Queue queue>
void wait_for_groups(Warp& warp, const Operation& operation) {
  warp.wait(queue, static_cast<int>(*warp.source<std::uint32_t>(operation, 0)));
}

void wait_for_all_copies(Warp& warp, const Operation&) {
  warp.commit(Queue::copies);
  warp.wait(Queue::copies, 0);
}

/// cp.async.mbarrier.arrive: arrives once the warp's copies so far are there.
void arrive_after_copies(Warp& warp, const Operation& operation) {
  const auto addresses = warp.addresses(operation, 0);
  const std::uint32_t clock = warp.flush_copies();
  const bool adds_arrival = operation.variant == 0;  // without .noinc the expected count grows by one first
  // The warp's copies are known to be there once all of its lanes have arrived, not before.
  const auto outstanding = std::make_shared<std::map<std::uint64_t, int>>();
  for (const std::size_t lane : lanes_of(warp.active())) ++(*outstanding)[addresses[lane]];
  for (const std::size_t lane : lanes_of(warp.active())) {
    const std::uint64_t address = addresses[lane];
    MemoryBarrier* barrier = find_barrier(warp, operation, address);
    if (barrier == nullptr) continue;
    if (adds_arrival) ++barrier->pending;
    PendingWork pending;
    pending.warp = &warp;
    pending.work.operation = &operation;
    pending.clock = clock;
    pending.view = warp.snapshot();
    pending.completed = [&operation, address, clock, outstanding](Warp& self, Epoch) {
      self.perform_copies(clock);
      MemoryBarrier* found = find_barrier(self, operation, address);
      if (found == nullptr) return;
      if (--(*outstanding)[address] == 0)
        complete_bytes(self, *found, 0, self.epoch(AgentKind::copies, clock), false);
      arrive(self, operation, *found, 1);
    };
    warp.machine().perform(std::move(pending));
  }
}

Handler choose_copy(const Instruction& instruction, Operation& operation) {
  operation.pipe = Pipe::memory;
  operation.results = 0;
  const bool is_bulk = instruction.has("bulk");
  if (instruction.has("commit_group"))
    return is_bulk ? commit_group<Queue::bulk> : commit_group<Queue::copies>;
  if (instruction.has("wait_all") && !is_bulk) return wait_for_all_copies;
  if (instruction.has("wait_group")) {
    if (operation.count != 1) return nullptr;
    return is_bulk ? wait_for_groups<Queue::bulk> : wait_for_groups<Queue::copies>;
  }
  if (is_bulk) return choose_bulk_copy(instruction, operation);
  if (instruction.has("arrive")) {
    operation.variant = instruction.has("noinc") ? 1 : 0;
    return operation.count == 1 ? arrive_after_copies : nullptr;
  }
  if (operation.count < 3) return nullptr;
  // A fourth operand is the source's size, a predicate that leaves the source out, or (by the modifier) a
  // policy.
  const std::size_t extra = operation.count - 3U - (instruction.has("L2::cache_hint") ? 1U : 0U);
  operation.variant = static_cast<std::uint16_t>(extra);
  return extra <= 1 ? copy_asynchronously : nullptr;
}

constexpr Opcode table[] = {
    {"cp", choose_copy},
    {"st", choose_asynchronous_store},
    {"red", choose_asynchronous_store},
};

}  // namespace

std::span<const Opcode> asynchronous_opcodes() {
  return table;
}

}  // namespace weft::simulator
