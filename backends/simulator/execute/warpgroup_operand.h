// Matrices that wgmma reads from shared memory: descriptors, layouts, swizzles (PTX ISA, "Shared memory
// matrix layout"). What is called rows here are rows of A or columns of B.
//
// Memory is seen in chunks of 16 bytes, swizzles being `width` bytes wide (16 for none), chunks `at`:
//   K major, no swizzle: row r, chunk c of the row at r / 8 * stride + r % 8 * 16 + c * leading
//   K major, swizzled:   row r, chunk c of the row at r / 8 * stride + r % 8 * width + c * 16
//   MN major, no swizzle: eight rows g at k at g * stride + k / 8 * leading + k % 8 * 16
//   MN major, swizzled:   likewise at g / n * leading + g % n * 16 + k / 8 * stride + k % 8 * width, n =
//   width / 16
// after the start. A swizzle then exchanges chunks: bits 4 and up of the address are xored with bits 7 and up
// (less the base offset), one bit for 32 bytes, two for 64, three for 128.
#pragma once

#include <weft/backends/simulator/execute/matrix_numbers.h>
#include <weft/backends/simulator/machine/warp.h>

#include <array>
#include <cstdint>

namespace weft::simulator::matrix {

constexpr std::uint32_t chunk_bytes = 16;

struct Descriptor {
  std::uint32_t start = 0;    ///< bytes into the block's shared memory
  std::uint32_t leading = 0;  ///< bytes
  std::uint32_t stride = 0;   ///< bytes
  std::uint32_t base_offset = 0;
  std::uint32_t width = 16;  ///< bytes of a row of the swizzle: 16, 32, 64, 128

  static Descriptor of(std::uint64_t bits);
};

/// The part of a matrix that a warp needs: `groups` of eight rows from `first` on, `inner` elements each.
class SharedOperand {
 public:
  SharedOperand(std::uint64_t descriptor, bool is_mn_major, int element_bytes, int inner, int first,
                int groups);

  /// Checks and reaches all of it, in pieces as large as they lie there.
  void reach(Warp& warp, const Operation& operation);

  /// Shared memory offset of a chunk of a group. K major: of row chunk % 8; MN major: of k = chunk.
  std::uint32_t address(int group, int chunk) const;
  /// Chunks of a group.
  int chunks() const { return chunks_; }

  /// Group `group` as numbers: element (row, k) to `to[row * row_step + k * inner_step]`. What was refused is
  /// 0.
  template <Element element>
  void read(int group, Number<element>* to, int row_step, int inner_step) const {
    constexpr int bytes = bytes_of(element);
    constexpr int in_chunk = static_cast<int>(chunk_bytes) / bytes;
    static constexpr std::array<std::byte, chunk_bytes> nothing{};
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      const std::byte* from = pointer(address(group, chunk));
      if (from == nullptr) from = nothing.data();
      const int row = is_mn_major_ ? 0 : chunk % 8;
      const int inner = is_mn_major_ ? chunk : chunk / 8 * in_chunk;
      const int step = is_mn_major_ ? row_step : inner_step;
      Number<element>* const target = to + row * row_step + inner * inner_step;
      for (int i = 0; i < in_chunk; ++i) target[i * step] = number<element>(from, i);
    }
  }

 private:
  static constexpr std::uint32_t most_chunks = 1U << 14;  ///< that a descriptor can address

  const std::byte* pointer(std::uint32_t at) const {
    const std::uint32_t chunk = at / chunk_bytes;
    if (chunk >= most_chunks || (reached_[chunk / 64] >> chunk % 64 & 1) == 0) return nullptr;
    return anchor_ + (static_cast<std::ptrdiff_t>(at) - anchor_address_);
  }
  void reach_run(Warp& warp, const Operation& operation, std::uint32_t first, std::uint32_t end);

  Descriptor descriptor_;
  bool is_mn_major_;
  int first_, groups_, chunks_;
  std::array<std::uint64_t, most_chunks / 64> reached_{};  ///< a bit a chunk of shared memory
  const std::byte* anchor_ = nullptr;                      ///< a block's shared memory is one piece
  std::ptrdiff_t anchor_address_ = 0;
};

}  // namespace weft::simulator::matrix
