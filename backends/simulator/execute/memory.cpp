// ld, st, atom, red and their relatives.
#include <weft/backends/simulator/execute/atomics.h>
#include <weft/backends/simulator/execute/lanes.h>
#include <weft/backends/simulator/machine/control_flow.h>
#include <weft/backends/simulator/machine/machine.h>

#include <algorithm>

namespace weft::simulator {
namespace {

/// Of Operation::variant: what an access publishes and learns.
enum Order : std::uint16_t { plain = 0, relaxed = 1, acquire = 2, release = 4, in_block = 8 };

std::uint16_t order_of(const Instruction& instruction, bool is_atomic) {
  std::uint16_t order =
      is_atomic || instruction.has("volatile") || instruction.has("relaxed") || instruction.has("mmio")
          ? relaxed
          : plain;
  if (instruction.has("acquire") || instruction.has("acq_rel")) order |= relaxed | acquire;
  if (instruction.has("release") || instruction.has("acq_rel")) order |= relaxed | release;
  if (order != plain && instruction.has("cta")) order |= in_block;
  return order;
}

bool is_shared(std::uint64_t address) {
  return address < window::cluster_end;
}

/// Where what is published at an address is kept for all who can reach it.
Machine::Place place_of(const Warp& warp, std::uint64_t address) {
  if (!is_shared(address)) return {address, 0};
  const Block* owner = warp.machine().block_of(warp, address);
  return {address % window::shared_bytes, owner == nullptr ? 0 : owner->serial + 1};
}

/// Where it is kept for the block alone.
Machine::Place place_in_block(const Warp& warp, std::uint64_t address) {
  return is_shared(address) ? place_of(warp, address) : Machine::Place{address, warp.block().serial + 1};
}

/// A read of the value that another published: its knowledge comes with it, at once or at the next fence.
void hear(Warp& warp, std::uint16_t order, const std::uint64_t* addresses) {
  const Machine& machine = warp.machine();
  const bool acquires = (order & acquire) != 0;
  const auto learn = [&](const View& view) {
    warp.view().seen.join(view.seen);
    warp.view().proxied.join(view.proxied);
    warp.view().proxied_global.join(view.proxied_global);
    warp.view_changed();
  };
  for (const std::size_t lane : lanes_of(warp.active())) {
    const std::uint64_t address = addresses[lane];
    if (const View* view = machine.find_published(place_of(warp, address)); view != nullptr) {
      if (!acquires) {
        warp.heard().join(*view);
      } else if ((order & in_block) == 0) {
        learn(*view);
      }
    }
    if (!machine.has_block_scopes()) continue;
    if (const View* view = machine.find_published(place_in_block(warp, address)); view != nullptr) {
      if (acquires)
        learn(*view);
      else
        warp.heard().fenced_in_block.join(view->seen);
    }
  }
}

void publish(Warp& warp, std::uint16_t order, const std::uint64_t* addresses, bool adds) {
  Machine& machine = warp.machine();
  const bool is_release = (order & release) != 0;
  View told = warp.view();
  told.fenced_in_block = Knowledge();
  if (!is_release || (order & in_block) != 0) told.seen = told.fenced;
  View told_to_block;
  if (machine.has_block_scopes()) {
    told_to_block = told;
    if (is_release) told_to_block.seen = warp.view().seen;
    told_to_block.seen.join(warp.view().fenced_in_block);
  }
  const auto tell = [&](const Machine::Place& place, const View& what) {
    View& known = machine.published(place);
    if (adds)
      known.join(what);
    else
      known = what;
  };
  for (const std::size_t lane : lanes_of(warp.active())) {
    const std::uint64_t address = addresses[lane];
    if (!is_shared(address) || !machine.has_block_scopes()) tell(place_of(warp, address), told);
    if (machine.has_block_scopes()) tell(place_in_block(warp, address), told_to_block);
  }
  if (is_release) warp.tick();
  machine.note_progress();
}

template <class T>
T read_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Loads elements of S and widens them to the register's size; `signed` types keep their sign.
template <class S>
void load(Warp& warp, const Operation& operation) {
  const std::array<std::uint64_t, lanes> addresses = warp.addresses(operation, operation.results);
  if (operation.variant != plain) hear(warp, operation.variant, addresses.data());
  const auto bytes = static_cast<std::uint32_t>(sizeof(S) * operation.elements);
  const Pointers from =
      warp.reach(operation, operation.space, addresses.data(), warp.active(), bytes, Access::read);
  for (std::size_t element = 0; element < operation.elements; ++element) {
    if (warp.is_sink(operation, element)) continue;
    const std::size_t width = warp.operand_bytes(operation, element);
    for (const std::size_t lane : lanes_of(warp.active())) {
      const S value = from[lane] == nullptr ? S{} : read_as<S>(from[lane] + element * sizeof(S));
      if (width == 8) {
        warp.result<std::uint64_t>(operation, element)[lane] =
            static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
      } else if (width == 4) {
        warp.result<std::uint32_t>(operation, element)[lane] =
            static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
      } else {
        warp.result<std::uint32_t>(operation, element)[lane] =
            static_cast<std::uint32_t>(value) & ((1U << 8 * width) - 1);
      }
    }
  }
}

template <class T>
void store_lanes(const Warp& warp, const T* values, const Pointers& to, std::size_t element,
                 std::size_t bytes) {
  for (const std::size_t lane : lanes_of(warp.active())) {
    if (to[lane] != nullptr) std::memcpy(to[lane] + element * bytes, &values[lane], bytes);
  }
}

template <class S>
void store(Warp& warp, const Operation& operation) {
  const std::array<std::uint64_t, lanes> addresses = warp.addresses(operation, 0);
  const auto bytes = static_cast<std::uint32_t>(sizeof(S) * operation.elements);
  const Pointers to =
      warp.reach(operation, operation.space, addresses.data(), warp.active(), bytes, Access::write);
  for (std::size_t element = 0; element < operation.elements; ++element) {
    using Stored = std::conditional_t<sizeof(S) <= 4, std::uint32_t, S>;
    // A register may be wider than what is stored of it.
    if (sizeof(S) <= 4 && warp.operand_bytes(operation, 1 + element) == 8)
      store_lanes(warp, warp.source<std::uint64_t>(operation, 1 + element), to, element, sizeof(S));
    else
      store_lanes(warp, warp.source<Stored>(operation, 1 + element), to, element, sizeof(S));
  }
  if (operation.variant != plain) publish(warp, operation.variant, addresses.data(), false);
}

struct Wide {
  std::uint64_t low, high;
};

/// Calls `make` with a value of what is moved: signed for s8, s16 and s32, which are widened.
template <class Make>
Handler for_elements(Type type, Make make) {
  const Handler widened = TypeSet<Type::s8, Type::s16, Type::s32>::choose(type, make);
  if (widened != nullptr) return widened;
  switch (ptx::size_of(type)) {
    case 1: return make(std::uint8_t{});
    case 16: return make(Wide{});
    default: return by_size(type, make);
  }
}

void mark(const Instruction& instruction, Operation& operation, bool is_atomic) {
  operation.pipe = Pipe::memory;
  operation.variant = order_of(instruction, is_atomic);
  if (operation.variant != plain) operation.flags |= strong_access;
}

Handler choose_load(const Instruction& instruction, Operation& operation) {
  mark(instruction, operation, false);
  operation.flags |= loads_lanes;
  operation.results = operation.elements;
  if (operation.count < operation.results + 1U) return nullptr;
  return for_elements(operation.type, []<class S>(S) -> Handler {
    if constexpr (std::integral<S>)
      return load<S>;
    else
      return nullptr;
  });
}

Handler choose_store(const Instruction& instruction, Operation& operation) {
  mark(instruction, operation, false);
  operation.flags |= stores_lanes;
  operation.results = 0;
  if (instruction.has("async") || operation.count < operation.elements + 1U) return nullptr;
  return for_elements(operation.type, []<class S>(S) -> Handler { return store<S>; });
}

/// `Read`: whether the old value is wanted (atom) or not (red).
template <class T, auto function, bool wants_old>
void update(Warp& warp, const Operation& operation) {
  constexpr std::size_t address = wants_old ? 1 : 0;
  using Word = simulator::Lane<T>;
  using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t, Word>;
  const std::array<std::uint64_t, lanes> addresses = warp.addresses(operation, address);
  if (wants_old) hear(warp, operation.variant, addresses.data());
  const auto elements = std::max<std::size_t>(1, operation.elements);
  const Pointers at = warp.reach(operation, operation.space, addresses.data(), warp.active(),
                                 static_cast<std::uint32_t>(sizeof(T) * elements), Access::atomic);
  for (const std::size_t lane : lanes_of(warp.active())) {
    if (at[lane] == nullptr) continue;
    for (std::size_t element = 0; element < elements; ++element) {
      std::byte* const where = at[lane] + element * sizeof(T);
      const auto bits = static_cast<Bits>(warp.source<Word>(operation, address + 1 + element)[lane]);
      const Word other = operation.count > address + 1 + elements
                             ? warp.source<Word>(operation, address + 1 + elements)[lane]
                             : Word{};
      const T old = read_as<T>(where);
      const T fresh = function(old, std::bit_cast<T>(bits), std::bit_cast<T>(static_cast<Bits>(other)));
      std::memcpy(where, &fresh, sizeof fresh);
      if (wants_old && !warp.is_sink(operation, element))
        warp.result<Word>(operation, element)[lane] = std::bit_cast<Bits>(old);
    }
  }
  publish(warp, operation.variant, addresses.data(), true);
}

template <bool wants_old>
Handler choose_update(const Instruction& instruction, Operation& operation) {
  if (instruction.has("async")) return nullptr;
  mark(instruction, operation, true);
  operation.results = wants_old ? operation.elements : 0;
  if (operation.count < operation.results + 1U + operation.elements) return nullptr;
  return select_atomic(instruction, operation.type,
                       []<class T, auto function>() -> Handler { return update<T, function, wants_old>; });
}

Handler choose_hint(const Instruction&, Operation& operation) {
  operation.results = 0;
  operation.pipe = Pipe::memory;
  return do_nothing;
}

Handler choose_policy(const Instruction&, Operation& operation) {
  operation.results = 1;
  operation.pipe = Pipe::none;
  return [](Warp& warp, const Operation& at) {
    warp.assign<std::uint64_t>(at, [] { return std::uint64_t{0}; });
  };
}

/// mapa: the same offset in another block of the cluster.
void map_address(Warp& warp, const Operation& operation) {
  const std::array<std::uint64_t, lanes> from = warp.addresses(operation, 1);
  const std::uint32_t* rank = warp.source<std::uint32_t>(operation, 2);
  const bool is_wide = warp.operand_bytes(operation, 0) == 8;
  for (const std::size_t lane : lanes_of(warp.active())) {
    const std::uint64_t to =
        window::cluster + rank[lane] * window::shared_bytes + from[lane] % window::shared_bytes;
    if (is_wide)
      warp.result<std::uint64_t>(operation, 0)[lane] = to;
    else
      warp.result<std::uint32_t>(operation, 0)[lane] = static_cast<std::uint32_t>(to);
  }
}

void rank_of_address(Warp& warp, const Operation& operation) {
  const std::array<std::uint64_t, lanes> from = warp.addresses(operation, 1);
  for (const std::size_t lane : lanes_of(warp.active()))
    warp.result<std::uint32_t>(operation, 0)[lane] =
        from[lane] < window::cluster
            ? warp.block().rank
            : static_cast<std::uint32_t>((from[lane] - window::cluster) / window::shared_bytes);
}

constexpr Opcode table[] = {
    {"ld", choose_load},
    {"ldu", choose_load},
    {"st", choose_store},
    {"atom", choose_update<true>},
    {"red", choose_update<false>},
    {"prefetch", choose_hint},
    {"prefetchu", choose_hint},
    {"applypriority", choose_hint},
    {"createpolicy", choose_policy},
    {"mapa",
     [](const Instruction&, Operation& operation) -> Handler {
       operation.space = ptx::Space::none;
       return operation.count == 3 ? map_address : nullptr;
     }},
    {"getctarank",
     [](const Instruction&, Operation& operation) -> Handler {
       return operation.count == 2 ? rank_of_address : nullptr;
     }},
};

}  // namespace

std::span<const Opcode> memory_opcodes() {
  return table;
}

}  // namespace weft::simulator
