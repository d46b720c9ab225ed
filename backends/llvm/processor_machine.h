// LLVM's code generators for processors that need not be this machine's. Only .cpp files of this folder
// include this header, because it brings LLVM's.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

namespace weft::llvm_backend {

/// For position-independent code of a level ("x86-64-v3", "aarch64"), of any processor of x86-64 that LLVM
/// has a name for, or of this machine's ("native"). RuntimeError where the LLVM of this weft was built
/// without the architecture.
std::unique_ptr<llvm::TargetMachine> machine_for(const std::string& processor,
                                                 const llvm::TargetOptions& options = {});

}  // namespace weft::llvm_backend
