// PTX kernels whose simulation is timed: of each kind of work that emitted kernels do.
#pragma once

#include <weft/backends/runtime/module.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::bench {

struct SimulatedKernel {
  std::string ptx;  ///< its entry is `kernel`; parameters are 64-bit addresses
  LaunchShape shape;
  std::vector<std::vector<std::uint32_t>> inputs;  ///< 32-bit words of the first buffers
  std::size_t output_words = 0;                    ///< 32-bit words of the last buffer
};

/// C[256 x 128] = A * B[256 x 128], f32: tiles of 64 x 16 in shared memory, four rows a thread, barriers.
SimulatedKernel tiled_product();
/// C[512 x 32] = A * B, f32: a warp a row of a csr matrix, a lane a column, loads of rows of B that indices
/// name.
SimulatedKernel sparse_gather();
/// 16 bytes a thread and turn from one buffer to another.
SimulatedKernel copy();
/// mma.sync.m16n8k16 on f16 from shared memory by ldmatrix, four a turn.
SimulatedKernel matrix_loop();

}  // namespace weft::bench
