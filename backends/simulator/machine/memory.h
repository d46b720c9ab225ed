// The memory of the simulated machine: every buffer a region of its own with guards around it, what was
// written in it, and who touched it last.
#pragma once

#include <weft/backends/simulator/machine/races.h>
#include <weft/backends/simulator/ptx/module.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft::simulator {

/// One 64-bit address space, of which all but global memory fits into 32 bits, so that cvta is a move and
/// short pointers work. Shared memory: the window of the block itself, then one a rank of its cluster. What
/// lies between windows belongs to nobody.
namespace window {
constexpr std::uint64_t shared = 0x0100'0000;
constexpr std::uint64_t shared_bytes = 0x0100'0000;
constexpr std::uint64_t cluster = 0x0200'0000;
constexpr std::uint64_t cluster_end = cluster + 16 * shared_bytes;
constexpr std::uint64_t local = 0x2000'0000;
constexpr std::uint64_t constant = 0x4000'0000;
constexpr std::uint64_t parameter = 0x6000'0000;
constexpr std::uint64_t end_of_small = 0x8000'0000;
/// Global buffers stand this far apart, so a wrong index meets nobody else's memory.
constexpr std::uint64_t global = 0x1000'0000'0000;
constexpr std::uint64_t global_stride = std::uint64_t{1} << 36;
}  // namespace window

/// The space that an address of the generic space lies in; `none` between windows.
ptx::Space space_of(std::uint64_t address);

/// One piece of memory.
struct Region {
  std::string name;  ///< for messages
  std::uint64_t address = 0;
  std::size_t bytes = 0;
  std::unique_ptr<std::byte[]> data;
  std::vector<std::uint64_t> written;  ///< a bit a byte
  Shadow shadow;
  bool is_read_only = false;
  bool is_checked = true;  ///< for races; memory of one thread is not

  Region() = default;
  Region(std::string called, std::uint64_t at, std::size_t size, std::size_t granule);
  void mark_written(std::size_t offset, std::size_t count);
  void mark_unwritten(std::size_t offset, std::size_t count);
  /// The first byte of the range that nobody wrote, or `count`.
  std::size_t first_unwritten(std::size_t offset, std::size_t count) const {
    // Nearly every access is inside one word of the mask.
    const std::size_t bit = offset % 64;
    if (count <= 16 && bit + count <= 64) {
      const std::uint64_t wanted = (std::uint64_t{1} << count) - 1;
      if (((written[offset / 64] >> bit) & wanted) == wanted) return count;
    }
    return search_unwritten(offset, count);
  }

 private:
  std::size_t search_unwritten(std::size_t offset, std::size_t count) const;
};

/// The buffers of a simulated device.
class GlobalMemory {
 public:
  std::uint64_t allocate(std::size_t bytes, std::string name = {});
  /// Frees the region that starts at `address`; nothing when there is none.
  void release(std::uint64_t address) noexcept;
  /// The region whose slot the address is in (the address itself may be outside its bytes); null without one.
  Region* find(std::uint64_t address) const {
    const std::uint64_t slot = (address - window::global) / window::global_stride;
    return address < window::global || slot >= regions_.size() ? nullptr : regions_[slot].get();
  }
  /// Forgets who touched what: a launch comes after all that was before it. Cells are of `granule` bytes from
  /// now on.
  void begin_launch(std::size_t granule);
  /// The region that holds all of the range. InternalError without one: callers have checked theirs.
  Region& region(std::uint64_t address, std::size_t bytes) const;

 private:
  std::vector<std::unique_ptr<Region>> regions_;  ///< by slot; a freed slot is used again last
};

}  // namespace weft::simulator
