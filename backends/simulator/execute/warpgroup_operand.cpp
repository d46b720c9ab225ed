#include <fmt/format.h>
#include <weft/backends/simulator/execute/warpgroup_operand.h>
#include <weft/backends/simulator/machine/memory.h>

namespace weft::simulator::matrix {
namespace {

constexpr int rows_of_group = 8;

}  // namespace

Descriptor Descriptor::of(std::uint64_t bits) {
  constexpr std::array<std::uint32_t, 4> widths{16, 128, 64, 32};
  const auto field = [bits](int shift) { return static_cast<std::uint32_t>(bits >> shift & 0x3FFFU) * 16; };
  return {.start = field(0),
          .leading = field(16),
          .stride = field(32),
          .base_offset = static_cast<std::uint32_t>(bits >> 49 & 7U),
          .width = widths[bits >> 62]};
}

SharedOperand::SharedOperand(std::uint64_t descriptor, bool is_mn_major, int element_bytes, int inner,
                             int first, int groups)
    : descriptor_(Descriptor::of(descriptor)),
      is_mn_major_(is_mn_major),
      first_(first),
      groups_(groups),
      chunks_(is_mn_major ? inner : rows_of_group * inner * element_bytes / static_cast<int>(chunk_bytes)) {}

std::uint32_t SharedOperand::address(int group, int chunk) const {
  const auto& [start, leading, stride, base_offset, width] = descriptor_;
  const auto at_group = static_cast<std::uint32_t>(first_ + group),
             at_chunk = static_cast<std::uint32_t>(chunk);
  const std::uint32_t chunks_of_width = width / chunk_bytes;
  const std::uint32_t inside = at_chunk % 8, beyond = at_chunk / 8;
  std::uint32_t at = start + inside * width;
  if (!is_mn_major_)
    at += at_group * stride + beyond * (chunks_of_width == 1 ? leading : chunk_bytes);
  else if (chunks_of_width == 1)
    at += at_group * stride + beyond * leading;
  else
    at += at_group / chunks_of_width * leading + at_group % chunks_of_width * chunk_bytes + beyond * stride;
  return at ^ (((at >> 7) - base_offset) & (chunks_of_width - 1)) * chunk_bytes;
}

void SharedOperand::reach(Warp& warp, const Operation& operation) {
  const std::uint32_t row_bytes = static_cast<std::uint32_t>(chunks_ / rows_of_group) * chunk_bytes;
  if (!is_mn_major_ && descriptor_.width != chunk_bytes && row_bytes > descriptor_.width)
    warp.report(
        operation, "matrix descriptor",
        fmt::format("rows of {} bytes do not fit into a swizzle of {}", row_bytes, descriptor_.width));
  std::uint32_t least = most_chunks, most = 0;
  for (int group = 0; group < groups_; ++group)
    for (int i = 0; i < chunks_; ++i) {
      const std::uint32_t chunk = address(group, i) / chunk_bytes;
      if (chunk >= most_chunks) {
        warp.reach_asynchronous(operation, Queue::matrix, ptx::Space::shared,
                                window::shared + std::uint64_t{chunk} * chunk_bytes, chunk_bytes,
                                Access::read);
        continue;
      }
      reached_[chunk / 64] |= std::uint64_t{1} << chunk % 64;
      least = std::min(least, chunk);
      most = std::max(most, chunk);
    }
  const auto is_wanted = [this](std::uint32_t chunk) {
    return (reached_[chunk / 64] >> chunk % 64 & 1) != 0;
  };
  for (std::uint32_t first = least; first <= most && first < most_chunks;) {
    if (reached_[first / 64] >> first % 64 == 0) {
      first = (first / 64 + 1) * 64;
      continue;
    }
    first += static_cast<std::uint32_t>(std::countr_zero(reached_[first / 64] >> first % 64));
    std::uint32_t end = first + 1;
    while (end <= most && is_wanted(end)) ++end;
    reach_run(warp, operation, first, end);
    first = end;
  }
}

void SharedOperand::reach_run(Warp& warp, const Operation& operation, std::uint32_t first,
                              std::uint32_t end) {
  const std::byte* const from = warp.reach_asynchronous(operation, Queue::matrix, ptx::Space::shared,
                                                        window::shared + std::uint64_t{first} * chunk_bytes,
                                                        (end - first) * chunk_bytes, Access::read);
  if (from == nullptr) {
    for (std::uint32_t chunk = first; chunk < end; ++chunk)
      reached_[chunk / 64] &= ~(std::uint64_t{1} << chunk % 64);
  } else if (anchor_ == nullptr) {
    anchor_ = from;
    anchor_address_ = static_cast<std::ptrdiff_t>(first) * static_cast<std::ptrdiff_t>(chunk_bytes);
  }
}

}  // namespace weft::simulator::matrix
