#include <fmt/format.h>
#include <weft/backends/simulator/execute/atomics.h>
#include <weft/backends/simulator/execute/memory_barrier.h>
#include <weft/backends/simulator/execute/tensor_copy.h>
#include <weft/backends/simulator/execute/tensor_map.h>
#include <weft/backends/simulator/machine/machine.h>
#include <weft/backends/simulator/machine/warp.h>

#include <algorithm>
#include <charconv>

namespace weft::simulator {

using ptx::Instruction;
using ptx::Space;

namespace {

/// Of Operation::variant: the rank in the low bits, and what stands behind the mbarrier.
constexpr std::uint16_t rank_bits = 7;
constexpr std::uint16_t has_offsets = 8;  ///< of im2col
constexpr std::uint16_t has_multicast = 16;

std::uint64_t in_block(std::uint64_t address, std::uint32_t rank) {
  return window::cluster + rank * window::shared_bytes + address % window::shared_bytes;
}

std::uint64_t absolute(const Warp& warp, std::uint64_t address) {
  return address < window::cluster ? in_block(address, warp.block().rank) : address;
}

std::optional<TensorMap> read_map(Warp& warp, const Operation& operation, std::uint64_t address,
                                  std::size_t rank, int lane) {
  const Machine::Located located = warp.machine().locate(warp, Space::none, address, lane);
  if (located.region == nullptr || located.offset > located.region->bytes ||
      located.region->bytes - located.offset < tensor_map_bytes || address % 64 != 0) {
    warp.report(operation, "out of bounds", fmt::format("no tensor map at {:#x}", address), lane);
    return std::nullopt;
  }
  const std::byte* bytes = located.region->data.get() + located.offset;
  const auto map = decode_tensor_map(std::span<const std::byte, tensor_map_bytes>(bytes, tensor_map_bytes));
  if (!map || map->rank != rank) {
    warp.report(operation, "tensor map",
                map ? fmt::format("a map of rank {} for a copy of rank {}", map->rank, rank)
                    : "the bytes there are no map of the simulator's",
                lane);
    return std::nullopt;
  }
  return map;
}

struct Box {
  TensorMap map;
  std::array<std::int32_t, most_tensor_rank> at{};
  std::array<std::uint16_t, 3> offsets{};
  std::uint64_t shared = 0;

  void for_each_piece(const std::function<void(const BoxPiece&)>& function) const {
    for_each_box_piece(map, at.data(), map.pixels ? offsets.data() : nullptr, shared, function);
  }
};

void read_coordinates(Warp& warp, const Operation& operation, std::size_t first, std::size_t rank,
                      std::size_t lane, Box& box) {
  for (std::size_t axis = 0; axis < rank; ++axis)
    box.at[axis] = warp.source<std::int32_t>(operation, first + axis)[lane];
}

void load_box(Warp& warp, const Operation& operation, const Box& box) {
  box.for_each_piece([&](const BoxPiece& piece) {
    std::byte* to = warp.reach_asynchronous(operation, Queue::bulk, Space::shared, piece.shared, piece.bytes,
                                            Access::write);
    if (to == nullptr) return;
    if (!piece.is_inside) return fill_outside(box.map, to, piece.bytes);
    const std::byte* from = warp.reach_asynchronous(operation, Queue::bulk, Space::global, piece.global,
                                                    piece.bytes, Access::read);
    if (from != nullptr) std::memcpy(to, from, piece.bytes);
  });
}

/// [to], [map, {coordinates}], [barrier] {, {offsets}} {, mask of blocks}
void load_tensor(Warp& warp, const Operation& operation) {
  const std::size_t rank = operation.variant & rank_bits;
  const auto to = warp.addresses(operation, 0);
  const auto maps = warp.addresses(operation, 1);
  const auto barriers = warp.addresses(operation, 2 + rank);
  for (const std::size_t lane : lanes_of(warp.active())) {
    const auto map = read_map(warp, operation, maps[lane], rank, static_cast<int>(lane));
    if (!map) continue;
    Box box{*map, {}, {}, 0};
    read_coordinates(warp, operation, 2, rank, lane, box);
    std::size_t next = 3 + rank;
    for (std::size_t i = 0; (operation.variant & has_offsets) != 0 && i + 2 < rank; ++i)
      box.offsets[i] = static_cast<std::uint16_t>(warp.source<std::uint32_t>(operation, next++)[lane]);
    std::uint32_t blocks = 1U << warp.block().rank;
    if ((operation.variant & has_multicast) != 0)
      blocks = warp.source<std::uint32_t>(operation, next)[lane] & 0xFFFF;
    if (to[lane] % 128 != 0)
      warp.report(operation, "misaligned",
                  fmt::format("a box at {:#x}; multiples of 128 are possible", to[lane]));
    for (std::uint32_t block = 0; blocks != 0; ++block, blocks >>= 1) {
      if ((blocks & 1) == 0) continue;
      const bool many = (operation.variant & has_multicast) != 0;
      box.shared = many ? in_block(to[lane], block) : absolute(warp, to[lane]);
      start_bulk(
          warp, operation, [&operation, box](Warp& self) { load_box(self, operation, box); },
          many ? in_block(barriers[lane], block) : absolute(warp, barriers[lane]),
          static_cast<std::uint32_t>(map->box_bytes()));
    }
  }
}

void store_box(Warp& warp, const Operation& operation, const Box& box,
               const std::function<void(std::byte*, const std::byte*, std::size_t)>& combine, Access access) {
  box.for_each_piece([&](const BoxPiece& piece) {
    if (!piece.is_inside) return;
    const std::byte* from = warp.reach_asynchronous(operation, Queue::bulk, Space::shared, piece.shared,
                                                    piece.bytes, Access::read);
    std::byte* to =
        warp.reach_asynchronous(operation, Queue::bulk, Space::global, piece.global, piece.bytes, access);
    if (from != nullptr && to != nullptr) combine(to, from, piece.bytes);
  });
}

void start_store(Warp& warp, const Operation& operation, Access access,
                 void (*combine)(const TensorMap&, std::byte*, const std::byte*, std::size_t)) {
  const std::size_t rank = operation.variant & rank_bits;
  const auto maps = warp.addresses(operation, 0);
  const auto from = warp.addresses(operation, 1 + rank);
  for (const std::size_t lane : lanes_of(warp.active())) {
    const auto map = read_map(warp, operation, maps[lane], rank, static_cast<int>(lane));
    if (!map) continue;
    Box box{*map, {}, {}, absolute(warp, from[lane])};
    read_coordinates(warp, operation, 1, rank, lane, box);
    Work work;
    work.operation = &operation;
    work.perform = [&operation, box, access, combine](Warp& self) {
      store_box(
          self, operation, box,
          [&](std::byte* to, const std::byte* source, std::size_t bytes) {
            combine(box.map, to, source, bytes);
          },
          access);
    };
    warp.start(Queue::bulk, std::move(work));
  }
}

/// [map, {coordinates}], [from]
void store_tensor(Warp& warp, const Operation& operation) {
  start_store(warp, operation, Access::write,
              [](const TensorMap&, std::byte* to, const std::byte* from, std::size_t bytes) {
                std::memcpy(to, from, bytes);
              });
}

template <class T>
void add_elements(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(T)) {
    T old, value;
    std::memcpy(&old, to + at, sizeof(T));
    std::memcpy(&value, from + at, sizeof(T));
    const T sum = atomics::add<T>(old, value, T{});
    std::memcpy(to + at, &sum, sizeof(T));
  }
}

/// cp.reduce.async.bulk.tensor with .add, by the type of the map.
void add_tensor(Warp& warp, const Operation& operation) {
  start_store(warp, operation, Access::atomic,
              [](const TensorMap& map, std::byte* to, const std::byte* from, std::size_t bytes) {
                switch (map.type) {
                  case TensorMap::Type::f16:
                    return add_elements<f16>(to, from, bytes);
                  case TensorMap::Type::bf16:
                    return add_elements<bf16>(to, from, bytes);
                  case TensorMap::Type::f64:
                    return add_elements<double>(to, from, bytes);
                  case TensorMap::Type::u32:
                  case TensorMap::Type::s32:
                    return add_elements<std::uint32_t>(to, from, bytes);
                  case TensorMap::Type::u64:
                  case TensorMap::Type::s64:
                    return add_elements<std::uint64_t>(to, from, bytes);
                  default:
                    return add_elements<float>(to, from, bytes);
                }
              });
}

}  // namespace

Handler choose_tensor_copy(const Instruction& instruction, Operation& operation) {
  std::size_t rank = 0;
  for (const std::string& modifier : instruction.modifiers) {
    if (modifier.size() == 2 && modifier[1] == 'd' && modifier[0] >= '1' && modifier[0] <= '5')
      rank = static_cast<std::size_t>(modifier[0] - '0');
  }
  if (rank == 0) return nullptr;
  operation.variant = static_cast<std::uint16_t>(rank);
  if (!instruction.has("mbarrier::complete_tx::bytes")) {
    if (operation.count < rank + 2) return nullptr;
    if (!instruction.has("reduce")) return instruction.has("bulk_group") ? store_tensor : nullptr;
    return instruction.has("add") ? add_tensor : nullptr;
  }
  std::size_t operands = 3 + rank;
  if (instruction.has("im2col")) {
    if (rank < 3) return nullptr;
    operation.variant |= has_offsets;
    operands += rank - 2;
  }
  if (instruction.has("multicast::cluster")) {
    operation.variant |= has_multicast;
    ++operands;
  }
  return operation.count >= operands ? load_tensor : nullptr;
}

}  // namespace weft::simulator
