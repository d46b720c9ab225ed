// CUDA C++ to machine code or PTX, by whichever compiler this machine has.
#pragma once

#include <weft/backends/cuda/ptxas_report.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace weft::cuda {

enum class Output : std::uint8_t { cubin, ptx };
enum class Compiler : std::uint8_t { automatic, nvrtc, nvcc };

struct CompileOptions {
  std::string architecture = "sm_90a";
  Output output = Output::cubin;
  Compiler compiler = Compiler::automatic;      ///< automatic: NVRTC, else nvcc
  std::string file_name = "kernel.cu";          ///< as it stands in messages
  std::vector<std::string> defines;             ///< "NAME" or "NAME=VALUE"
  std::vector<std::filesystem::path> includes;  ///< before the toolkit's own
  int most_registers = 0;                       ///< a thread; 0 leaves it to the code
  bool line_information = false;
  double limit_seconds = 300;  ///< then the compiler, which works in a process of its own, is ended
};

struct Compiled {
  std::string image;     ///< cubin bytes or PTX text
  PtxasReport report;    ///< empty for PTX
  std::string log;       ///< everything the compiler said, its warnings too
  std::string compiler;  ///< "NVRTC 13.0", "nvcc 13.0.88"
  double seconds = 0;
};

/// The compiler that `compile` would use. `automatic` means there is none, and `sentence` says so; otherwise
/// it names the compiler and its version.
struct CompilerStatus {
  Compiler compiler = Compiler::automatic;
  std::string sentence;
  bool found() const { return compiler != Compiler::automatic; }
};
CompilerStatus compiler_status(Compiler wanted = Compiler::automatic);

/// Compiles one source. Entry points want extern "C" to keep their names. UserError for an architecture that
/// is no such name. RuntimeError when there is no compiler, when it takes longer than its limit, and when it
/// refuses the source: then with its own words.
Compiled compile(const std::string& source, const CompileOptions& options = {});

}  // namespace weft::cuda
