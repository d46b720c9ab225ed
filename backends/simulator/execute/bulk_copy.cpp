#include <fmt/format.h>
#include <weft/backends/simulator/execute/atomics.h>
#include <weft/backends/simulator/execute/bulk_copy.h>
#include <weft/backends/simulator/execute/memory_barrier.h>
#include <weft/backends/simulator/machine/control_flow.h>

namespace weft::simulator {
namespace {

/// Of Operation::flags.
enum Form : std::uint32_t {
  to_barrier = 1,  ///< an mbarrier learns of the end; else a bulk group
  multicast = 2,
};

constexpr std::uint32_t bulk_alignment = 16;

std::uint64_t as_shared(std::uint64_t address) {
  return address < window::shared ? address + window::shared : address;
}

void copy_line(Warp& warp, const Operation& operation, std::uint64_t to, std::uint64_t from,
               std::uint32_t bytes) {
  const auto* source =
      warp.reach_asynchronous(operation, Queue::bulk, space_of(from), from, bytes, Access::read);
  auto* target = warp.reach_asynchronous(operation, Queue::bulk, space_of(to), to, bytes, Access::write);
  if (source != nullptr && target != nullptr) std::memmove(target, source, bytes);
}

bool is_aligned(Warp& warp, const Operation& operation, std::uint64_t to, std::uint64_t from,
                std::uint32_t bytes) {
  if ((to | from | bytes) % bulk_alignment == 0) return true;
  warp.report(operation, "misaligned",
              fmt::format("a bulk copy of {} bytes from {:#x} to {:#x}; all must be multiples of 16", bytes,
                          from, to));
  return false;
}

/// The asynchronous proxy has to have heard of the mbarrier that it will tell.
void check_initialised(Warp& warp, const Operation& operation, const MemoryBarrier& barrier) {
  const View& view = warp.view();
  if (!warp.machine().checks() || view.proxied.covers(barrier.initialised) ||
      view.fenced.covers(barrier.initialised))
    return;
  warp.report(
      operation, "missing proxy fence",
      "its mbarrier was initialised without fence.mbarrier_init or fence.proxy.async between the two");
}

}  // namespace

void start_bulk(Warp& warp, const Operation& operation, std::function<void(Warp&)> move,
                std::uint64_t barrier, std::uint32_t bytes) {
  if (const MemoryBarrier* found = find_barrier(warp, operation, barrier); found != nullptr)
    check_initialised(warp, operation, *found);
  PendingWork pending;
  pending.warp = &warp;
  pending.work.operation = &operation;
  pending.work.perform = std::move(move);
  pending.clock = warp.next_clock(AgentKind::bulk);
  pending.view = warp.snapshot();
  pending.completed = [&operation, barrier, bytes](Warp& self, Epoch done) {
    if (MemoryBarrier* found = find_barrier(self, operation, barrier); found != nullptr)
      complete_bytes(self, *found, bytes, done);
  };
  warp.machine().perform(std::move(pending));
}

namespace {

/// [to], [from], bytes, [barrier] {, mask of blocks}
void copy_to_barrier(Warp& warp, const Operation& operation) {
  const auto to = warp.addresses(operation, 0);
  const auto from = warp.addresses(operation, 1);
  const std::uint32_t* bytes = warp.source<std::uint32_t>(operation, 2);
  const auto barrier = warp.addresses(operation, 3);
  for (const std::size_t lane : lanes_of(warp.active())) {
    std::uint64_t source = from[lane];
    if (space_of(as_shared(source)) == Space::shared) source = absolute(warp, source);
    if (!is_aligned(warp, operation, to[lane], source, bytes[lane])) continue;
    const std::size_t masks = (operation.flags & multicast) != 0 ? 4 : 0;
    for_each_target(warp, operation, masks, lane, [&](auto place) {
      const auto copy = [&operation, target = place(to[lane]), source, size = bytes[lane]](Warp& self) {
        copy_line(self, operation, target, source, size);
      };
      start_bulk(warp, operation, copy, place(barrier[lane]), bytes[lane]);
    });
  }
}

/// [to], [from], bytes
void copy_in_group(Warp& warp, const Operation& operation) {
  const auto to = warp.addresses(operation, 0);
  const auto from = warp.addresses(operation, 1);
  const std::uint32_t* bytes = warp.source<std::uint32_t>(operation, 2);
  for (const std::size_t lane : lanes_of(warp.active())) {
    const std::uint64_t source = absolute(warp, from[lane]);
    if (!is_aligned(warp, operation, to[lane], source, bytes[lane])) continue;
    const auto copy = [&operation, target = to[lane], source, size = bytes[lane]](Warp& self) {
      copy_line(self, operation, target, source, size);
    };
    warp.start(Queue::bulk, {&operation, copy, {}});
  }
}

/// cp.reduce.async.bulk: [to], [from], bytes {, [barrier]}
template <class T, auto function>
void reduce_in_bulk(Warp& warp, const Operation& operation) {
  const auto to = warp.addresses(operation, 0);
  const auto from = warp.addresses(operation, 1);
  const std::uint32_t* bytes = warp.source<std::uint32_t>(operation, 2);
  for (const std::size_t lane : lanes_of(warp.active())) {
    const std::uint64_t source = absolute(warp, from[lane]);
    if (!is_aligned(warp, operation, to[lane], source, bytes[lane])) continue;
    const bool is_shared = space_of(as_shared(to[lane])) == Space::shared;
    const std::uint64_t target = is_shared ? absolute(warp, to[lane]) : to[lane];
    const auto reduce = [&operation, target, source, size = bytes[lane]](Warp& self) {
      const auto* values =
          self.reach_asynchronous(operation, Queue::bulk, Space::shared, source, size, Access::read);
      auto* sums =
          self.reach_asynchronous(operation, Queue::bulk, space_of(target), target, size, Access::atomic);
      if (values != nullptr && sums != nullptr) atomics::update<T, function>(sums, values, size);
    };
    if ((operation.flags & to_barrier) != 0)
      start_bulk(warp, operation, reduce, absolute(warp, warp.addresses(operation, 3)[lane]), bytes[lane]);
    else
      warp.start(Queue::bulk, {&operation, reduce, {}});
  }
}

bool completes_at_barrier(const Instruction& instruction) {
  return instruction.has("mbarrier::complete_tx::bytes");
}

}  // namespace

Handler choose_bulk_copy(const Instruction& instruction, Operation& operation) {
  operation.flags = (completes_at_barrier(instruction) ? to_barrier : 0U) |
                    (instruction.has("multicast::cluster") ? multicast : 0U);
  if (instruction.has("prefetch")) return do_nothing;
  if (instruction.has("tensor")) return choose_tensor_copy(instruction, operation);
  const std::size_t least = (operation.flags & to_barrier) != 0 ? 4 : 3;
  if (operation.count < least + ((operation.flags & multicast) != 0 ? 1U : 0U)) return nullptr;
  if (instruction.has("reduce")) {
    // The low-precision sums (.noftz) are rounded once an element, as add of the type is.
    return select_atomic(instruction, operation.type,
                         []<class T, auto function>() -> Handler { return reduce_in_bulk<T, function>; });
  }
  if (instruction.has("cp_mask")) return nullptr;
  return (operation.flags & to_barrier) != 0 ? copy_to_barrier : copy_in_group;
}

namespace {

/// st.async [to], values, [barrier]: elements of T.
template <class T>
void store_asynchronously(Warp& warp, const Operation& operation) {
  const auto to = warp.addresses(operation, 0);
  const auto barrier = warp.addresses(operation, 1U + operation.elements);
  for (const std::size_t lane : lanes_of(warp.active())) {
    std::array<T, 4> values{};
    for (std::size_t i = 0; i < operation.elements; ++i) values[i] = warp.source<T>(operation, 1 + i)[lane];
    const auto bytes = static_cast<std::uint32_t>(sizeof(T) * operation.elements);
    const std::uint64_t target = absolute(warp, to[lane]);
    const auto write = [&operation, target, values, bytes](Warp& self) {
      auto* at = self.reach_asynchronous(operation, Queue::bulk, Space::shared, target, bytes, Access::write);
      if (at != nullptr) std::memcpy(at, values.data(), bytes);
    };
    start_bulk(warp, operation, write, absolute(warp, barrier[lane]), bytes);
  }
}

template <class T, auto function>
void reduce_asynchronously(Warp& warp, const Operation& operation) {
  const auto to = warp.addresses(operation, 0);
  const auto barrier = warp.addresses(operation, 2);
  for (const std::size_t lane : lanes_of(warp.active())) {
    if constexpr (sizeof(T) >= 4) {
      const auto value = warp.source<std::array<std::byte, sizeof(T)>>(operation, 1)[lane];
      const auto reduce = [&operation, target = absolute(warp, to[lane]), value](Warp& self) {
        auto* at =
            self.reach_asynchronous(operation, Queue::bulk, Space::shared, target, sizeof(T), Access::atomic);
        if (at != nullptr) atomics::update<T, function>(at, value.data(), sizeof(T));
      };
      start_bulk(warp, operation, reduce, absolute(warp, barrier[lane]), sizeof(T));
    }
  }
}

}  // namespace

Handler choose_asynchronous_store(const Instruction& instruction, Operation& operation) {
  if (!instruction.has("async") || !completes_at_barrier(instruction)) return nullptr;
  operation.results = 0;
  operation.pipe = Pipe::memory;
  if (operation.count < operation.elements + 2U) return nullptr;
  if (instruction.opcode == "red") {
    return select_atomic(instruction, operation.type, []<class T, auto function>() -> Handler {
      return reduce_asynchronously<T, function>;
    });
  }
  return ptx::size_of(operation.type) == 8 ? store_asynchronously<std::uint64_t>
                                           : store_asynchronously<std::uint32_t>;
}

}  // namespace weft::simulator
