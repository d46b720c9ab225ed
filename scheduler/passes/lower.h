// From the tile level to the thread level. lower.cpp is the table of contents: one line a pass.
#pragma once

#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/ir/program.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace weft {

/// How a thread-level program is started on a GPU. Extents of the program may occur in `grid`.
struct Launch {
  std::array<ir::Expr, 3> grid{ir::Expr(1), ir::Expr(1), ir::Expr(1)};  ///< blocks along x, y, z
  std::array<std::int64_t, 3> cluster{1, 1, 1};  ///< blocks of a cluster along x, y, z, which divide the grid
  std::int64_t threads = 1;                      ///< threads of a block, one-dimensional
  std::int64_t shared_bytes = 0;                 ///< all shared buffers together, static sizes
};

/// A thread-level program. What back ends can rely on:
///  - no Copy but, for a GPU, asynchronous ones of single threads, and the ends of their groups; every
///  register and shared buffer has a constant shape;
///  - for a GPU: loops are serial, unrolled or vectorized; block and thread indices are Let-bound Calls of
///  the
///    table; register buffers belong to one thread; barriers are in place and are reached by all threads of a
///    block or by none;
///  - for the CPU: loops are serial, unrolled, vectorized or parallel; no Barrier; shared and register
///  buffers
///    are ordinary local arrays;
///  - a vectorized loop has a constant extent and holds no loop but unrolled and serial ones of uniform
///  bounds;
///    If conditions inside may differ from element to element;
///  - sums of products are fma calls.
struct ThreadProgram {
  ir::Program program;
  Launch launch;
  ir::Stmt scheduled;  ///< the body as the schedule left it: passes make loops that no step can name
  /// For a GPU: launches of their own, of kernels with two buffers and the extents of the program.
  std::vector<ThreadProgram> ahead = {}, behind = {};
};

/// Who tells producers that a warp has read a tile. One lane does for its warp; that every lane does costs
/// time and has no other meaning, but it is an order that compute-sanitizer's racecheck follows.
enum class Arrivals : std::uint8_t { of_warps, of_lanes };

/// Called after every pass with its name and the program, for dumps.
using PassObserver = std::function<void(std::string_view, const ir::Program&)>;

/// UserError when the schedule left something that the target cannot run (a knob open, registers shared
/// between threads, a register array of unknown size). What exceeds the target's limits is not asked here but
/// by require_compilable and require_feasible.
ThreadProgram lower(const ir::Program& program, const Target& target, const PassObserver& observer = {},
                    Arrivals arrivals = Arrivals::of_warps);

}  // namespace weft
