// ldmatrix, stmatrix, movmatrix and the table of the family.
#include <weft/backends/simulator/execute/matrix_multiply.h>
#include <weft/backends/simulator/machine/operation.h>
#include <weft/backends/simulator/machine/warp.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::simulator {
namespace {

constexpr std::size_t row_bytes = 16, rows_of_matrix = 8;
using Matrix = std::array<std::array<std::uint16_t, 8>, rows_of_matrix>;

/// Lanes that give the addresses of `count` matrices' rows, one after the other.
Mask address_lanes(std::size_t count) {
  return count == 4 ? all_lanes : (Mask{1} << rows_of_matrix * count) - 1;
}

/// The element of a matrix that half `i` of a lane's register holds: row and column.
template <bool is_transposed>
std::pair<std::size_t, std::size_t> element_of_lane(std::size_t lane, std::size_t i) {
  const std::size_t along = lane / 4, across = lane % 4 * 2 + i;
  return is_transposed ? std::pair(across, along) : std::pair(along, across);
}

/// What a lane's register holds of a matrix.
template <bool is_transposed>
std::uint32_t word_of_lane(const Matrix& matrix, std::size_t lane) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto [row, column] = element_of_lane<is_transposed>(lane, i);
    word |= std::uint32_t{matrix[row][column]} << 16 * i;
  }
  return word;
}

template <bool is_transposed>
void load(Warp& warp, const Operation& operation) {
  if (!matrix::whole_warp(warp, operation)) return;
  const std::size_t count = operation.variant;
  const auto addresses = warp.addresses(operation, count);
  const Pointers from =
      warp.reach(operation, operation.space, addresses.data(), address_lanes(count), row_bytes, Access::read);
  warp.loads_matrices = true;
  for (std::size_t which = 0; which < count; ++which) {
    Matrix values{};
    for (std::size_t row = 0; row < rows_of_matrix; ++row)
      if (const std::byte* source = from[which * rows_of_matrix + row]; source != nullptr)
        std::memcpy(values[row].data(), source, row_bytes);
    if (warp.is_sink(operation, which)) continue;
    auto* const to = warp.result<std::uint32_t>(operation, which);
    for (std::size_t lane = 0; lane < lanes; ++lane) to[lane] = word_of_lane<is_transposed>(values, lane);
  }
}

template <bool is_transposed>
void store(Warp& warp, const Operation& operation) {
  if (!matrix::whole_warp(warp, operation)) return;
  const std::size_t count = operation.variant;
  const auto addresses = warp.addresses(operation, 0);
  const Pointers to = warp.reach(operation, operation.space, addresses.data(), address_lanes(count),
                                 row_bytes, Access::write);
  for (std::size_t which = 0; which < count; ++which) {
    const auto* const from = warp.source<std::uint32_t>(operation, 1 + which);
    for (std::size_t lane = 0; lane < lanes; ++lane)
      for (std::size_t i = 0; i < 2; ++i) {
        const auto [row, column] = element_of_lane<is_transposed>(lane, i);
        const auto half = static_cast<std::uint16_t>(from[lane] >> 16 * i);
        std::byte* const target = to[which * rows_of_matrix + row];
        if (target != nullptr) std::memcpy(target + 2 * column, &half, sizeof half);
      }
  }
}

void transpose(Warp& warp, const Operation& operation) {
  if (!matrix::whole_warp(warp, operation)) return;
  Matrix values{};
  const auto* const from = warp.source<std::uint32_t>(operation, 1);
  for (std::size_t lane = 0; lane < lanes; ++lane)
    for (std::size_t i = 0; i < 2; ++i) {
      const auto [row, column] = element_of_lane<false>(lane, i);
      values[row][column] = static_cast<std::uint16_t>(from[lane] >> 16 * i);
    }
  auto* const to = warp.result<std::uint32_t>(operation, 0);
  for (std::size_t lane = 0; lane < lanes; ++lane) to[lane] = word_of_lane<true>(values, lane);
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
    else if (!ptx::lists("sync aligned shared shared::cta b16", word))
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
