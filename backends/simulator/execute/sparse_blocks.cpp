// swmma: the sparse tensor core of HB-ELL, which multiplies a 16 x 16 block of f16 with few values in each
// row. Operands lie as the rows of the instruction table say (scheduler/hardware/instructions/swmma.h). The
// offsets of a lane's values, a byte each in one register, are the columns of the block that they stand in.
#include <fmt/format.h>
#include <weft/backends/simulator/execute/extension.h>
#include <weft/backends/simulator/execute/matrix_multiply.h>
#include <weft/backends/simulator/execute/matrix_numbers.h>
#include <weft/backends/simulator/machine/warp.h>
#include <weft/scheduler/hardware/instructions/swmma.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace weft::simulator {
namespace {

constexpr int size = static_cast<int>(swmma_block);
constexpr int columns_of_lane = swmma_right.layout.elements();

/// PW; the dense instruction's is 16, whatever it is called.
int width_of(const Operation& operation) {
  return static_cast<int>(operation.flags & 0xFFU);
}

/// The place that all lanes name.
std::uint64_t place_of(Warp& warp, const Operation& operation, std::size_t which) {
  const auto addresses = warp.addresses(operation, which);
  if (std::ranges::any_of(addresses, [&](std::uint64_t address) { return address != addresses[0]; }))
    warp.report(operation, "not uniform", "the address differs between the lanes of a warp");
  return addresses[0];
}

/// Contiguous memory, `bytes` of it for each lane.
Pointers reach_shares(Warp& warp, const Operation& operation, std::uint32_t bytes) {
  std::array<std::uint64_t, lanes> addresses;
  addresses.fill(place_of(warp, operation, operation.results));
  for (std::uint32_t lane = 0; lane < lanes; ++lane) addresses[lane] += std::uint64_t{bytes} * lane;
  return warp.reach(operation, operation.space, addresses.data(), all_lanes, bytes, Access::read);
}

void load_a(Warp& warp, const Operation& operation) {
  if (!matrix::whole_warp(warp, operation)) return;
  const auto bytes = static_cast<std::uint32_t>(width_of(operation));
  const Pointers from = reach_shares(warp, operation, bytes);
  for (std::size_t i = 0; i < operation.results; ++i) {
    if (warp.is_sink(operation, i)) continue;
    auto* const to = warp.result<std::uint32_t>(operation, i);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      to[lane] = 0;
      if (from[lane] != nullptr) std::memcpy(to + lane, from[lane] + 4 * i, 4);
    }
  }
}

template <int bits>
void load_offsets(Warp& warp, const Operation& operation) {
  if (!matrix::whole_warp(warp, operation)) return;
  const int places = swmma_left(width_of(operation)).layout.elements();
  const auto bytes = static_cast<std::uint32_t>(places * bits / 8);
  const Pointers from = reach_shares(warp, operation, bytes);
  auto* const to = warp.result<std::uint32_t>(operation, 0);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    std::uint32_t stored = 0;
    if (from[lane] != nullptr) std::memcpy(&stored, from[lane], bytes);
    to[lane] = 0;
    for (int i = 0; i < places; ++i) to[lane] |= (stored >> bits * i & ((1U << bits) - 1)) << 8 * i;
  }
}

/// Operands: registers, the place, elements between rows, rows and columns that there are. What is not there
/// is not read and is zero.
void load_b(Warp& warp, const Operation& operation) {
  if (!matrix::whole_warp(warp, operation)) return;
  const std::uint64_t place = place_of(warp, operation, operation.results);
  const auto number = [&](std::size_t which, std::string_view what) {
    return static_cast<std::int32_t>(
        matrix::uniform<std::uint32_t>(warp, operation, operation.results + which, what));
  };
  const std::int64_t stride = number(1, "the stride");
  const int rows = number(2, "the number of rows"), columns = number(3, "the number of columns");
  std::array<std::uint64_t, lanes> addresses;
  std::array<std::uint32_t, lanes> bytes{};
  Mask there = 0;
  std::uint64_t together =
      columns_of_lane * 2;  // bytes of one access are a power of two that divides all of it
  for (int lane = 0; lane < lanes; ++lane) {
    const auto at = static_cast<std::size_t>(lane);
    const auto [row, column] = swmma_right.layout.place(lane, 0);
    addresses[at] = place + static_cast<std::uint64_t>(2 * (row * stride + column));
    if (row >= rows || column >= columns) continue;
    there |= Mask{1} << lane;
    bytes[at] = static_cast<std::uint32_t>(2 * std::min(columns - column, columns_of_lane));
    together |= addresses[at] | bytes[at];
  }
  together = std::max<std::uint64_t>(2, together & (~together + 1));
  std::array<std::array<std::byte, columns_of_lane * 2>, lanes> values{};
  for (std::uint64_t done = 0; done < columns_of_lane * 2; done += together) {
    Mask mask = 0;
    std::array<std::uint64_t, lanes> piece = addresses;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      piece[lane] += done;
      if (done < bytes[lane]) mask |= Mask{1} << lane;
    }
    const Pointers from = warp.reach(operation, operation.space, piece.data(), mask,
                                     static_cast<std::uint32_t>(together), Access::read);
    for (std::size_t lane = 0; lane < lanes; ++lane)
      if (from[lane] != nullptr) std::memcpy(values[lane].data() + done, from[lane], together);
  }
  // The time model asks for the sectors of all pieces.
  if (together < columns_of_lane * 2)
    warp.count(operation, operation.space, addresses.data(), there, columns_of_lane * 2);
  for (std::size_t i = 0; i < operation.results; ++i) {
    if (warp.is_sink(operation, i)) continue;
    auto* const to = warp.result<std::uint32_t>(operation, i);
    for (std::size_t lane = 0; lane < lanes; ++lane) std::memcpy(to + lane, values[lane].data() + 4 * i, 4);
  }
}

/// An element of a lane's registers from `first` on.
double half_of(Warp& warp, const Operation& operation, std::size_t first, int lane, int element) {
  const std::uint32_t word =
      warp.source<std::uint32_t>(operation, first + static_cast<std::size_t>(element / 2))[lane];
  return matrix::half_value(word >> 16 * (element % 2) & 0xFFFFU);
}

/// The stored values of a row, and the columns of the block that they stand in.
struct StoredRow {
  std::array<double, size> values{};
  std::array<std::uint32_t, size> columns{};
};

/// Offsets are below 16, in ascending order, and name a column again only for the zeros that fill up the row.
void check_offsets(Warp& warp, const Operation& operation, int row, const StoredRow& stored) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(width_of(operation)); ++i) {
    const std::uint32_t offset = stored.columns[i], before = i == 0 ? 0 : stored.columns[i - 1];
    const bool follows = i == 0 || before < offset || (before == offset && stored.values[i] == 0);
    if (offset < size && follows) continue;
    warp.report(operation, "sparse offset",
                fmt::format("row {}, place {}: the offset is {}{}; a row has ascending ones below {}", row, i,
                            offset, i == 0 ? std::string() : fmt::format(" after {}", before), size));
    return;
  }
}

std::array<StoredRow, size> read_a(Warp& warp, const Operation& operation) {
  const Layout layout = swmma_left(width_of(operation)).layout;
  const std::size_t first = operation.results, at_offsets = operation.count - 1U;
  const bool is_sparse = is_sparse_width(width_of(operation));
  std::array<StoredRow, size> rows;
  for (int lane = 0; lane < lanes; ++lane) {
    for (int i = 0; i < layout.elements(); ++i) {
      const auto [row, place] = layout.place(lane, i);
      StoredRow& stored = rows.at(static_cast<std::size_t>(row));
      const auto at = static_cast<std::size_t>(place);
      stored.values.at(at) = half_of(warp, operation, first, lane, i);
      stored.columns.at(at) = is_sparse
                                  ? warp.source<std::uint32_t>(operation, at_offsets)[lane] >> 8 * i & 0xFFU
                                  : static_cast<std::uint32_t>(place);
    }
  }
  if (!is_sparse) return rows;
  for (int row = 0; row < size; ++row)
    check_offsets(warp, operation, row, rows.at(static_cast<std::size_t>(row)));
  return rows;
}

/// Operands: sums, A, B, sums, and offsets where A is sparse. Every stored value is multiplied, zeros too,
/// but for those that fill up a row, which name the column before them again: they would meet the infinity of
/// a place that is kept. Summed in f64 in the order of the places and rounded once.
void multiply(Warp& warp, const Operation& operation) {
  if (!matrix::whole_warp(warp, operation)) return;
  const int width = width_of(operation);
  const std::size_t first_b = operation.results + static_cast<std::size_t>(swmma_left(width).registers());
  const std::size_t first_c = first_b + static_cast<std::size_t>(swmma_right.registers());
  const std::array<StoredRow, size> a = read_a(warp, operation);
  std::array<double, std::size_t{size} * size> b;
  for (int lane = 0; lane < lanes; ++lane) {
    for (int i = 0; i < columns_of_lane; ++i) {
      const auto [row, column] = swmma_right.layout.place(lane, i);
      b.at(static_cast<std::size_t>(row * size + column)) = half_of(warp, operation, first_b, lane, i);
    }
  }
  for (std::size_t i = 0; i < operation.results; ++i) {
    const auto* const from = warp.source<float>(operation, first_c + i);
    auto* const to = warp.result<float>(operation, i);
    for (int lane = 0; lane < lanes; ++lane) {
      const auto at = swmma_sums.layout.place(lane, static_cast<int>(i));
      const StoredRow& row = a.at(static_cast<std::size_t>(at.row));
      double sum = static_cast<double>(from[lane]);
      for (std::size_t k = 0; k < static_cast<std::size_t>(width); ++k) {
        if (k > 0 && row.columns[k] == row.columns[k - 1]) continue;
        sum += row.values[k] * b[row.columns[k] % size * size + static_cast<std::size_t>(at.column)];
      }
      const std::uint32_t bits = matrix::single_bits(sum);
      std::memcpy(to + lane, &bits, sizeof bits);
    }
  }
}

/// PW behind the words, 0 for what is none: "4" of swmma.load.a.4.
int width_named(const ptx::Instruction& instruction) {
  for (const std::string& word : instruction.modifiers) {
    int width = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), width);
    if (error == std::errc() && end == word.data() + word.size() &&
        std::ranges::find(swmma_widths, width) != swmma_widths.end())
      return is_sparse_width(width) ? width : size;
  }
  return 0;
}

}  // namespace

Handler choose_sparse_block(const ptx::Instruction& instruction, Operation& operation) {
  const auto number = extension_number(instruction.text());
  if (!number) return nullptr;
  operation.variant = *number;
  const weft::Instruction& row = extension_row(operation);
  operation.results = static_cast<std::uint16_t>(row.results);
  const std::size_t sums = row.reads_results ? operation.results : 0;
  if (operation.count != operation.results + row.operands.size() + sums) return nullptr;
  operation.type = row.reads_results ? ptx::Type::f32 : ptx::Type::b32;
  operation.flags = static_cast<std::uint32_t>(width_named(instruction));
  operation.pipe = row.reads_results ? Pipe::extension : Pipe::memory;
  if (row.reads_results) return multiply;
  if (instruction.has("b")) return load_b;
  if (instruction.has("a")) return load_a;
  return instruction.has("b4") ? load_offsets<4> : load_offsets<8>;
}

}  // namespace weft::simulator
