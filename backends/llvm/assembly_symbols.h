// Names that code has in programs without weft.
#pragma once

#include <string>

namespace weft::llvm_backend {

struct AssemblySymbols {
  std::string entry;  ///< the function that starts the kernel; what is local to the text begins with it, too
  std::string parallel_loop;  ///< the function that the text calls for parallel loops
};

}  // namespace weft::llvm_backend
