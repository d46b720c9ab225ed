// Programs as text for people: one statement a line, loops indented, the place of an error marked.
#pragma once

#include <weft/scheduler/ir/program.h>

#include <string>

namespace weft::ir {

/// "8*m.outer + m.inner < 100"
std::string print(const Expr& expr);
std::string print(const Stmt& stmt);
/// The whole program. Lines of loops called `marked` and of statements that use a buffer of that name begin
/// with ">>".
std::string print(const Program& program, const std::string& marked = {});
/// "vectorized", "block_x": the words of steps and texts.
std::string_view name_of(LoopKind kind);
std::string_view name_of(Scope scope);

}  // namespace weft::ir
