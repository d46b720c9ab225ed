// Kernels of blocks in ELL that become dense tiles (scheduler/recipes/blocks/hb_ell.h).
#include <weft/scheduler/recipes/blocks/choices.h>
#include <weft/scheduler/recipes/blocks/shape.h>

#include <algorithm>

namespace weft::bounds {
namespace {

using namespace block_tiles;

constexpr double bytes_of_entry = 3;  ///< an entry has an offset
/// Copies, decoding and products of a turn follow one another: what a turn takes that nothing hides, as far
/// as measured kernels with two blocks on a processor show (docs/measurements.md). A warpgroup's turn waits
/// for its products too before it decodes the next.
constexpr double turn_microseconds = 0.9, turn_of_warpgroup = 1.9;

}  // namespace

Bound of_blocks(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                const Ceilings& ceilings) {
  const std::int64_t rows = number_of_knob(point, "tile_m", block),
                     places = number_of_knob(point, "tile_k", block);
  const std::int64_t columns =
      number_of_knob(point, "tile_n", std::clamp<std::int64_t>(power_of_two_from(problem.n), 64, 256));
  const std::int64_t split = number_of_knob(point, "groups", 1);
  const Tile<std::int64_t> tile{rows,
                                columns,
                                places,
                                std::min(rows, number_of_knob(point, "warp_m", block)),
                                std::min(columns, number_of_knob(point, "warp_n", 64)),
                                number_of_knob(point, "stages", 1),
                                target.has(Capability::warpgroup_tensor_cores)};
  const bool warpgroups = tile.by_warpgroups();
  const std::int64_t turns = ceil_divide(ceil_divide(problem.k, places), split);
  const std::int64_t blocks = ceil_divide(problem.m, rows) * ceil_divide(problem.n, columns) * split;
  const auto of_turn = static_cast<double>(rows * places), of_dense = static_cast<double>(places * columns);
  const double stored = bytes_of_entry * (problem.density() * of_turn);
  const auto decoded = static_cast<double>(tile.bytes_of_decoded());
  const double staged = static_cast<double>(tile.bytes_of_dense()) + stored;
  const double bytes = static_cast<double>(tile.stages) * staged + decoded;
  const auto resident = static_cast<double>(std::clamp<std::int64_t>(
      static_cast<std::int64_t>(static_cast<double>(target.shared_bytes_per_multiprocessor) / bytes), 1,
      std::max<std::int64_t>(1, target.threads_per_multiprocessor / tile.threads())));
  const auto waves = static_cast<double>(ceil_divide(blocks, ceilings.multiprocessors));
  const double together = std::min(waves, resident);
  const double all_turns = waves * static_cast<double>(turns);

  Parts parts(ceilings);
  parts.add_of_multiprocessor(Resource::l2, all_turns * staged, ceilings.l2_bytes_a_second);
  const double rate =
      target.has(Capability::warpgroup_tensor_cores) && !warpgroups ? ceilings.share_of_mma : 1;
  parts.add_of_multiprocessor(Resource::tensor, all_turns * 2 * of_turn * static_cast<double>(columns),
                              rate * ceilings.tensor_operations_a_second);
  const double read_by_warps =
      bytes_of_element * (of_dense * static_cast<double>(rows) / static_cast<double>(tile.rows_each) +
                          of_turn * static_cast<double>(columns) / static_cast<double>(tile.columns_each));
  parts.add_of_multiprocessor(Resource::shared_memory, all_turns * (2 * staged + 2 * decoded + read_by_warps),
                              ceilings.shared_bytes_a_second);
  parts.add_memory(problem);
  parts.add(Resource::latency, all_turns * (warpgroups ? turn_of_warpgroup : turn_microseconds) / together);
  // Parts of a sum are written and read once more.
  const double results = static_cast<double>(rows * columns * (split > 1 ? 3 * 4 : bytes_of_element));
  parts.add_of_multiprocessor(Resource::launch, waves * results, ceilings.store_bytes_a_second);
  parts.add(Resource::launch, ceilings.launch_microseconds);
  return parts.total();
}

}  // namespace weft::bounds
