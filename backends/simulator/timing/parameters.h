// What the time model knows of each architecture: one table.
#pragma once

#include <string_view>

namespace weft::simulator {

/// Rates are of one multiprocessor and clock unless they say otherwise; latencies are clocks from the issue
/// of an instruction to the issue of one that uses its result.
struct TimeParameters {
  int sm = 0;
  std::string_view machine;  ///< the product that the numbers are of
  int multiprocessors = 0;   ///< by scheduler/hardware/device.cpp, and so are l2_bytes
  double gigahertz = 0;      ///< under load
  int schedulers = 4;        ///< each issues one warp instruction a clock
  // Lanes a clock.
  double integer_lanes = 64;
  double single_lanes = 0;
  double half_lanes = 0;  ///< lanes for f16x2 and bf16x2
  double wide_lanes = 0;
  double special_lanes = 16;
  double convert_lanes = 16;
  double tensor_flops = 0;  ///< f16 with f32 sums, a clock
  // Latencies.
  double arithmetic_latency = 4.5;
  double special_latency = 0;
  double wide_latency = 0;
  double tensor_latency = 0;
  double shared_latency = 0;
  double l1_latency = 0;
  double l2_latency = 0;
  double barrier_latency = 0;
  // Bytes.
  double l1_bytes = 0;                 ///< L1 and shared memory together
  double l2_bytes = 0;                 ///< what it holds
  double l2_bytes_per_clock = 0;       ///< from L2 into one multiprocessor
  double l2_gigabytes_per_second = 0;  ///< all multiprocessors together
  double memory_gigabytes_per_second = 0;
  double launch_microseconds = 0;  ///< an empty kernel of a full grid, in a graph
  std::string_view sources;
};

/// The row of an architecture: the newest one that is not newer than `sm`.
const TimeParameters& time_parameters_of(int sm);

}  // namespace weft::simulator
