// Memory of a device, owned.
#pragma once

#include <weft/backends/runtime/device.h>
#include <weft/dsl/errors.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace weft {

/// Bytes on a device, freed with the object. On the CPU plain host memory aligned to 64 bytes; on a CUDA
/// device plain device memory of its primary context. Not zeroed.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  /// RuntimeError when the device cannot give so much. No bytes is no memory and a null address.
  DeviceMemory(const Device& device, std::size_t bytes, CallPlace place = {});
  /// A copy of `values` on the device.
  template <class T>
  DeviceMemory(const Device& device, std::span<const T> values, CallPlace place = {})
      : DeviceMemory(device, values.size_bytes(), place) {
    static_assert(std::is_trivially_copyable_v<T>);
    upload(values.data(), values.size_bytes(), 0, place);
  }
  template <class T>
  DeviceMemory(const Device& device, const std::vector<T>& values, CallPlace place = {})
      : DeviceMemory(device, std::span<const T>(values), place) {}
  /// Memory of somebody else, who keeps it as long as this is used.
  static DeviceMemory borrowed(const Device& device, std::uint64_t address, std::size_t bytes);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;

  std::size_t bytes() const { return bytes_; }
  std::uint64_t address() const { return address_; }
  void* data() const { return reinterpret_cast<void*>(address_); }  ///< a host pointer only on the CPU

  /// Copies `bytes` bytes to or from `offset`. They have arrived when it returns. UserError when they do not
  /// fit. A kernel that writes the memory must be waited for first, unless it ran in the default stream.
  void upload(const void* source, std::size_t bytes, std::size_t offset = 0, CallPlace place = {});
  void download(void* target, std::size_t bytes, std::size_t offset = 0, CallPlace place = {}) const;
  /// All bytes become `pattern`.
  void fill(std::uint8_t pattern);
  /// Fills with 0xFF, which is NaN in every floating type and -1 in every integer type: an output that a
  /// kernel forgot to write shows.
  void poison();

  /// All of it as elements of T.
  template <class T>
  std::vector<T> to_vector() const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> values(bytes_ / sizeof(T));
    download(values.data(), values.size() * sizeof(T));
    return values;
  }

 private:
  void check_range(const char* what, std::size_t bytes, std::size_t offset) const;
  void release() noexcept;

  std::optional<Device> device_;
  std::uint64_t address_ = 0;
  std::size_t bytes_ = 0;
  bool is_borrowed_ = false;
};

}  // namespace weft
