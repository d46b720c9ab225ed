// Thread-level programs as machine code of this processor, compiled in the process.
#pragma once

#include <weft/scheduler/passes/lower.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace weft::llvm_backend {

struct CpuOptions {
  /// "native", or on x86: "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4".
  std::string processor = "native";
  int optimization = 3;  ///< 0 to 3
};

/// Compiled code. Copies share it; the last one frees it.
class CpuCode {
 public:
  /// Runs the program, parallel loops by at most `threads` threads (0: one a core). `buffers` are those of
  /// the program followed by its workspaces, `scalars` and `extents` in the program's order. UserError when
  /// their number is wrong, an extent is below 1, a buffer is null or not aligned to 16 bytes, or a buffer is
  /// too large for the program's indices; RuntimeError when memory for local arrays cannot be had. Several
  /// threads may run the same code at once.
  void run(std::span<void* const> buffers, std::span<const double> scalars,
           std::span<const std::int64_t> extents, int threads) const;

  std::string assembly() const;  ///< made when asked for
  std::string llvm_ir() const;   ///< after optimization; made when asked for
  const ThreadProgram& program() const;

 private:
  friend CpuCode compile_for_cpu(const ThreadProgram& program, const CpuOptions& options);
  struct State;
  std::shared_ptr<State> state_;
};

/// UserError for a processor that is no name or that this machine is not.
CpuCode compile_for_cpu(const ThreadProgram& program, const CpuOptions& options = {});

/// The processors of CpuOptions that code can run on here, "native" first.
std::span<const std::string> processors_of_this_machine();

/// LLVM's, on which the text of every code depends: "19.1.7".
std::string_view version();

}  // namespace weft::llvm_backend
