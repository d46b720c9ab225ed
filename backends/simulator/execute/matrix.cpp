// ldmatrix, stmatrix, movmatrix and the table of the family.
#include <weft/backends/simulator/execute/matrix_multiply.h>
#include <weft/backends/simulator/machine/operation.h>
#include <weft/backends/simulator/machine/warp.h>

#include <algorithm>
#include <array>

namespace weft::simulator {
namespace {

constexpr int row_bytes = 16;
constexpr int rows_of_matrix = 8;

/// Lanes that give the addresses of `count` matrices' rows.
Mask address_lanes(int count) {
  return count == 4 ? all_lanes : (Mask{1} << rows_of_matrix * count) - 1;
}

/// Which of the addresses is that of a matrix's row.
std::size_t address_of_row(int matrix, int row) {
  return static_cast<std::size_t>(matrix) * rows_of_matrix + static_cast<std::size_t>(row);
}

/// The element of a matrix that half `i` of a lane's register holds: row and column.
template <bool is_transposed>
std::pair<int, int> element_of_lane(int lane, int i) {
  const int along = lane / 4, across = lane % 4 * 2 + i;
  return is_transposed ? std::pair(across, along) : std::pair(along, across);
}

template <bool is_transposed>
void load(Warp& warp, const Operation& operation) {
  if (!matrix::whole_warp(warp, operation)) return;
  const int count = operation.variant;
  const auto addresses = warp.addresses(operation, static_cast<std::size_t>(count));
  const Pointers from =
      warp.reach(operation, operation.space, addresses.data(), address_lanes(count), row_bytes, Access::read);
  warp.loads_matrices = true;
  for (int which = 0; which < count; ++which) {
    std::array<std::array<std::uint16_t, 8>, rows_of_matrix> values{};
    for (int row = 0; row < rows_of_matrix; ++row)
      if (const std::byte* source = from[address_of_row(which, row)]; source != nullptr)
        std::memcpy(values[static_cast<std::size_t>(row)].data(), source, row_bytes);
    if (warp.is_sink(operation, static_cast<std::size_t>(which))) continue;
    auto* const to = warp.result<std::uint32_t>(operation, static_cast<std::size_t>(which));
    for (int lane = 0; lane < lanes; ++lane) {
      std::uint32_t word = 0;
      for (int i = 1; i >= 0; --i) {
        const auto [row, column] = element_of_lane<is_transposed>(lane, i);
        word = word << 16 | values[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
      }
      to[lane] = word;
    }
  }
}

template <bool is_transposed>
void store(Warp& warp, const Operation& operation) {
  if (!matrix::whole_warp(warp, operation)) return;
  const int count = operation.variant;
  const auto addresses = warp.addresses(operation, 0);
  const Pointers to = warp.reach(operation, operation.space, addresses.data(), address_lanes(count),
                                 row_bytes, Access::write);
  for (int which = 0; which < count; ++which) {
    const auto* const from = warp.source<std::uint32_t>(operation, 1 + static_cast<std::size_t>(which));
    for (int lane = 0; lane < lanes; ++lane)
      for (int i = 0; i < 2; ++i) {
        const auto [row, column] = element_of_lane<is_transposed>(lane, i);
        const auto half = static_cast<std::uint16_t>(from[lane] >> 16 * i);
        std::byte* const target = to[address_of_row(which, row)];
        if (target != nullptr) std::memcpy(target + 2 * column, &half, sizeof half);
      }
  }
}

void transpose(Warp& warp, const Operation& operation) {
  if (!matrix::whole_warp(warp, operation)) return;
  std::array<std::array<std::uint32_t, 8>, rows_of_matrix> values{};
  const auto* const from = warp.source<std::uint32_t>(operation, 1);
  const auto value = [&](std::pair<int, int> place) -> std::uint32_t& {
    return values[static_cast<std::size_t>(place.first)][static_cast<std::size_t>(place.second)];
  };
  for (int lane = 0; lane < lanes; ++lane)
    for (int i = 0; i < 2; ++i) value(element_of_lane<false>(lane, i)) = from[lane] >> 16 * i & 0xFFFFU;
  auto* const to = warp.result<std::uint32_t>(operation, 0);
  for (int lane = 0; lane < lanes; ++lane)
    to[lane] = value(element_of_lane<true>(lane, 0)) | value(element_of_lane<true>(lane, 1)) << 16;
}

/// Reads the modifiers of ldmatrix and stmatrix: how many matrices, 0 for what they do not have.
int read_count(const ptx::Instruction& instruction, bool& is_transposed) {
  int count = 0;
  bool has_shape = false;
  for (const std::string& word : instruction.modifiers) {
    if (word == "x1" || word == "x2" || word == "x4")
      count = word[1] - '0';
    else if (word == "trans")
      is_transposed = true;
    else if (word == "m8n8")
      has_shape = true;
    else if (word != "sync" && word != "aligned" && word != "shared" && word != "shared::cta" &&
             word != "b16")
      return 0;
  }
  return has_shape ? count : 0;
}

template <bool loads>
Handler choose_rows(const ptx::Instruction& instruction, Operation& operation) {
  bool is_transposed = false;
  const int count = read_count(instruction, is_transposed);
  if (count == 0 || operation.count != count + 1) return nullptr;
  operation.variant = static_cast<std::uint16_t>(count);
  operation.results = loads ? operation.variant : 0;
  operation.type = ptx::Type::b32;
  operation.pipe = Pipe::memory;
  if constexpr (loads) return is_transposed ? load<true> : load<false>;
  return is_transposed ? store<true> : store<false>;
}

Handler choose_move(const ptx::Instruction& instruction, Operation& operation) {
  if (!instruction.has("trans") || !instruction.has("m8n8") || !instruction.has("b16") ||
      operation.count != 2)
    return nullptr;
  operation.type = ptx::Type::b32;
  operation.pipe = Pipe::memory;
  return transpose;
}

constexpr Opcode opcodes[] = {{"ldmatrix", choose_rows<true>},
                              {"stmatrix", choose_rows<false>},
                              {"movmatrix", choose_move},
                              {"mma", matrix::choose_multiply}};

}  // namespace

std::span<const Opcode> matrix_opcodes() {
  return opcodes;
}

}  // namespace weft::simulator
