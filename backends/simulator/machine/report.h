// What a simulated launch has to tell: what is wrong, and counts of what it did.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::simulator {

/// One thing that is wrong, at one instruction.
struct Finding {
  std::string kind;         ///< "race", "out of bounds", ... as docs/simulator.md lists them
  std::string text;         ///< what happened, with the other party where there is one
  int line = 0;             ///< line of the PTX
  std::string instruction;  ///< "st.shared.f32"
  std::array<std::uint32_t, 3> block{};
  int warp = 0;
  int lane = -1;              ///< -1: the warp as a whole
  std::uint64_t address = 0;  ///< 0: no memory is involved
  std::string buffer;         ///< its name, as the PTX or the kernel's caller gives it; empty where not known
  std::string place;          ///< "B_shared + 128 bytes"
  std::string origin;         ///< the step of the schedule that made the buffer; empty where not known
  std::uint64_t count = 1;    ///< how often it happened at this instruction
};

/// What one PTX instruction cost in memory, over all simulated warps.
struct InstructionCounts {
  int line = 0;
  std::string instruction;
  std::uint64_t executions = 0;     ///< warps
  std::uint64_t shared_passes = 0;  ///< one without bank conflicts and up to 4 bytes a lane
  std::uint64_t least_passes = 0;   ///< what its bytes need at least
  std::uint64_t sectors = 0;        ///< pieces of 32 bytes of global memory
  std::uint64_t least_sectors = 0;
};

struct LaunchReport {
  std::vector<Finding> findings;
  std::vector<InstructionCounts> memory;  ///< instructions that touch shared or global memory, by line
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;
  std::uint64_t blocks = 0;  ///< simulated; fewer than the grid's where a sample was asked for

  bool clean() const { return findings.empty(); }
  std::string text() const;  ///< for people, findings first
};

}  // namespace weft::simulator
