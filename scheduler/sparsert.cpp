#include <weft/scheduler/default_schedule.h>
#include <weft/scheduler/sparsert.h>

#include <algorithm>
#include <bit>

namespace weft {
namespace {

constexpr std::int64_t most_entries = 30'000;  ///< compiled in a few seconds, and code that caches still feed
constexpr std::int64_t entries_of_block = 300;
constexpr std::int64_t most_rows = 64;  ///< accumulators of a thread
constexpr std::int64_t default_threads = 32;

/// The loops of C[row, column] = sum of A[row, k] B[k, column]; empty names where the algorithm is something
/// else.
struct ProductLoops {
  std::string rows, columns;
};

ProductLoops product_loops(const Algorithm& algorithm) {
  ProductLoops found;
  std::vector<std::string> outputs;
  for (const IndexVariable& index : algorithm.indices) {
    if (!index.reduction) outputs.push_back(index.name);
  }
  const Operand* sparse = algorithm.sparse_operand();
  if (sparse == nullptr || sparse->shape.size() != 2 || outputs.size() != 2) return found;
  for (const TensorAccess& factor : algorithm.factors) {
    if (&algorithm.operands[factor.operand] != sparse) continue;
    const std::string* row = factor.indices.front().plain();
    if (row != nullptr && std::ranges::find(outputs, *row) != outputs.end()) found.rows = *row;
  }
  for (const std::string& name : outputs) {
    if (name != found.rows) found.columns = name;
  }
  return found.rows.empty() ? ProductLoops{} : found;
}

std::int64_t rows_of_block(const SparseTensor& weights, std::int64_t rows) {
  const double a_row = std::max(1.0, static_cast<double>(weights.array("values").size()) /
                                         static_cast<double>(std::max<std::int64_t>(rows, 1)));
  const auto wanted =
      static_cast<std::uint64_t>(std::max(1.0, static_cast<double>(entries_of_block) / a_row));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::bit_floor(wanted)), 8, most_rows);
}

}  // namespace

Schedule sparsert(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                  const SparseRtKnobs& knobs) {
  const ProductLoops loops = product_loops(algorithm);
  const bool fits = target.is_gpu() && weights != nullptr && !loops.columns.empty() &&
                    weights->format().name == "csr" && weights->array("values").size() <= most_entries;
  if (!fits) return default_schedule(std::move(algorithm), std::move(weights), target);
  const std::int64_t extent = algorithm.sparse_operand()->shape.front().value;
  const std::int64_t rows = knobs.rows > 0 ? knobs.rows : rows_of_block(*weights, extent);
  const std::int64_t threads = knobs.threads > 0 ? knobs.threads : default_threads;
  Schedule result(std::move(algorithm), std::move(weights), target);
  const LoopName row_blocks(loops.rows + ".outer"), row(loops.rows + ".inner");
  const LoopName column_blocks(loops.columns + ".outer"), column(loops.columns + ".inner");
  result.split(LoopFactor{LoopName(loops.rows), rows}, LoopFactor{LoopName(loops.columns), threads})
      .reorder(row_blocks, column_blocks, column, row)
      .bind(row_blocks, block_y)
      .bind(column_blocks, block_x)
      .bind(column, thread)
      .bake_values(row);
  return result;
}

}  // namespace weft
