// Names in a module that other programs are linked with. Only .cpp files of this folder include this header,
// because it brings LLVM's.
#pragma once

#include <llvm/IR/Module.h>
#include <weft/backends/llvm/assembly_symbols.h>

namespace weft::llvm_backend {

/// Gives everything that the module defines a name that begins with the entry's. Sums that are assembly of
/// their own have their names in the module's text, too.
void name_symbols(llvm::Module& module, const AssemblySymbols& symbols);

}  // namespace weft::llvm_backend
