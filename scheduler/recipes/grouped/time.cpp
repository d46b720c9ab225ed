// Kernels of row groups on tensor cores, dense and sparse ones (scheduler/recipes/grouped/shfl_bw.h,
// v_n_m.h).
#include <weft/scheduler/recipes/grouped/choices.h>
#include <weft/scheduler/recipes/grouped/shape.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>

#include <algorithm>

namespace weft::bounds {
namespace {

using namespace grouped;

/// From a copy's start to its data, at the least: of 48 KB a stage, two stages were a quarter slower than
/// three, and four no faster (docs/measurements.md).
constexpr double copy_microseconds = 0.9;
/// What a tile takes before its first product and after its last one, unless others compute meanwhile.
constexpr double fill_microseconds = 1;
/// What sparse wgmma reads of shared memory takes less than dense wgmma's reads do; and rows of the dense
/// operand that follow one another, which all tiles of 2:4 read alike, come faster than gathered ones. Fitted
/// to twenty kernels of 5120 x 5120 x 4096 and 13824 x 5120 x 2048 on an H200.
constexpr double rate_of_sparse_reads = 1.3, rate_of_neighbours = 1.6;
/// Four warps of producers keep enough copies under way; two were a third slower, and one a half.
constexpr double share_of_no_producer = 0.52, share_of_producer = 0.12;

/// Rows of an odd number of columns begin at odd elements, and go one element at a time: what a thread takes
/// for each that it copies, which others of its processor do meanwhile; where a thread has more than 64 in a
/// stage, none of them is under way while it waits for another; and for each result of a tile. Fitted to 220
/// kernels of an H200 (docs/measurements/choice.md).
constexpr std::int64_t most_under_way = 64;
constexpr double copied_element = 0.029, waited_element = 0.188, stored_element = 0.67e-3;
/// What a multiprocessor takes for each element of X [n, k] that its producers gather. Of 13824 x 5120 with 8
/// to 32 columns on an H200 (docs/measurements/few_columns.md).
constexpr double gathered_element = 5e-5;
/// And for each byte of X [k, n] that they turn, beside its way from the second-level cache. Of e4m3 and i8
/// in groups of 64 and 128 rows with 64 to 4,096 columns on an H200 (docs/measurements/row_groups.md).
constexpr double turned_byte = 1.2e-5;

/// How a point cuts the product.
struct Cut {
  bool warpgroups = false;   ///< wgmma
  std::int64_t rows = 0;     ///< rows of a tile
  std::int64_t columns = 0;  ///< columns of a tile
  std::int64_t places = 0;   ///< kept columns of a stage
  std::int64_t stages = 0;   ///< under way
  std::int64_t split = 1;    ///< blocks that share the sum of a tile
  std::int64_t producers = 0;
  bool persists = false;  ///< a block goes through several tiles
  bool pairs = false;     ///< two of four are kept
  bool mixed = false;     ///< not in all blocks
  bool two = false;       ///< whether warps with roles take two of those that keep all
  bool words = false;     ///< whether producers turn words of bytes of X [k, n]
  std::int64_t element_bytes = 2;
  /// Accumulators of a warp or warpgroup: what a read of an operand serves.
  std::int64_t piece_rows = 0, piece_columns = 0;

  /// Of so many places.
  grouped::Tile<double> tile(double deep) const {
    return {pairs,
            warpgroups,
            static_cast<double>(rows),
            static_cast<double>(columns),
            deep,
            static_cast<double>(piece_rows),
            static_cast<double>(piece_columns),
            element_bytes,
            false,
            takes_two(),
            words};
  }
  bool takes_two() const { return two && producers > 0; }
  /// What a row of the weights has for each place.
  double bytes_of_place() const {
    return grouped::Tile<double>{pairs, warpgroups, 1, 1, 1, 1, 1, element_bytes}.bytes_of_weights();
  }
  double room_of_stage() const { return tile(static_cast<double>(places)).room_of_stage(); }
  double room() const {
    return static_cast<double>(stages) * room_of_stage() + tile(static_cast<double>(places)).bytes_ahead();
  }
};

/// A knob that the point has; 0 says that there is none of what it counts.
std::int64_t given(const KnobValues& point, const char* name, std::int64_t fallback) {
  const auto found = point.find(name);
  return found == point.end() ? fallback : found->second;
}

Cut cut_of(const ProblemSummary& problem, const KnobValues& point, const Target& target) {
  constexpr std::int64_t rows_without_groups = 128, usual_bytes = 128;
  const std::int64_t usual_rows = problem.group_rows > 0 ? problem.group_rows : rows_without_groups;
  const bool may = target.has(Capability::warpgroup_tensor_cores) && usual_rows >= rows_of_warpgroup;
  Cut cut;
  cut.pairs = problem.kept_of > 0;
  cut.mixed = cut.pairs && problem.of_group == problem.kept_of;
  cut.two = cut.mixed && grouped::takes_two_blocks(problem.stored, problem.m, problem.k);
  cut.element_bytes = static_cast<std::int64_t>(size_of(problem.dtype));
  cut.words = cut.element_bytes == 1 && !problem.keeps_columns && given(point, "elements", 0) == 0;
  cut.warpgroups =
      number_of_knob(point, "instruction", may ? wgmma_number : number_of(ShflBwInstruction::mma_m16n8k8)) ==
      wgmma_number;
  cut.rows = number_of_knob(point, "tile_m", usual_rows);
  if (problem.group_rows > 0) cut.rows = std::min(cut.rows, problem.group_rows);
  const std::int64_t most = cut.warpgroups ? std::max<std::int64_t>(64, most_sums / cut.rows) : 256;
  cut.columns =
      number_of_knob(point, "tile_n", std::clamp<std::int64_t>(power_of_two_from(problem.n), 64, most));
  cut.places = number_of_knob(point, "tile_k", usual_bytes / cut.element_bytes);
  const bool has_roles = target.has(Capability::register_reallocation) && problem.n % 8 == 0;
  cut.producers = given(point, "producers", has_roles ? 4 : 0);
  const auto room = static_cast<double>(target.shared_bytes_per_block);
  const auto stages = static_cast<std::int64_t>((room - cut.room()) / cut.room_of_stage());
  cut.stages = target.has(Capability::asynchronous_copies)
                   ? number_of_knob(point, "stages", std::clamp<std::int64_t>(stages, 1, 4))
                   : 1;
  cut.split = number_of_knob(point, "groups", 1);
  cut.persists = given(point, "blocks", has_roles ? 1 : 0) > 0;
  if (cut.warpgroups) {
    cut.piece_rows = std::min(cut.rows, rows_of_warpgroup);
    const bool beside = cut.rows == rows_of_warpgroup;
    cut.piece_columns =
        std::min<std::int64_t>(256, number_of_knob(point, "warp_n", beside ? cut.columns / 2 : cut.columns));
  } else {
    cut.piece_rows = std::min(number_of_knob(point, "warp_m", cut.rows >= 128 ? 64 : 32), cut.rows);
    cut.piece_columns = std::min(number_of_knob(point, "warp_n", 32), cut.columns);
  }
  cut.piece_columns = std::max<std::int64_t>(8, cut.piece_columns);
  return cut;
}

constexpr std::int64_t registers_beside_sums = 48;
/// Warps that keep the tensor cores of a multiprocessor busy: one for each.
constexpr double busy_warps = 4;

std::int64_t warps_of(const Cut& cut) {
  const std::int64_t sums =
      ceil_divide(cut.rows, cut.piece_rows) * ceil_divide(cut.columns, cut.piece_columns);
  return sums * (cut.warpgroups ? warps_of_warpgroup : 1);
}

/// Blocks that a multiprocessor has at the same time, by shared memory, threads and registers.
double resident(const Cut& cut, const Target& target) {
  const double bytes = cut.room() + static_cast<double>(target.shared_bytes_reserved);
  const std::int64_t threads = lanes_of_warp * (warps_of(cut) + cut.producers);
  const std::int64_t registers = cut.rows * cut.columns + registers_beside_sums * threads;
  const auto by_shared =
      static_cast<std::int64_t>(static_cast<double>(target.shared_bytes_per_multiprocessor) / bytes);
  return static_cast<double>(
      std::max<std::int64_t>(1, std::min({by_shared, target.threads_per_multiprocessor / threads,
                                          target.registers_per_multiprocessor / registers})));
}

}  // namespace

Bound of_groups(const ProblemSummary& summary, const KnobValues& point, const Target& target,
                const Ceilings& ceilings) {
  const ProblemSummary problem = with_copied_rows(summary);
  const Cut cut = cut_of(problem, point, target);
  const std::int64_t kept = filled_up(std::max<std::int64_t>(1, problem.gathered_columns()), cut.places);
  const std::int64_t stages_of_tile = ceil_divide(kept / cut.places, cut.split);
  const std::int64_t iterations =
      cut.takes_two() ? std::min(stages_of_tile, ceil_divide(ceil_divide(problem.k, cut.places), cut.split))
                      : stages_of_tile;
  const auto depth = static_cast<double>(stages_of_tile * cut.places);
  const auto rows = static_cast<double>(cut.rows), columns = static_cast<double>(cut.columns);
  const std::int64_t group = problem.group_rows > 0 ? problem.group_rows : cut.rows;
  const std::int64_t rows_of_tiles = ceil_divide(problem.m, group) * ceil_divide(group, cut.rows);
  const std::int64_t tiles = rows_of_tiles * ceil_divide(problem.n, cut.columns) * cut.split;
  const std::int64_t wanted =
      cut.persists ? number_of_knob(point, "blocks", ceilings.multiprocessors) : tiles;
  const std::int64_t busy = std::clamp<std::int64_t>(wanted, 1, ceilings.multiprocessors);
  const auto turns = static_cast<double>(ceil_divide(tiles, busy));

  Parts parts(ceilings);
  // Every tile gathers its rows of the dense operand, and reads its values.
  double loaded = cut.tile(depth).bytes_of_stage();
  // A block that keeps all has half of a block's rows of the dense operand, and as many values.
  if (cut.mixed)
    loaded = cut.tile(depth).bytes_of_weights() +
             cut.tile(std::min(depth, static_cast<double>(problem.k))).bytes_of_dense();
  const double copying =
      cut.producers > 0
          ? std::min(1.0, share_of_no_producer + share_of_producer * static_cast<double>(cut.producers))
          : 1;
  const double neighbours = cut.pairs && problem.gathered_columns() == problem.k ? rate_of_neighbours : 1;
  parts.add_of_multiprocessor(Resource::l2, turns * loaded,
                              copying * neighbours * ceilings.l2_bytes_a_second);
  const double multiplied = depth * rows * columns;
  const double together = cut.persists ? 1 : std::min(turns, resident(cut, target));
  const double working = std::min(1.0, together * static_cast<double>(warps_of(cut)) / busy_warps);
  const double slower =
      working *
      (target.has(Capability::warpgroup_tensor_cores) && !cut.warpgroups ? ceilings.share_of_mma : 1);
  // Sparse instructions multiply twice as much at a time, and so do those of bytes.
  const double at_once = (cut.pairs ? 2 : 1) * (2 / static_cast<double>(cut.element_bytes));
  parts.add_of_multiprocessor(Resource::tensor, turns * (2 / at_once) * multiplied,
                              slower * ceilings.tensor_operations_a_second);
  const double read =
      multiplied * (static_cast<double>(cut.element_bytes) / static_cast<double>(cut.piece_rows) +
                    cut.bytes_of_place() / static_cast<double>(cut.piece_columns));
  const double reading = cut.pairs && cut.warpgroups ? rate_of_sparse_reads : 1;
  parts.add_of_multiprocessor(Resource::shared_memory, turns * (read + loaded),
                              reading * ceilings.shared_bytes_a_second);
  parts.add_memory(problem);
  // Copies that a block waits for, and the ends of its tiles, are hidden by the other blocks of its
  // processor.
  const auto ahead = static_cast<double>(std::max<std::int64_t>(1, cut.stages - 1));
  parts.add(Resource::latency,
            turns * static_cast<double>(iterations) * copy_microseconds / ahead / together);
  // Parts of a sum are written and read once more.
  const double stored = rows * columns * static_cast<double>(cut.split > 1 ? 3 * 4 : bytes_of_result);
  parts.add_of_multiprocessor(Resource::launch, turns * stored, ceilings.store_bytes_a_second);
  if (given(point, "elements", 0) > 0)
    parts.add(Resource::launch,
              turns * depth * std::min(columns, static_cast<double>(summary.n)) * gathered_element);
  else if (cut.words)
    parts.add(Resource::l2, turns * depth * columns * turned_byte);
  if (problem.n % 2 != 0) {
    const double of_thread =
        static_cast<double>(cut.places * cut.columns) / static_cast<double>(lanes_of_warp * warps_of(cut));
    const double copies = turns * static_cast<double>(stages_of_tile) * of_thread;
    const bool waits = of_thread > static_cast<double>(most_under_way);
    parts.add(Resource::launch, copies * (waits ? waited_element : copied_element / together));
    parts.add(Resource::launch, turns * rows * columns * stored_element);
  }
  const double fills = cut.persists && cut.producers > 0 ? 1 : turns / together;
  parts.add(Resource::launch, ceilings.launch_microseconds + fills * fill_microseconds);
  return parts.total();
}

}  // namespace weft::bounds
