#include <weft/backends/simulator/timing/parameters.h>
#include <weft/scheduler/hardware/device.h>

#include <algorithm>
#include <vector>

namespace weft::simulator {
namespace {

constexpr TimeParameters table[] = {
    {.sm = 70,
     .machine = "V100",
     .gigahertz = 1.53,
     .single_lanes = 64,
     .half_lanes = 64,
     .wide_lanes = 32,
     .tensor_flops = 1024,
     .special_latency = 20,
     .wide_latency = 8,
     .tensor_latency = 54,
     .shared_latency = 19,
     .l1_latency = 28,
     .l2_latency = 193,
     .barrier_latency = 20,
     .l1_bytes = 128 * 1024,
     .l2_bytes_per_clock = 32,
     .l2_gigabytes_per_second = 2155,
     .memory_gigabytes_per_second = 800,
     .launch_microseconds = 1.5,
     .sources =
         "NVIDIA Tesla V100 white paper (80 multiprocessors of 8 tensor cores, 900 GB/s at most, boost "
         "clock); CUDA C++ Programming Guide; Jia et al. 2018, Dissecting the NVIDIA Volta GPU "
         "Architecture (latencies, L2); Raihan et al. 2019, Modeling Deep Learning Accelerator Enabled "
         "GPUs (tensor cores)"},
    {.sm = 75,
     .machine = "T4",
     .gigahertz = 1.35,
     .single_lanes = 64,
     .half_lanes = 64,
     .wide_lanes = 2,
     .tensor_flops = 1024,
     .special_latency = 20,
     .wide_latency = 48,
     .tensor_latency = 22,
     .shared_latency = 23,
     .l1_latency = 32,
     .l2_latency = 190,
     .barrier_latency = 20,
     .l1_bytes = 96 * 1024,
     .l2_bytes_per_clock = 32,
     .l2_gigabytes_per_second = 1200,
     .memory_gigabytes_per_second = 290,
     .launch_microseconds = 1.5,
     .sources = "CUDA C++ Programming Guide (arithmetic throughput); Jia et al. 2019, Dissecting the NVidia "
                "Turing T4"},
    {.sm = 80,
     .machine = "A100",
     .gigahertz = 1.41,
     .single_lanes = 64,
     .half_lanes = 128,
     .wide_lanes = 32,
     .tensor_flops = 2048,
     .special_latency = 18,
     .wide_latency = 8,
     .tensor_latency = 26,
     .shared_latency = 23,
     .l1_latency = 33,
     .l2_latency = 210,
     .barrier_latency = 20,
     .l1_bytes = 192 * 1024,
     .l2_bytes_per_clock = 48,
     .l2_gigabytes_per_second = 4500,
     .memory_gigabytes_per_second = 1400,
     .launch_microseconds = 1.5,
     .sources =
         "CUDA C++ Programming Guide; Abdelkhalik et al. 2022, Demystifying the Nvidia Ampere architecture"},
    {.sm = 89,
     .machine = "RTX 4090",
     .gigahertz = 2.52,
     .single_lanes = 128,
     .half_lanes = 128,
     .wide_lanes = 2,
     .tensor_flops = 512,
     .special_latency = 18,
     .wide_latency = 48,
     .tensor_latency = 26,
     .shared_latency = 23,
     .l1_latency = 33,
     .l2_latency = 210,
     .barrier_latency = 20,
     .l1_bytes = 128 * 1024,
     .l2_bytes_per_clock = 48,
     .l2_gigabytes_per_second = 4500,
     .memory_gigabytes_per_second = 907,
     .launch_microseconds = 1.5,
     .sources =
         "CUDA C++ Programming Guide (arithmetic throughput); NVIDIA Ada GPU Architecture white paper "
         "(128 multiprocessors, 2.52 GHz, 165 TFLOPS of f16 with f32 sums, 1008 GB/s, 72 MB of L2); of "
         "the memory's rate nine tenths, as an A100 moves, whose latencies and rates of the L2 these "
         "are too. No such GPU was measured"},
    {.sm = 90,
     .machine = "H200",
     .gigahertz = 1.90,
     .single_lanes = 128,
     .half_lanes = 128,
     .wide_lanes = 64,
     .tensor_flops = 4096,
     .special_latency = 18,
     .wide_latency = 8,
     .tensor_latency = 32,
     .shared_latency = 29,
     .l1_latency = 38,
     .l2_latency = 200,
     .barrier_latency = 25,
     .l1_bytes = 256 * 1024,
     .l2_bytes_per_clock = 40,
     .l2_gigabytes_per_second = 5500,
     .memory_gigabytes_per_second = 4240,
     .launch_microseconds = 1.3,
     .sources =
         "CUDA C++ Programming Guide; Luo et al. 2024, Benchmarking and Dissecting the Nvidia Hopper GPU "
         "Architecture; own measurements on an H200 (docs/measurements.md)"},
};

/// A device that was not measured: its clock, nine tenths of its memory's rate, and all else as the nearest
/// has it.
struct Unmeasured {
  int sm;
  int nearest;
  std::string_view machine;
  double gigahertz;
  double memory_gigabytes_per_second;
  std::string_view sources;
};

constexpr Unmeasured unmeasured[] = {
    {100, 90, "B200", 1.90, 7200,
     "NVIDIA HGX B200 data sheet (8 TB/s); all else is an H200's. No such GPU was measured"},
    {120, 89, "RTX 5090", 2.41, 1613,
     "NVIDIA RTX Blackwell GPU Architecture white paper (2.41 GHz, 1792 GB/s); all else is an RTX 4090's, "
     "whose "
     "rate of f16 with f32 sums it has. No such GPU was measured"},
};

/// The rows, with what scheduler/hardware/device.cpp says of the same devices.
std::vector<TimeParameters> whole_table() {
  std::vector<TimeParameters> rows(std::begin(table), std::end(table));
  for (const Unmeasured& device : unmeasured) {
    TimeParameters row = *std::ranges::find(table, device.nearest, &TimeParameters::sm);
    row.sm = device.sm;
    row.machine = device.machine;
    row.gigahertz = device.gigahertz;
    row.memory_gigabytes_per_second = device.memory_gigabytes_per_second;
    row.sources = device.sources;
    rows.push_back(row);
  }
  for (TimeParameters& row : rows) {
    const Ceilings device = ceilings_of(DType::f32, *std::ranges::find(targets(), row.sm, &Target::sm));
    row.multiprocessors = static_cast<int>(device.multiprocessors);
    row.l2_bytes = static_cast<double>(device.l2_bytes);
  }
  return rows;
}

}  // namespace

const TimeParameters& time_parameters_of(int sm) {
  static const std::vector<TimeParameters> rows = whole_table();
  const TimeParameters* best = &rows.front();
  for (const TimeParameters& row : rows) {
    if (row.sm <= sm) best = &row;
  }
  return *best;
}

}  // namespace weft::simulator
