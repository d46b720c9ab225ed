// Copies that gather, as what threads do.
#pragma once

#include <weft/scheduler/ir/simplify.h>

#include <cstdint>
#include <string>

namespace weft::passes {

/// Whether the integer is a multiple of the number, whatever its variables are.
bool divides(std::int64_t number, const ir::Expr& expr);

/// Fewer bytes are loaded and stored where their copy would be started: that is early enough as well.
inline constexpr std::int64_t least_asynchronous_bytes = 4;
inline constexpr std::int64_t lanes_of_warp = 32;
/// Words, and what a lane loads, stores or copies at most at a time.
inline constexpr std::int64_t bytes_of_word = 4, bytes_of_run = 16;

/// The condition, undefined where it is known to hold: what a copy asks.
ir::Expr unless_always(const ir::Expr& condition);

/// The element of the weights' numbers that the place depends on, undefined where there is none.
ir::Expr data_of(const ir::Copy& copy);

/// The expression with `loaded` in place of the number. Its divisions need not mind the mark of padding:
/// where it stands, nothing is read.
ir::Expr with_number(const ir::Expr& expr, const ir::Expr& data, const ir::Expr& loaded);

/// How many elements along the last coordinate are moved together, up to 16 bytes of them, and where a run is
/// not inside the source (undefined: nowhere).
struct GatherRuns {
  std::int64_t length = 1;
  ir::Expr condition;
};
GatherRuns gather_runs(const ir::Copy& copy, const ir::Ranges& ranges);

/// The copy (ir::Copy with coordinates) as loops that `threads` threads share, in runs of up to 16 bytes
/// along the last coordinate, which start copies where the copy is asynchronous; on the CPU (threads == 0) as
/// plain loops. Places outside the source, and those where `inside` does not hold, become zero. `name` begins
/// the names of its loops.
ir::Stmt lower_gather(const ir::Copy& copy, std::int64_t threads, const ir::Ranges& ranges,
                      const std::string& name);

}  // namespace weft::passes
