// What steps share: finding loops by name, chains of loops, and moving a loop into a sum.
#pragma once

#include <weft/scheduler/step.h>

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace weft::steps {

/// Names of all loops, outermost first, none twice.
std::vector<std::string> loop_names(const ir::Stmt& stmt);
/// The first loop of that name in program order, or null.
const ir::For* find_loop(const ir::Stmt& stmt, const std::string& name);
/// Every loop of that name, in program order.
std::vector<const ir::For*> find_loops(const ir::Stmt& stmt, const std::string& name);
/// The loops inside the statement, by name.
using InnerLoops = std::map<std::string, ir::For>;
InnerLoops inner_loops(const ir::Stmt& stmt);
/// True when a loop called `inner` stands inside a loop called `outer`, in any of the places that have both.
bool stands_inside(const ir::Stmt& stmt, const std::string& inner, const std::string& outer);
/// Every loop of that name becomes what `change` returns.
ir::Stmt change_loops(const ir::Stmt& stmt, const std::string& name,
                      const std::function<ir::Stmt(const ir::For&)>& change);
/// A refusal when there is no loop of that name: it lists the loops there are, and says which is meant or
/// which step makes one of that name; and when it is a loop of what an instruction does at once. It is
/// precondition 1 of every step that names a loop.
std::optional<Reason> require_loop(const ir::Program& program, const std::string& name);

/// True when iterations of the loop write different elements of the output: an output index of the algorithm
/// or a piece of one. False for what is summed over and for loops over stored rows.
bool is_output_loop(const std::string& name, const Algorithm& algorithm);

/// A chain: loops and conditions, each the whole body of the one before, and what stands inside the last.
struct Chain {
  std::vector<ir::For> loops;  ///< bodies unset
  std::vector<ir::Expr> conditions;
  ir::Stmt core;
};
Chain chain_of(const ir::Stmt& stmt);
/// Puts the chain together again: each condition as far outside as its variables allow.
ir::Stmt rebuild(Chain chain);

/// The chain with its loops in the order of `names` (all of them), or the reason why not: a loop's range
/// depends on a loop that would stand inside it. Precondition `number`.
std::variant<Chain, Reason> permuted(Chain chain, const std::vector<std::string>& names, int number);

/// Moves the innermost loop of the chain into its core: a sum kept in a register becomes one register an
/// iteration, and every statement of the core that depends on the loop gets a loop of its own. The extent
/// must be constant or a knob.
Chain sink_innermost(Chain chain);
/// True when a copy into a tile stands inside.
bool holds_copy(const ir::Stmt& stmt);
/// A constant, or an expression over knobs alone.
bool is_constant_extent(const ir::Program& program, const ir::Expr& extent);

/// What a variable of that name is in the program ("a loop", "a scalar"); empty: there is none.
std::string variable_called(const ir::Program& program, const std::string& name);
/// A refusal unless the argument is a number from 1 to `most`, or a knob of such numbers with a name that
/// nothing else has. `otherwise` is the refusal but for what was found.
std::optional<Reason> require_number(const ir::Program& program, const Argument& argument, std::int64_t most,
                                     const Reason& otherwise);
/// The number or knob of an argument as an expression; a new knob is added to the program. What
/// require_number has let through.
ir::Expr factor_of(ir::Program& program, const Argument& argument);
/// The loops of the program over what the output has, or over what is summed, as far as they are serial.
std::vector<std::string> serial_loops(const ir::Program& program, const Algorithm& algorithm, bool of_output);
/// A step of words, as the user would write it: ".bind(n, block_x)".
std::string written(const std::string& step, const std::vector<std::string>& words);
/// The argument's word.
const std::string& word_of(const Argument& argument);

}  // namespace weft::steps
