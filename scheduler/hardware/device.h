// What devices can do at most: the rates that bound any kernel. All of them stand here and nowhere else.
#pragma once

#include <weft/dsl/dtype.h>
#include <weft/scheduler/hardware/target.h>

#include <cstdint>
#include <string_view>

namespace weft {

/// Rates of a device. The numbers below are an H200's, measured (docs/measurements.md).
struct Ceilings {
  double bytes_a_second = 4.3e12;              ///< what its memory moves, measured by a copy
  double operations_a_second = 66.9e12;        ///< what its f32 units do
  double tensor_operations_a_second = 880e12;  ///< f16 wgmma without loads, measured: the clock falls
  double share_of_mma = 0.62;                  ///< what warps do of what warpgroups do; sm_90a
  double l2_bytes_a_second = 9.8e12;           ///< rows of 512 bytes gathered from the L2, measured
  double shared_bytes_a_second = 29.6e12;      ///< 128 bytes a cycle and multiprocessor
  double store_bytes_a_second = 4.5e12;        ///< results that leave tiles; nothing was seen to hide them
  double cycles_a_second = 1.98e9;             ///< the clock of multiprocessors whose tensor cores rest
  double launch_microseconds = 1;              ///< an empty kernel of a block a multiprocessor, in a graph
  double copied_a_clock = 40;  ///< bytes that a multiprocessor copies to shared memory, of tiles
  std::int64_t multiprocessors = 132;
  std::int64_t l2_bytes = 50'000'000;  ///< what of the operands stays there between launches
  std::int64_t third_cache_bytes = 0;  ///< a CPU has it: what stays of weights that are read once a call
  std::string_view device = "NVIDIA H200";
};

/// The device that recipes were measured on: what they choose, on every target, is for its multiprocessors.
inline constexpr Ceilings measured_device{};
inline constexpr std::int64_t measured_processors = measured_device.multiprocessors;

/// Types of 16 bits, which tensor cores multiply.
constexpr bool is_half(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16;
}
/// These, and those of a byte.
constexpr bool is_of_tensor_cores(DType dtype) {
  return is_half(dtype) || is_factor_of_a_byte(dtype);
}

/// Those of an H200.
Ceilings ceilings_of(DType dtype);

/// Those of the device that stands for an architecture: V100, T4, A100, RTX 3090, Jetson AGX Orin, RTX 4090,
/// H200, B200, RTX 5090. Rates of other devices than the H200 are those of their data sheets, and where there
/// are none, what an H200 does in a cycle. For the CPU those of one core.
Ceilings ceilings_of(DType dtype, const Target& target);

}  // namespace weft
