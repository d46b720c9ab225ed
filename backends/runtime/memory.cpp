#include <weft/backends/runtime/memory.h>

#include <string>
#include <utility>

namespace weft {

DeviceMemory::DeviceMemory(const Device& device, std::size_t bytes, CallPlace place)
    : device_(device), bytes_(bytes) {
  user_call(place, [&] {
    if (bytes > 0) address_ = device.implementation(place).allocate(bytes);
  });
}

DeviceMemory DeviceMemory::borrowed(const Device& device, std::uint64_t address, std::size_t bytes) {
  DeviceMemory memory;
  memory.device_ = device;
  memory.address_ = address;
  memory.bytes_ = bytes;
  memory.is_borrowed_ = true;
  return memory;
}

DeviceMemory::~DeviceMemory() {
  release();
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : device_(std::move(other.device_)),
      address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)),
      is_borrowed_(std::exchange(other.is_borrowed_, false)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  if (this != &other) {
    release();
    device_ = std::move(other.device_);
    address_ = std::exchange(other.address_, 0);
    bytes_ = std::exchange(other.bytes_, 0);
    is_borrowed_ = std::exchange(other.is_borrowed_, false);
  }
  return *this;
}

void DeviceMemory::release() noexcept {
  if (address_ != 0 && !is_borrowed_) device_->implementation().release(address_);
  address_ = 0;
}

void DeviceMemory::upload(const void* source, std::size_t bytes, std::size_t offset, CallPlace place) {
  user_call(place, [&] {
    check_range("copying to device memory", bytes, offset);
    if (bytes > 0) device_->implementation().upload(address_ + offset, source, bytes);
  });
}

void DeviceMemory::download(void* target, std::size_t bytes, std::size_t offset, CallPlace place) const {
  user_call(place, [&] {
    check_range("copying from device memory", bytes, offset);
    if (bytes > 0) device_->implementation().download(target, address_ + offset, bytes);
  });
}

void DeviceMemory::fill(std::uint8_t pattern) {
  if (bytes_ > 0) device_->implementation().fill(address_, pattern, bytes_);
}

void DeviceMemory::poison() {
  if (bytes_ > 0) device_->implementation().poison(address_, bytes_);
}

void DeviceMemory::check_range(const char* what, std::size_t bytes, std::size_t offset) const {
  if (offset <= bytes_ && bytes <= bytes_ - offset) return;
  throw UserError(what, std::to_string(bytes) + " bytes at byte " + std::to_string(offset),
                  "a range inside the " + std::to_string(bytes_) + " bytes of this memory; or a memory of " +
                      std::to_string(bytes + offset) + ", since its size is one in bytes too");
}

}  // namespace weft
