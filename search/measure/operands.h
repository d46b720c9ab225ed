// The operands of a workload on a device, in the layouts that libraries take.
#pragma once

#include <weft/backends/runtime/device.h>
#include <weft/backends/runtime/memory.h>
#include <weft/search/measure/workload.h>

namespace weft {

/// Each is uploaded when it is first asked for, and then kept. Libraries share the output, which is therefore
/// read back before the next one writes it.
class Operands {
 public:
  Operands(const Device& device, const Workload& workload) : device_(device), workload_(workload) {}

  const Device& device() const { return device_; }
  const Workload& workload() const { return workload_; }

  /// All elements, the pruned ones as zeros; of a convolution in groups, [filters, channels of a group, …].
  std::uint64_t dense_weights() const;
  std::uint64_t b() const;
  std::uint64_t c() const;
  std::uint64_t row_begin() const;  ///< CSR: 32-bit offsets
  std::uint64_t column() const;     ///< CSR: 32-bit columns
  std::uint64_t values() const;     ///< CSR
  std::uint64_t b_along_k() const;  ///< [n, k]; products only
  /// The same with channels last; convolutions only.
  std::uint64_t dense_weights_channels_last() const;
  std::uint64_t b_channels_last() const;

  void poison_c() const;
  Array download_c() const;
  Array download_c_channels_last() const;  ///< brought to the order of the workload's output

 private:
  std::uint64_t uploaded(DeviceMemory& memory, const void* data, std::size_t bytes) const;

  Device device_;
  const Workload& workload_;
  mutable DeviceMemory dense_, b_, c_, row_begin_, column_, values_, dense_last_, b_last_, b_along_k_;
};

/// Images [b, c, y, x] in a layout, and back; elements are copied bit for bit. Of four dimensions.
Array laid_out(const Array& images, ImageLayout layout);
Array channels_first(const Array& images, ImageLayout layout);
/// [outer, channels, pixels] as [outer, pixels, channels]; elements are copied bit for bit.
Array channels_last(const Array& array, std::int64_t outer, std::int64_t channels, std::int64_t pixels);

}  // namespace weft
