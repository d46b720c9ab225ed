// Small kernels for tests of the simulated machine: a body in a frame of declarations, two buffers, and what
// the simulator says of the launch.
#pragma once

#include <weft/backends/simulator/device.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft::simulator::machine_tests {

/// The frame: registers %p, %r, %l, %f (and %h for 16 bits), 4096 bytes of shared memory `tile` and 64 of
/// `barrier`. %l1 is the address of `data` (256 words with their own numbers), %l2 that of `out` (256 words
/// that nobody wrote), %r1 the thread in its block, %r0 the block. `functions` stand before the kernel.
std::string framed(std::string_view body, std::string_view functions = {});
/// The lines of a text that contain `// here`.
std::set<int> marked_lines(std::string_view text);

struct Outcome {
  LaunchReport report;
  std::vector<std::uint32_t> out;
};
struct Launch {
  unsigned blocks = 1, threads = 32;
  LaunchOptions options{};
};
/// Runs a framed kernel on a device of its own.
Outcome run_ptx(const std::string& text, const Launch& launch = {});

}  // namespace weft::simulator::machine_tests
