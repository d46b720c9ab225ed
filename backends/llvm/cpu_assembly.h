// Thread-level programs as assembly that programs without weft are linked with.
#pragma once

#include <weft/backends/llvm/assembly_symbols.h>
#include <weft/scheduler/passes/lower.h>

#include <cstdint>
#include <string>

namespace weft::llvm_backend {

/// What a kernel is for a program that has neither LLVM nor weft. Both functions of AssemblySymbols are as
/// Emitted says, and hidden: the linker finds them, other libraries do not.
struct CpuAssembly {
  /// GNU assembly for ELF, position-independent, without a line about its file or the stack. Texts
  /// of other entries can stand in the same file.
  std::string text;
  std::int64_t scratch_bytes = 0;         ///< local arrays too large for the stack
  std::int64_t worker_scratch_bytes = 0;  ///< the same for one thread of a parallel loop
};

/// For a processor that this machine need not be: a level ("x86-64-v3", "aarch64"), or any of x86-64 that
/// LLVM has a name for. RuntimeError where the LLVM of this weft was built without its architecture.
CpuAssembly assembly_for(const ThreadProgram& program, const std::string& processor,
                         const AssemblySymbols& symbols);

}  // namespace weft::llvm_backend
