#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/device.h>

#include <algorithm>
#include <array>

namespace weft {
namespace {

struct Device {
  int sm;
  double half_operations_a_second;  ///< dense products with f32 sums, as its data sheet says
  Ceilings rates;                   ///< rates for f32
};

/// By its data sheet, at its boost clock; and what a multiprocessor of an H200 moves in a cycle.
constexpr Device of_data_sheet(int sm, std::string_view name, std::int64_t multiprocessors,
                               double cycles_a_second, double bytes_a_second, double operations_a_second,
                               double half_operations_a_second, std::int64_t l2_bytes) {
  constexpr double l2_bytes_a_cycle = 38, shared_bytes_a_cycle = 128;
  const double cycles = static_cast<double>(multiprocessors) * cycles_a_second;
  return {sm,
          half_operations_a_second,
          {.bytes_a_second = bytes_a_second,
           .operations_a_second = operations_a_second,
           .tensor_operations_a_second = half_operations_a_second,
           .l2_bytes_a_second = l2_bytes_a_cycle * cycles,
           .shared_bytes_a_second = shared_bytes_a_cycle * cycles,
           .store_bytes_a_second = bytes_a_second,
           .cycles_a_second = cycles_a_second,
           .launch_microseconds = 2,
           .multiprocessors = multiprocessors,
           .l2_bytes = l2_bytes,
           .device = name}};
}

constexpr Device measured{90, 989e12, measured_device};

// Of the B200 and the RTX 5090 as published, of the former by others than NVIDIA (multiprocessors, clock, L2,
// of which there are several numbers). Its f16 is that of tcgen05.mma, more than the mma.sync of kernels for
// sm_100. Nothing was measured on either.
constexpr std::array devices{
    of_data_sheet(70, "NVIDIA V100", 80, 1.53e9, 900e9, 15.7e12, 125e12, 6'000'000),
    of_data_sheet(75, "NVIDIA T4", 40, 1.59e9, 320e9, 8.1e12, 65e12, 4'000'000),
    of_data_sheet(80, "NVIDIA A100 40 GB", 108, 1.41e9, 1555e9, 19.5e12, 312e12, 40'000'000),
    of_data_sheet(86, "NVIDIA RTX 3090", 82, 1.70e9, 936e9, 35.6e12, 71e12, 6'000'000),
    of_data_sheet(87, "NVIDIA Jetson AGX Orin", 16, 1.30e9, 205e9, 5.3e12, 43e12, 4'000'000),
    of_data_sheet(89, "NVIDIA RTX 4090", 128, 2.52e9, 1008e9, 82.6e12, 165e12, 72'000'000),
    measured,
    of_data_sheet(100, "NVIDIA B200", 148, 1.965e9, 8000e9, 75e12, 2250e12, 126'000'000),
    of_data_sheet(120, "NVIDIA RTX 5090", 170, 2.41e9, 1792e9, 104.8e12, 209.5e12, 96'000'000),
};

/// One core of an AMD EPYC 9R14, measured (docs/measurements/cpu.md): an addition of 16 products a cycle; the
/// caches are the first two, the memory is what lies behind them.
constexpr Ceilings core{.bytes_a_second = 21e9,
                        .operations_a_second = 118e9,
                        .tensor_operations_a_second = 118e9,
                        .l2_bytes_a_second = 118e9,
                        .shared_bytes_a_second = 236e9,
                        .store_bytes_a_second = 60e9,
                        .cycles_a_second = 3.7e9,
                        .launch_microseconds = 0.5,
                        .multiprocessors = 1,
                        .l2_bytes = 1'000'000,
                        .third_cache_bytes = 24'000'000,
                        .device = "a core with AVX-512"};

/// Tensor cores compute in 16 bits; f32 stays on the units that keep its precision.
Ceilings rates_of(const Device& device, DType dtype) {
  Ceilings rates = device.rates;
  if (is_half(dtype)) rates.operations_a_second = device.half_operations_a_second;
  return rates;
}

}  // namespace

Ceilings ceilings_of(DType dtype) {
  return rates_of(measured, dtype);
}

Ceilings ceilings_of(DType dtype, const Target& target) {
  if (!target.is_gpu()) return core;
  const auto* const found = std::ranges::find(devices, target.sm, &Device::sm);
  return rates_of(found == devices.end() ? measured : *found, dtype);
}

}  // namespace weft
