// Programs that LLVM would not be done with in reasonable time are refused, with what makes them long and a
// step can change.
#pragma once

#include <llvm/IR/Module.h>
#include <weft/scheduler/passes/lower.h>

namespace weft::llvm_backend {

/// UserError for a GPU program that would be written out to more than LLVM can look at in a minute. Straight
/// lines, which it goes through once, are not asked.
void check_length_before(const ThreadProgram& program);

/// The same of what was written out, for a CPU too; `module` holds the program alone.
void check_length_after(const ThreadProgram& program, const llvm::Module& module);

/// UserError for a program whose vectorized loops choose so often that writing it takes long.
void check_choices(const ThreadProgram& program);

/// UserError for a program of a CPU, whose code is long where lanes of a vector take different branches or
/// write to places that lie apart.
void check_masks(const ThreadProgram& program, const llvm::Module& module);

}  // namespace weft::llvm_backend
