#include <weft/scheduler/recipe_parts.h>
#include <weft/scheduler/sparsert_convolution.h>

#include <algorithm>

namespace weft {
namespace {

constexpr std::int64_t most_rows = 64;  ///< accumulators of a thread
constexpr std::int64_t least_rows = 8;
constexpr std::int64_t wanted_blocks = 96;  ///< most of the processors have one then
constexpr std::int64_t most_threads = 512;  ///< of all groups of a block
constexpr std::int64_t entries_of_group = 150, most_groups = 8;

/// As many rows as leave every processor a block: a row read of B then serves the most entries.
std::int64_t rows_of_block(std::int64_t rows, std::int64_t column_blocks) {
  std::int64_t chosen = most_rows;
  while (chosen > least_rows && pieces(rows, chosen) * column_blocks < wanted_blocks) chosen /= 2;
  return chosen;
}

}  // namespace

ConvolutionLoops convolution_loops(const Algorithm& algorithm) {
  const Operand* sparse = algorithm.sparse_operand();
  if (sparse == nullptr || sparse->shape.size() != 4) return {};
  std::string filters;
  for (const TensorAccess& factor : algorithm.factors) {
    if (&algorithm.operands[factor.operand] != sparse) continue;
    const std::string* name = factor.indices.front().plain();
    if (name != nullptr) filters = *name;
  }
  std::vector<std::string> others;
  bool found = false;
  for (const IndexVariable& index : algorithm.indices) {
    if (index.reduction) continue;
    found = found || index.name == filters;
    if (index.name != filters) others.push_back(index.name);
  }
  if (!found || others.size() != 3) return {};
  for (const std::string& name : others) {
    if (!extent_of(algorithm, name).is_static()) return {};
  }
  if (extent_of(algorithm, others[2]).value > most_threads) return {};
  return {others[0], filters, others[1], others[2]};
}

/// A lane has one pixel of one to 32 columns of several lines; further columns go to further warps.
/// Coordinates are constants of the code, so that a read of the image costs no arithmetic but at its border.
Schedule sparsert_convolution(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                              const Target& target, const ConvolutionLoops& loops,
                              const SparseRtKnobs& knobs) {
  const auto extent = [&](const std::string& name) { return extent_of(algorithm, name).value; };
  const std::int64_t filters = algorithm.sparse_operand()->shape.front().value;
  const std::int64_t column_warps = pieces(extent(loops.pixels), 32);
  const std::int64_t columns = pieces(extent(loops.pixels), column_warps);
  const std::int64_t lines = std::max<std::int64_t>(1, 32 / columns);
  const std::int64_t blocks = pieces(extent(loops.lines), lines) * extent(loops.batch);
  const std::int64_t rows = knobs.rows > 0 ? knobs.rows : rows_of_block(filters, blocks);
  const auto stored = static_cast<std::int64_t>(weights->array("values").size());
  const std::int64_t of_block = stored / std::max<std::int64_t>(1, pieces(filters, rows));
  const std::int64_t most = std::clamp<std::int64_t>(most_threads / (32 * column_warps), 1, most_groups);
  const std::int64_t share =
      knobs.groups > 0 ? knobs.groups : groups_of_block(of_block, entries_of_group, most);
  const std::string sum = sum_loop(algorithm);
  const LoopName line_blocks(loops.lines + ".outer"), line(loops.lines + ".inner");
  const LoopName warps(loops.pixels + ".outer"), column(loops.pixels + ".inner");
  const LoopName row_blocks(loops.filters + ".outer"), row(loops.filters + ".inner");
  Schedule result(std::move(algorithm), std::move(weights), target);
  result
      .split(LoopFactor{LoopName(loops.filters), rows}, LoopFactor{LoopName(loops.lines), lines},
             LoopFactor{LoopName(loops.pixels), columns})
      .reorder(LoopName(loops.batch), row_blocks, line_blocks, warps, line, column, row)
      .bind(LoopName(loops.batch), block_z)
      .bind(row_blocks, block_y)
      .bind(line_blocks, block_x)
      .bind(warps, warp)
      .bind(line, lane)
      .bind(column, lane);
  if (share > 1) result.split_k(LoopName(sum), groups = share).bind(LoopName(sum + ".group"), warp);
  result.bake_values(row);
  return result;
}

}  // namespace weft
