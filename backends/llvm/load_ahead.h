// Loads of a straight line, put some way ahead of where their values are used.
#pragma once

#include <llvm/IR/Module.h>

namespace weft::llvm_backend {

/// Moves every load `distance` loads ahead, within its block and not past anything that writes memory, waits,
/// or computes its address: that many are then under way while arithmetic runs. Each costs a register.
/// Assemblers find such an order too, in time that grows faster than the program does.
void load_ahead(llvm::Module& module, unsigned distance);

}  // namespace weft::llvm_backend
