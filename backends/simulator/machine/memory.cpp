#include <weft/backends/simulator/machine/memory.h>
#include <weft/dsl/errors.h>

#include <algorithm>

namespace weft::simulator {

ptx::Space space_of(std::uint64_t address) {
  if (address >= window::global) return ptx::Space::global;
  if (address >= window::end_of_small) return ptx::Space::none;
  if (address >= window::parameter) return ptx::Space::parameter;
  if (address >= window::constant) return ptx::Space::constant;
  if (address >= window::local) return ptx::Space::local;
  const bool is_shared = address >= window::shared && address < window::cluster_end;
  return is_shared ? ptx::Space::shared : ptx::Space::none;
}

Region::Region(std::string called, std::uint64_t at, std::size_t size, std::size_t granule)
    : name(std::move(called)),
      address(at),
      bytes(size),
      data(std::make_unique_for_overwrite<std::byte[]>(size)),
      written(size / 64 + 1),
      shadow(size, granule) {}

void Region::mark_written(std::size_t offset, std::size_t count) {
  while (count > 0) {
    const std::size_t bit = offset % 64;
    const std::size_t here = std::min<std::size_t>(count, 64 - bit);
    const std::uint64_t bits = here == 64 ? ~std::uint64_t{0} : ((std::uint64_t{1} << here) - 1) << bit;
    written[offset / 64] |= bits;
    offset += here;
    count -= here;
  }
}

void Region::mark_unwritten(std::size_t offset, std::size_t count) {
  for (std::size_t i = offset; i < offset + count; ++i) written[i / 64] &= ~(std::uint64_t{1} << i % 64);
}

std::size_t Region::search_unwritten(std::size_t offset, std::size_t count) const {
  for (std::size_t i = 0; i < count; ++i) {
    if ((written[(offset + i) / 64] >> (offset + i) % 64 & 1) == 0) return i;
  }
  return count;
}

std::uint64_t GlobalMemory::allocate(std::size_t bytes, std::string name) {
  constexpr std::size_t most_slots = 1024;
  if (bytes >= window::global_stride)
    throw RuntimeError("the simulator has no buffers of " + std::to_string(bytes) + " bytes");
  std::size_t slot = regions_.size();
  if (slot >= most_slots)
    slot = static_cast<std::size_t>(
        std::ranges::find_if(regions_, [](const auto& r) { return r == nullptr; }) - regions_.begin());
  if (slot == regions_.size()) regions_.push_back(nullptr);
  const std::uint64_t address = window::global + slot * window::global_stride;
  if (name.empty()) name = "buffer " + std::to_string(slot);
  try {
    // Cells of single bytes at first; a launch may make them coarser.
    regions_[slot] = std::make_unique<Region>(std::move(name), address, bytes, 1);
  } catch (const std::bad_alloc&) {
    throw RuntimeError("no memory for a simulated buffer of " + std::to_string(bytes) + " bytes");
  }
  return address;
}

void GlobalMemory::release(std::uint64_t address) noexcept {
  if (Region* found = find(address); found != nullptr && found->address == address)
    regions_[(address - window::global) / window::global_stride].reset();
}

void GlobalMemory::begin_launch(std::size_t granule) {
  for (const auto& region : regions_) {
    if (region != nullptr) region->shadow = Shadow(region->bytes, granule);
  }
}

Region& GlobalMemory::region(std::uint64_t address, std::size_t bytes) const {
  Region* found = find(address);
  internal_check(found != nullptr && address - found->address + bytes <= found->bytes,
                 "a range outside the simulated device's buffers");
  return *found;
}

}  // namespace weft::simulator
