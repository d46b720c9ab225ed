// Thread-level programs as object files that programs without weft are linked with.
#pragma once

#include <weft/backends/llvm/assembly_symbols.h>
#include <weft/scheduler/passes/lower.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::llvm_backend {

/// An array that the object carries, under a name of its own, 64 bytes apart.
struct ObjectArray {
  std::string symbol;
  std::span<const std::byte> bytes;
};

/// The bytes of an object file, position-independent. It defines `symbols.entry`, as Emitted says, the
/// arrays, and `symbols.parallel_loop`, which calls the function whose address the runtime's first word
/// holds, with the same arguments.
struct CpuObject {
  std::string bytes;
  std::int64_t scratch_bytes = 0;         ///< local arrays too large for the stack
  std::int64_t worker_scratch_bytes = 0;  ///< the same for one thread of a parallel loop
};

/// `processor`: "native" is the one of this machine. RuntimeError where this weft's LLVM has no code
/// generator for it.
CpuObject object_for(const ThreadProgram& program, const std::string& processor,
                     const AssemblySymbols& symbols, const std::vector<ObjectArray>& arrays);

}  // namespace weft::llvm_backend
