#include <fmt/format.h>
#include <weft/backends/simulator/execute/atomics.h>
#include <weft/backends/simulator/execute/bulk_copy.h>
#include <weft/backends/simulator/execute/memory_barrier.h>
#include <weft/backends/simulator/execute/tensor_copy.h>
#include <weft/backends/simulator/machine/machine.h>
#include <weft/backends/simulator/machine/warp.h>

namespace weft::simulator {

using ptx::Instruction;
using ptx::Space;

namespace {

/// Of Operation::flags.
enum Form : std::uint32_t {
  to_barrier = 1,  ///< an mbarrier learns of the end; else a bulk group
  multicast = 2,
};

constexpr std::uint32_t bulk_alignment = 16;

std::uint64_t in_block(const Warp&, std::uint64_t address, std::uint32_t rank) {
  return window::cluster + rank * window::shared_bytes + address % window::shared_bytes;
}

std::uint64_t as_shared(std::uint64_t address) {
  return address < window::shared ? address + window::shared : address;
}

/// Where a shared address is in the window of its block's rank, so that another warp's view means the same.
std::uint64_t absolute(const Warp& warp, std::uint64_t address) {
  address = as_shared(address);
  return address < window::cluster ? in_block(warp, address, warp.block().rank) : address;
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

}  // namespace

namespace {

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
    if (space_of(source) == Space::shared || source < window::shared) source = absolute(warp, source);
    if (!is_aligned(warp, operation, to[lane], source, bytes[lane])) continue;
    const std::uint64_t target = absolute(warp, to[lane]);
    const std::uint64_t tells = absolute(warp, barrier[lane]);
    const std::uint32_t size = bytes[lane];
    std::uint32_t blocks = 1U << warp.block().rank;
    if ((operation.flags & multicast) != 0) blocks = warp.source<std::uint32_t>(operation, 4)[lane] & 0xFFFF;
    for (std::uint32_t rank = 0; blocks != 0; ++rank, blocks >>= 1) {
      if ((blocks & 1) == 0) continue;
      const bool many = (operation.flags & multicast) != 0;
      const std::uint64_t here = many ? in_block(warp, target, rank) : target;
      start_bulk(
          warp, operation,
          [&operation, here, source, size](Warp& self) { copy_line(self, operation, here, source, size); },
          many ? in_block(warp, tells, rank) : tells, size);
    }
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
    Work work;
    work.operation = &operation;
    work.perform = [&operation, target = to[lane], source, size = bytes[lane]](Warp& self) {
      copy_line(self, operation, target, source, size);
    };
    warp.start(Queue::bulk, std::move(work));
  }
}

/// cp.reduce.async.bulk: [to], [from], bytes {, [barrier]}
template <class T, AtomicFunction<T> function>
void reduce_in_bulk(Warp& warp, const Operation& operation) {
  const auto to = warp.addresses(operation, 0);
  const auto from = warp.addresses(operation, 1);
  const std::uint32_t* bytes = warp.source<std::uint32_t>(operation, 2);
  for (const std::size_t lane : lanes_of(warp.active())) {
    const std::uint64_t source = absolute(warp, from[lane]);
    if (!is_aligned(warp, operation, to[lane], source, bytes[lane])) continue;
    const bool is_shared = space_of(as_shared(to[lane])) == Space::shared;
    const std::uint64_t target = is_shared ? absolute(warp, to[lane]) : to[lane];
    auto reduce = [&operation, target, source, size = bytes[lane]](Warp& self) {
      const auto* values =
          self.reach_asynchronous(operation, Queue::bulk, Space::shared, source, size, Access::read);
      auto* sums =
          self.reach_asynchronous(operation, Queue::bulk, space_of(target), target, size, Access::atomic);
      if (values == nullptr || sums == nullptr) return;
      for (std::size_t at = 0; at < size; at += sizeof(T)) {
        T old, value;
        std::memcpy(&old, sums + at, sizeof(T));
        std::memcpy(&value, values + at, sizeof(T));
        const T fresh = function(old, value, T{});
        std::memcpy(sums + at, &fresh, sizeof(T));
      }
    };
    if ((operation.flags & to_barrier) != 0) {
      start_bulk(warp, operation, reduce, absolute(warp, warp.addresses(operation, 3)[lane]), bytes[lane]);
    } else {
      Work work;
      work.operation = &operation;
      work.perform = reduce;
      warp.start(Queue::bulk, std::move(work));
    }
  }
}

void commit_group(Warp& warp, const Operation&) {
  warp.commit(Queue::bulk);
}

void wait_for_groups(Warp& warp, const Operation& operation) {
  warp.wait(Queue::bulk, static_cast<int>(*warp.source<std::uint32_t>(operation, 0)));
}

void do_nothing(Warp&, const Operation&) {}

bool completes_at_barrier(const Instruction& instruction) {
  return instruction.has("mbarrier::complete_tx::bytes");
}

}  // namespace

Handler choose_bulk_copy(const Instruction& instruction, Operation& operation) {
  operation.results = 0;
  operation.pipe = Pipe::memory;
  operation.flags = (completes_at_barrier(instruction) ? to_barrier : 0U) |
                    (instruction.has("multicast::cluster") ? multicast : 0U);
  if (instruction.has("commit_group")) return commit_group;
  if (instruction.has("wait_group")) return operation.count == 1 ? wait_for_groups : nullptr;
  if (instruction.has("prefetch")) return do_nothing;
  if (instruction.has("tensor")) return choose_tensor_copy(instruction, operation);
  const std::size_t least = (operation.flags & to_barrier) != 0 ? 4 : 3;
  if (operation.count < least + ((operation.flags & multicast) != 0 ? 1U : 0U)) return nullptr;
  if (instruction.has("reduce")) {
    // The low-precision sums (.noftz) are rounded once an element, as add of the type is.
    return select_atomic(
        instruction,
        operation.type == ptx::Type::f16    ? ptx::Type::f16
        : operation.type == ptx::Type::bf16 ? ptx::Type::bf16
                                            : operation.type,
        []<class T, AtomicFunction<T> function>() -> Handler { return reduce_in_bulk<T, function>; });
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
    start_bulk(
        warp, operation,
        [&operation, target, values, bytes](Warp& self) {
          auto* at =
              self.reach_asynchronous(operation, Queue::bulk, Space::shared, target, bytes, Access::write);
          if (at != nullptr) std::memcpy(at, values.data(), bytes);
        },
        absolute(warp, barrier[lane]), bytes);
  }
}

template <class T, AtomicFunction<T> function>
void reduce_asynchronously(Warp& warp, const Operation& operation) {
  const auto to = warp.addresses(operation, 0);
  const auto barrier = warp.addresses(operation, 2);
  for (const std::size_t lane : lanes_of(warp.active())) {
    if constexpr (sizeof(T) >= 4) {
      using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
      const T value = std::bit_cast<T>(warp.source<Bits>(operation, 1)[lane]);
      const std::uint64_t target = absolute(warp, to[lane]);
      start_bulk(
          warp, operation,
          [&operation, target, value](Warp& self) {
            auto* at = self.reach_asynchronous(operation, Queue::bulk, Space::shared, target, sizeof(T),
                                               Access::atomic);
            if (at == nullptr) return;
            T old;
            std::memcpy(&old, at, sizeof(T));
            const T fresh = function(old, value, T{});
            std::memcpy(at, &fresh, sizeof(T));
          },
          absolute(warp, barrier[lane]), sizeof(T));
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
    return select_atomic(instruction, operation.type, []<class T, AtomicFunction<T> function>() -> Handler {
      return reduce_asynchronously<T, function>;
    });
  }
  return ptx::size_of(operation.type) == 8 ? store_asynchronously<std::uint64_t>
                                           : store_asynchronously<std::uint32_t>;
}

}  // namespace weft::simulator
