#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/device.h>

namespace weft {
namespace {

/// What data sheets say: dense f16 products with f32 sums, and f32 without tensor cores.
struct DataSheet {
  int sm;
  std::string_view device;
  std::int64_t multiprocessors;
  double cycles_a_second;  ///< boost
  double bytes_a_second;
  double operations_a_second;
  double tensor_operations_a_second;
  std::int64_t l2_bytes;
};

constexpr DataSheet data_sheets[] = {
    {75, "NVIDIA T4", 40, 1.59e9, 320e9, 8.1e12, 65e12, 4'000'000},
    {80, "NVIDIA A100 40 GB", 108, 1.41e9, 1555e9, 19.5e12, 312e12, 40'000'000},
    {86, "NVIDIA RTX 3090", 82, 1.70e9, 936e9, 35.6e12, 71e12, 6'000'000},
    {87, "NVIDIA Jetson AGX Orin", 16, 1.30e9, 205e9, 5.3e12, 43e12, 4'000'000},
    {89, "NVIDIA L4", 58, 2.04e9, 300e9, 30.3e12, 121e12, 48'000'000},
};

constexpr double l2_bytes_a_cycle = 38, shared_bytes_a_cycle = 128;  ///< what a multiprocessor moves

}  // namespace

Ceilings ceilings_of(DType dtype) {
  Ceilings ceilings;
  // Tensor cores compute in 16 bits; f32 stays on the units that keep its precision.
  if (is_half(dtype)) ceilings.operations_a_second = 989e12;
  return ceilings;
}

Ceilings ceilings_of(DType dtype, const Target& target) {
  internal_check(target.is_gpu(), "rates of a target that is no GPU");
  for (const DataSheet& sheet : data_sheets) {
    if (sheet.sm != target.sm) continue;
    Ceilings ceilings;
    const double cycles = static_cast<double>(sheet.multiprocessors) * sheet.cycles_a_second;
    ceilings.bytes_a_second = sheet.bytes_a_second;
    ceilings.operations_a_second =
        is_half(dtype) ? sheet.tensor_operations_a_second : sheet.operations_a_second;
    ceilings.tensor_operations_a_second = sheet.tensor_operations_a_second;
    ceilings.l2_bytes_a_second = l2_bytes_a_cycle * cycles;
    ceilings.shared_bytes_a_second = shared_bytes_a_cycle * cycles;
    ceilings.store_bytes_a_second = sheet.bytes_a_second;
    ceilings.cycles_a_second = sheet.cycles_a_second;
    ceilings.launch_microseconds = 2;
    ceilings.multiprocessors = sheet.multiprocessors;
    ceilings.l2_bytes = sheet.l2_bytes;
    ceilings.device = sheet.device;
    return ceilings;
  }
  return ceilings_of(dtype);
}

}  // namespace weft
