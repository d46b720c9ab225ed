// A program as a module for a processor, before code is generated. Only .cpp files of this folder include
// this header, because it brings LLVM's.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>
#include <weft/backends/llvm/emit.h>

#include <memory>

namespace weft::llvm_backend {

/// LLVM's code generator for this machine's architecture, once for the process.
void initialize_native_target();

struct CpuModule {
  std::unique_ptr<llvm::Module> module;
  Emitted emitted;
};

/// The level of code for other programs.
inline constexpr int shipped_level = 3;

/// Checked and optimized at level 0 to 3. Where the program is so long that generating code with care would
/// take too long, the machine is told to do without.
CpuModule cpu_module(llvm::LLVMContext& context, const ThreadProgram& program, llvm::TargetMachine& machine,
                     int level);

}  // namespace weft::llvm_backend
