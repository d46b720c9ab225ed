// PTX to machine code by the toolkit's assembler, for its report and to spare the driver the work. A machine
// without a toolkit loads the PTX itself.
#pragma once

#include <weft/backends/cuda/ptxas_report.h>

#include <filesystem>
#include <span>
#include <string>

namespace weft::cuda {

struct AssembleOptions {
  std::string architecture = "sm_90a";
  int optimization = 3;
  int most_registers = 0;  ///< a thread; 0 leaves it to the code
  bool line_information = false;
  bool relocatable = false;  ///< a part of a kernel, for link(); most_registers then counts for functions
  double limit_seconds = 300;
  std::filesystem::path ptxas;  ///< empty for the one that toolkit() found
};

struct Assembled {
  std::string cubin;
  PtxasReport report;
  double seconds = 0;
};

/// True when there is a ptxas on this machine.
bool can_assemble();

/// True when there is also an nvlink.
bool can_link();

/// Relocatable parts, each the cubin of an Assembled, as one cubin; the report has what the whole kernel
/// needs. RuntimeError when there is no nvlink, and with its words when it refuses the parts.
Assembled link(std::span<const std::string> parts, const AssembleOptions& options = {});

/// Assembles one PTX text. UserError for an architecture that is no such name. RuntimeError when there is no
/// ptxas, when it takes longer than its limit, and when it refuses the text: then with its own words and the
/// lines of PTX.
Assembled assemble(const std::string& ptx, const AssembleOptions& options = {});

}  // namespace weft::cuda
