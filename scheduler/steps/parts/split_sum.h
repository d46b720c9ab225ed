// A sum in registers whose iterations several groups share, each with sums of its own: what split_k does, and
// persist for blocks that take tiles in parts.
#pragma once

#include <weft/scheduler/program/step.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace weft::steps {

/// Where groups leave their parts, and who adds them up.
enum class Reduction : std::uint8_t {
  shared,       ///< in shared memory; the first group
  second_pass,  ///< in a workspace; the last block to arrive, in the order of the groups
  atomic,       ///< added together in a workspace, in the order in which they come
};

/// Who takes which iterations.
struct SumShares {
  ir::Expr most;     ///< parts of any sum at most
  ir::Expr count;    ///< parts of this one
  ir::Expr part;     ///< which of them this is
  std::string tile;  ///< the loop in whose body a statement leaves a part, and the next adds parts up; empty:
                     ///< a loop over the groups is made, whose variable is `part`
  /// How many of so many iterations come before it, and how many it takes.
  std::function<std::pair<ir::Expr, ir::Expr>(const ir::Expr& iterations)> of;
};

/// The sum of the loop in parts, or why not: with the preconditions 2, 4, 5, 6 and 8 of split_k.
StepResult split_sum(const ir::Program& program, const std::string& loop, const SumShares& shares,
                     Reduction reduction, int step);

}  // namespace weft::steps
