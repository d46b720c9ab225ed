// What steps and passes ask of trees: loops by name, chains of loops, and a loop moved into a sum.
#pragma once

#include <weft/scheduler/ir/program.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft::ir {

/// Names of all loops, outermost first, none twice.
std::vector<std::string> loop_names(const Stmt& stmt);
/// The first loop of that name in program order, or null.
const For* find_loop(const Stmt& stmt, const std::string& name);
/// What the loops of that name are; `other` where there is none.
LoopRole role_of(const Stmt& stmt, const std::string& name);
/// Every loop of that name, in program order.
std::vector<const For*> find_loops(const Stmt& stmt, const std::string& name);
/// The loops inside the statement, by name. One that stands in several parts, as after peel, has the range of
/// all of them.
using InnerLoops = std::map<std::string, For>;
InnerLoops inner_loops(const Stmt& stmt);
/// True when a loop called `inner` stands inside a loop called `outer`, in any of the places that have both.
bool stands_inside(const Stmt& stmt, const std::string& inner, const std::string& outer);
/// Every loop of that name becomes what `change` returns.
Stmt change_loops(const Stmt& stmt, const std::string& name, const std::function<Stmt(const For&)>& change);
/// The iterations of a loop, where constants say which; else nothing.
struct Iterations {
  std::int64_t begin = 0, extent = 0;
};
std::optional<Iterations> constant_iterations(const For& loop);
/// A constant, or an expression over knobs of the program alone.
bool is_constant(const Program& program, const Expr& expr);
/// The product of extents that are all constants; else nothing.
std::optional<std::int64_t> product_of(const std::vector<Expr>& extents);
/// The load that the expression is, or that it converts; else null.
const Load* loaded(const Expr& expr);

/// A chain: loops and conditions, each the whole body of the one before, and what stands inside the last.
struct Chain {
  std::vector<For> loops;  ///< bodies unset
  std::vector<Expr> conditions;
  Stmt core;
};
Chain chain_of(const Stmt& stmt);
/// Puts the chain together again: each condition as far outside as its variables allow.
Stmt rebuild(Chain chain);

/// Moves the innermost loop of the chain into its core: a sum kept in a register becomes one register an
/// iteration, and every statement of the core that depends on the loop gets a loop of its own. The extent
/// must be constant or a knob.
Chain sink_innermost(Chain chain);
/// True when a copy into a tile stands inside.
bool holds_copy(const Stmt& stmt);
/// True when a Load stands inside.
bool reads_memory(const Expr& expr);
}  // namespace weft::ir
