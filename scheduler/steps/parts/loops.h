// What steps share: which loops there are, and what is asked of them.
#pragma once

#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/program/step_arguments.h>

#include <array>
#include <string>
#include <variant>
#include <vector>

namespace weft::steps {

/// What a loop becomes that is split in two: "n.outer" and "n.inner".
std::array<std::string, 2> split_names(const std::string& name);

/// A refusal when there is no loop of that name: it lists the loops there are, and says which is meant or
/// which step makes one of that name; and when it is a loop of what an instruction does at once. It is
/// precondition 1 of every step that names a loop.
std::optional<Reason> require_loop(const ir::Program& program, const std::string& name);

/// The chain with its loops in the order of `names` (all of them), or the reason why not: a loop's range
/// depends on a loop that would stand inside it. Precondition `number`.
std::variant<ir::Chain, Reason> permuted(ir::Chain chain, const std::vector<std::string>& names, int number);

/// The loops of the program over what the output has, or over what is summed, as far as they are serial.
std::vector<std::string> serial_loops(const ir::Program& program, bool of_output);
/// A step of words, as the user would write it: ".bind(n, block_x)".
std::string written(const std::string& step, const std::vector<std::string>& words);

}  // namespace weft::steps
