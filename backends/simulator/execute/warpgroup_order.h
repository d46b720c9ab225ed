// The order between wgmma and whatever else touches its registers: wgmma.fence, and what is in flight.
#pragma once

#include <weft/backends/simulator/machine/warp.h>

namespace weft::simulator::matrix {

/// wgmma.fence: what was written in registers so far, wgmmas from here on see.
void fence_registers(Warp& warp);
/// Reports accumulators, and registers of A from operand `first_a` on, that were written since the last
/// fence, that nobody wrote, or that an earlier wgmma still owns. Writes that leave a register as it was are
/// not seen.
void check_registers(Warp& warp, const Operation& operation, bool reads_accumulators, std::size_t first_a,
                     std::size_t count_a);
/// A wgmma wrote its accumulators, which orders them for the next.
void accept_results(Warp& warp, const Operation& operation);
/// Everything was waited for.
void forget_accumulators(Warp& warp);

}  // namespace weft::simulator::matrix
