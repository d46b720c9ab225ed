// What simplify and verify have found out about a program, for the next look at it: a pass leaves most of a
// long program as it is.
#pragma once

#include <weft/scheduler/ir/program.h>
#include <weft/scheduler/ir/simplify.h>

#include <set>
#include <string>
#include <unordered_map>

namespace weft::ir {

/// About long blocks of a program, which live as long as something is known of them.
struct Settled {
  /// What a block of stores, Lets and conditions is given, and what it may not be given.
  struct Names {
    Stmt block;
    std::set<std::string> used;     ///< variables from outside
    std::set<std::string> defined;  ///< variables that it defines itself
    std::set<const Buffer*> buffers;
  };
  using Simple = std::unordered_map<const StmtNode*, Stmt>;
  using Verified = std::unordered_map<const StmtNode*, Names>;

  Simple simple;      ///< in which nothing can be simplified, whatever stands around
  Verified verified;  ///< which are right wherever the names are
};

/// A block of fewer statements is not worth remembering.
constexpr std::size_t long_block = 32;

/// As without `settled`; it must be of an earlier look at a program like this, of the same ShortLoops.
Program simplify(Program program, ShortLoops short_loops, Settled& settled);
void verify(const Program& program, Settled& settled);

}  // namespace weft::ir
