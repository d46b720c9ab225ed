// Questions about programs that the emitter asks before it writes code: how the lanes of a vectorized loop
// reach memory, and whether they may run together at all.
#pragma once

#include <weft/scheduler/ir/node.h>
#include <weft/scheduler/ir/visit.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace weft::llvm_backend {

/// Whether the lanes of a vectorized loop compute different values, where they do of the variables. They run
/// together: what all read at one place is one value.
bool differs(const ir::Expr& expr, const std::set<std::string>& varying);

/// How the lanes of a vectorized loop reach one buffer.
enum class Pattern : std::uint8_t {
  uniform,       ///< all lanes the same element
  contiguous,    ///< lane i the element i after that of lane 0
  every_second,  ///< lane i the element 2 i after that of lane 0
  scattered,     ///< anything else
};

/// What an offset can be compared by.
struct VectorLoop {
  std::string variable;           ///< the variable of the loop
  ir::Expr first;                 ///< its value in lane 0
  ir::Substitution known;         ///< variables whose value is an expression without loads
  std::set<std::string> varying;  ///< variables that differ between lanes, besides the loop's own
};

struct Access {
  Pattern pattern = Pattern::scattered;
  std::int64_t alignment = 1;  ///< elements that divide the offset of lane 0, whatever the variables are
};

/// How an offset as ir::offset_of gives it is reached.
Access classify(const ir::Expr& offset, const VectorLoop& loop);

/// Whether running all iterations statement by statement gives what running them one after the other gives:
/// no iteration reads or adds to what another one writes. False also for what the emitter has no vector form
/// of: allocations and loops whose bounds differ between iterations. `known` as in VectorLoop.
bool can_run_together(const ir::For& loop, const ir::Substitution& known);

/// Whether an expression may only be evaluated where it is asked for: it reads memory, or divides by what may
/// be zero elsewhere.
bool is_lazy(const ir::Expr& expr);

/// Nodes that are emitted when all unrolled loops are written out; saturates at 2^40.
std::int64_t emitted_size(const ir::Stmt& stmt);
/// Nodes of an expression.
std::int64_t nodes_of(const ir::Expr& expr);

/// What a statement uses, also for the strides of buffers.
struct Uses {
  explicit Uses(const ir::Stmt& body);

  std::set<std::string> variables;
  std::set<const ir::Buffer*> touched;
  std::vector<ir::BufferRef>
      buffers;  ///< the same in the order in which they are met, but for its own registers
};

/// A variable that no program can hold: the value of `variable` in lane 0.
std::string first_lane_of(const std::string& variable);

}  // namespace weft::llvm_backend
