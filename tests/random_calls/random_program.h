// One program by chance: calls of the public API in the order in which a user makes them.
#pragma once

#include <cstdint>
#include <string>

#include "random_calls/calls.h"

namespace weft::test {

struct ProgramOptions {
  std::string folder;  ///< for files of the programs
  /// A CUDA device runs the kernels of GPUs, in place of the simulator; other programs are passed over.
  bool on_cuda = false;
};

/// Makes the calls of the program of that seed.
void run_random_program(std::uint64_t seed, const ProgramOptions& options, Calls& calls);

/// A kernel: algorithm, weights, schedule, code, launches on this processor and in the simulator.
void run_kernel_program(class Dice& dice, const ProgramOptions& options, Calls& calls);
/// Everything else: formats, pruning, files, packages, spaces, searches, databases, empty handles.
void run_other_program(class Dice& dice, const ProgramOptions& options, Calls& calls);

}  // namespace weft::test
