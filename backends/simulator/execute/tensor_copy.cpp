#include <fmt/format.h>
#include <weft/backends/simulator/execute/atomics.h>
#include <weft/backends/simulator/execute/bulk_copy.h>
#include <weft/backends/simulator/execute/tensor_map.h>

namespace weft::simulator {
namespace {

/// Of Operation::variant: the rank in the low bits, and what stands behind the mbarrier.
constexpr std::uint16_t rank_bits = 7;
constexpr std::uint16_t has_offsets = 8;  ///< offsets of im2col
constexpr std::uint16_t has_multicast = 16;

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
    if (to[lane] % 128 != 0)
      warp.report(operation, "misaligned",
                  fmt::format("a box at {:#x}; multiples of 128 are possible", to[lane]));
    const std::size_t masks = (operation.variant & has_multicast) != 0 ? next : 0;
    for_each_target(warp, operation, masks, lane, [&](auto place) {
      box.shared = place(to[lane]);
      start_bulk(
          warp, operation, [&operation, box](Warp& self) { load_box(self, operation, box); },
          place(barriers[lane]), static_cast<std::uint32_t>(map->box_bytes()));
    });
  }
}

/// What is done with a piece of a box: where it goes, and where it comes from.
using Combine = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

void store_box(Warp& warp, const Operation& operation, const Box& box, Access access, Combine combine) {
  box.for_each_piece([&](const BoxPiece& piece) {
    if (!piece.is_inside) return;
    const std::byte* from = warp.reach_asynchronous(operation, Queue::bulk, Space::shared, piece.shared,
                                                    piece.bytes, Access::read);
    std::byte* to =
        warp.reach_asynchronous(operation, Queue::bulk, Space::global, piece.global, piece.bytes, access);
    if (from != nullptr && to != nullptr) combine(to, from, piece.bytes);
  });
}

Combine copy_of(TensorMap::Type) {
  return [](std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); };
}

/// cp.reduce.async.bulk.tensor with .add, by the type of the map.
Combine addition_of(TensorMap::Type type) {
  using enum TensorMap::Type;
  switch (type) {
    case f16: return atomics::update<weft::f16, atomics::add>;
    case bf16: return atomics::update<weft::bf16, atomics::add>;
    case f64: return atomics::update<double, atomics::add>;
    case u32:
    case s32: return atomics::update<std::uint32_t, atomics::add>;
    case u64:
    case s64: return atomics::update<std::uint64_t, atomics::add>;
    default: return atomics::update<float, atomics::add>;
  }
}

/// [map, {coordinates}], [from]
template <Access access, auto combine_of>
void store_tensor(Warp& warp, const Operation& operation) {
  const std::size_t rank = operation.variant & rank_bits;
  const auto maps = warp.addresses(operation, 0);
  const auto from = warp.addresses(operation, 1 + rank);
  for (const std::size_t lane : lanes_of(warp.active())) {
    const auto map = read_map(warp, operation, maps[lane], rank, static_cast<int>(lane));
    if (!map) continue;
    Box box{*map, {}, {}, absolute(warp, from[lane])};
    read_coordinates(warp, operation, 1, rank, lane, box);
    const auto store = [&operation, box](Warp& self) {
      store_box(self, operation, box, access, combine_of(box.map.type));
    };
    warp.start(Queue::bulk, {&operation, store, {}});
  }
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
    if (!instruction.has("reduce"))
      return instruction.has("bulk_group") ? store_tensor<Access::write, copy_of> : nullptr;
    return instruction.has("add") ? store_tensor<Access::atomic, addition_of> : nullptr;
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
