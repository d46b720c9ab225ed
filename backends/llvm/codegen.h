// What both targets do with a module once it is written: check, optimize, print.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

namespace weft::llvm_backend {

/// InternalError with the text of the module when LLVM finds it malformed.
void check_module(const llvm::Module& module);

/// The standard pipeline of level 0 to 3.
void optimize(llvm::Module& module, llvm::TargetMachine& machine, int level);

/// What a long program without loops needs: values in place of local arrays, none computed twice. Linear in
/// the length of the program, save for what is written to one local array.
void optimize_straight_line(llvm::Module& module, llvm::TargetMachine& machine);

/// What the code generator may spend its time on.
enum class Code { any, straight_line };

/// The text of the IR.
std::string text_of(const llvm::Module& module);

/// Assembly (for NVPTX: PTX). The module is changed on the way and of no use afterwards.
std::string assembly_of(llvm::Module& module, llvm::TargetMachine& machine, Code code = Code::any);

/// The bytes of an object file, likewise.
std::string object_of(llvm::Module& module, llvm::TargetMachine& machine);

/// Errors of LLVM as RuntimeError, "what: text".
void throw_if(llvm::Error error, const std::string& what);

}  // namespace weft::llvm_backend
