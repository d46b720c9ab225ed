// A sum that groups of threads share: what split_k makes, and what bake_values takes apart again.
#pragma once

#include <weft/scheduler/ir/program.h>

#include <optional>
#include <string>

namespace weft::steps {

/// Each group of iterations keeps sums of its own and leaves them in `parts`; afterwards one group adds them
/// up. In shared memory that is the first; where groups are blocks, the last to arrive, and `parts` is a
/// workspace.
struct GroupedSum {
  ir::BufferRef parts;  ///< [group, …] in shared memory; null between blocks
  ir::Expr arrival;     ///< between blocks: true for the last
  ir::For group;        ///< body unset
  ir::Stmt own;         ///< inside the loop over the groups: a group's own sums, left in `parts`
  ir::Stmt result;      ///< what becomes of all parts, once
};

/// What the loop over the groups that share the sum of a loop is called: "k.group".
std::string group_loop(const std::string& sum);

/// allocate parts { for group { own }, for group { if group < 1 { result } } }, or
/// for group { own, if arrival { result } }
ir::Stmt statement_of(const GroupedSum& sum);
/// The grouped sum that the statement is, if it is one.
std::optional<GroupedSum> grouped_sum_of(const ir::Stmt& stmt);
/// True for a loop over groups that are blocks: their parts meet in a workspace.
bool meets_between_blocks(const ir::Stmt& stmt, const std::string& group_loop);
/// A loop of blocks inside of a loop over groups that are blocks: each of its blocks would count the group
/// again, as arrivals are counted around it. Empty without one.
std::string blocks_that_count_again(const ir::Stmt& stmt);
/// True when threads or blocks hand values to one another inside, which all threads of a block have to reach.
bool holds_exchange(const ir::Stmt& stmt);

}  // namespace weft::steps
