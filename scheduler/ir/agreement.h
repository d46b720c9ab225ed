// Whether all that run a statement together compute the same value.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <functional>
#include <string>

namespace weft::ir {

/// Who runs a statement together: the threads of a block or of a warp, or the elements of a vector.
struct Together {
  /// Whether a variable has one value for all of them.
  std::function<bool(const std::string& variable)> agree_on;
  /// They are so many threads that follow one another, beginning with a multiple of that number: 1 for the
  /// elements of a vector, which are one thread's, and 32 for a warp. 0: more than any thread counts to.
  std::int64_t threads = 0;
  /// Whether a place that all name holds one value for all. Threads have registers of their own, and memory
  /// may be written between two reads: who needs to be sure says no, who knows what is read there says yes.
  bool agree_on_reads = false;
};

/// Whether all of them compute the same value. A call agrees where its arguments do.
bool agree(const Expr& expr, const Together& together);

}  // namespace weft::ir
