#include <fmt/format.h>
#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/passes/gather.h>
#include <weft/scheduler/recipes/parts/bound.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/product.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/scheduler/recipes/unstructured/sliced_rows.h>

#include <algorithm>
#include <bit>

namespace weft {
namespace {

using bounds::power_of_two_from;
using recipe_knobs::lanes_of_warp, recipe_knobs::most_warps;
constexpr std::int64_t least_warps = 8;           ///< a block has so many
constexpr std::int64_t loads_of_all_warps = 220;  ///< a row that takes so many is shared by all warps
constexpr std::int64_t parts_of_long_rows = 16, places_of_long_rows = 8;

class RowsInLanes {
 public:
  RowsInLanes(const Algorithm& algorithm, const SparseTensor& weights, const Target& target,
              FewColumns problem, const SlicedRows& cut)
      : problem_(std::move(problem)),
        cut_(cut),
        schedule_(ordered_schedule(algorithm, packed(weights), target)) {}

  Schedule operator()() {
    const WeightLoops of_weights = weight_loops(schedule_);
    const LoopName &slices = of_weights.rows.at(0), &row = of_weights.rows.at(1);
    const LoopName &chunk = of_weights.sum.at(0), &place = of_weights.sum.at(1);
    const auto [row_blocks, of_block] = schedule_.split(slices, cut_.turns * cut_.slices);
    const auto [warps, turn] = schedule_.split(of_block, cut_.turns);
    std::vector<LoopName> order{row_blocks, warps, row, turn, chunk, place};
    if (!problem_.column.empty()) add_columns(order);
    schedule_.reorder(order)
        .bind(row_blocks, problem_.column.empty() ? block_x : block_y)
        .stage(problem_.dense, shared, at = row_blocks)
        .bind(warps, warp)
        .bind(row, lane)
        .unroll(place);
    if (cut_.parts > 1) schedule_.bind(schedule_.split_k(chunk, cut_.parts, second_pass), block_z);
    if (cut_.groups > 1) schedule_.bind(schedule_.split_k(chunk, cut_.groups), warp);
    for (const LoopName& each : unrolled_) schedule_.unroll(each);
    for (const LoopName& each : vectors_) schedule_.vectorize(each);
    return std::move(schedule_);
  }

 private:
  /// Blocks of columns go around all, vectors of them, one beside the other, innermost.
  void add_columns(std::vector<LoopName>& order) {
    const std::int64_t elements = std::min(bytes_of_slice_load / problem_.bytes, cut_.columns);
    const auto [column_blocks, columns] = schedule_.split(LoopName(problem_.column), cut_.columns);
    order.insert(order.begin(), column_blocks);
    schedule_.bind(column_blocks, block_x);
    if (elements == cut_.columns) {
      order.push_back(columns);
      (elements > 1 ? vectors_ : unrolled_).push_back(columns);
      return;
    }
    const auto [vectors, column] = schedule_.split(columns, elements);
    order.insert(order.end(), {vectors, column});
    unrolled_.push_back(vectors);
    vectors_.push_back(column);
  }

  std::shared_ptr<const SparseTensor> packed(const SparseTensor& weights) const {
    const std::int64_t together = cut_.turns * cut_.slices;
    return std::make_shared<const SparseTensor>(repack(
        weights, formats::sliced_ell({.slice = lanes_of_warp,
                                      .pad = cut_.places,
                                      .deal = together > 1 ? together : 0,
                                      .index = weights.columns() <= formats::columns_of_16_bits ? 16 : 32})));
  }

  FewColumns problem_;
  SlicedRows cut_;
  Schedule schedule_;
  std::vector<LoopName> unrolled_, vectors_;
};

}  // namespace

std::string why_no_few_columns(const Algorithm& algorithm, FewColumns& found) {
  const Operand* sparse = algorithm.sparse_operand();
  const GatheredProduct loops = gathered_product(algorithm);
  if (sparse == nullptr || loops.rows.empty() || sparse->shape.size() != 2 || loops.columns.size() > 1)
    return "the algorithm is no product of a matrix with another one or with a vector";
  for (const TensorAccess& factor : algorithm.factors) {
    for (const AffineIndex& index : factor.indices) {
      if (index.plain() == nullptr) return "an operand is read at sums or multiples of indices";
    }
  }
  const Extent width = loops.columns.empty() ? Extent(1) : extent_of(algorithm, loops.columns.front());
  if (!width.is_static()) return "a launch says how many columns there are";
  found = {.column = loops.columns.empty() ? "" : loops.columns.front(),
           .dense = loops.dense,
           .rows = sparse->shape.front().value,
           .inner = sparse->shape.back().value,
           .columns = width.value,
           .bytes = static_cast<std::int64_t>(size_of(algorithm.operands[dense_operand(algorithm)].dtype)),
           .bytes_of_sum = static_cast<std::int64_t>(size_of(algorithm.accumulator))};
  return {};
}

namespace {

/// Whether too few processors would have slices for their share of the memory's bandwidth: then blocks share
/// rows, which costs about a microsecond. Not of types of 16 bits, whose panels the few warps of such a block
/// copy element by element, and wait for.
bool has_few_long_rows(const FewColumns& problem) {
  constexpr std::int64_t columns_at_most = 2, least_entries = 800;
  return problem.stored > 0 && problem.bytes >= passes::least_asynchronous_bytes &&
         problem.columns <= columns_at_most &&
         3 * problem.columns * ceil_divide(problem.rows, lanes_of_warp) <= measured_processors &&
         problem.stored >= least_entries * problem.rows;
}

}  // namespace

SlicedRows chosen_for(const SlicedRows& knobs, const FewColumns& problem, const Target& target) {
  SlicedRows chosen = knobs;
  const std::int64_t of_load = bytes_of_slice_load / problem.bytes;
  if (chosen.parts == 0 && chosen.groups == 0 && has_few_long_rows(problem)) {
    chosen.parts = parts_of_long_rows;
    if (chosen.columns == 0) chosen.columns = 1;
    if (chosen.slices == 0) chosen.slices = 2;
    if (chosen.places == 0) chosen.places = places_of_long_rows;
  }
  if (chosen.columns == 0) {
    chosen.columns = std::min(power_of_two_from(problem.columns), of_load);
    const auto fits = [&] {
      return SlicedShape<std::int64_t>{chosen.columns, 1, 1}.bytes_of_panel(problem) <=
             target.shared_bytes_per_block;
    };
    while (chosen.columns > 1 && !fits()) chosen.columns /= 2;
  }
  if (chosen.places == 0) chosen.places = of_load;
  if (chosen.parts == 0) chosen.parts = 1;
  if (chosen.parts > 1 && chosen.groups == 0) chosen.groups = 1;
  if (chosen.groups == 0) {
    // Of long rows all warps that a block has, of short ones no more than there are loads for.
    const std::int64_t loads = problem.stored / std::max<std::int64_t>(1, problem.rows) / chosen.places;
    const std::int64_t most = loads >= loads_of_all_warps ? most_warps : most_warps / 2;
    const std::int64_t room = most / std::max<std::int64_t>(1, chosen.slices);
    chosen.groups = std::min(power_of_two_from(loads / 2), std::max<std::int64_t>(1, room));
  }
  if (chosen.slices == 0) chosen.slices = std::max<std::int64_t>(1, least_warps / chosen.groups);
  if (chosen.turns == 0) {
    const std::int64_t slices = ceil_divide(problem.rows, lanes_of_warp);
    chosen.turns = std::max<std::int64_t>(1, ceil_divide(slices, chosen.slices * recipe_knobs::most_blocks));
  }
  return chosen;
}

namespace {

Schedule sliced_schedule(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                         const Target& target, const SlicedRows& knobs) {
  const RecipeNeeds needs{"sliced_rows", "csr", "formats::csr()"};
  const std::string given = require_in_range(needs.name, sliced_rows_knobs(), knobs);
  require_format(needs, algorithm, weights.get(), [](const Format& format) { return format.name == "csr"; });
  if (algorithm.takes_any_weights())
    refuse_recipe(needs, algorithm, "an algorithm for weights of any size",
                  "weights whose size is known, whose rows it sorts; else default_schedule(algorithm, "
                  "weights, target)");
  if (!target.is_gpu())
    return left_to_default(needs, std::move(algorithm), std::move(weights), target, given);
  FewColumns problem;
  if (const std::string why = why_no_few_columns(algorithm, problem); !why.empty())
    refuse_recipe(
        needs, algorithm, why,
        "C[m, n] or C[m] = sum of A[m, k] B[k, n] or A[m, k] B[k]; else default_schedule(algorithm, weights, "
        "target)");
  problem.stored = weights->array("values").size();
  const SlicedRows cut = chosen_for(knobs, problem, target);
  if (!std::has_single_bit(static_cast<std::uint64_t>(cut.columns)))
    throw UserError("columns of sliced_rows are no power of two", algorithm.name,
                    fmt::format("columns = {}", cut.columns),
                    fmt::format("columns = {}", power_of_two_from(cut.columns)));
  return with_recipe_named(needs.name, given, [&] {
    Schedule schedule = RowsInLanes(algorithm, *weights, target, problem, cut)();
    require_sum(schedule);
    return schedule;
  });
}

}  // namespace

Schedule sliced_rows(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                     const SlicedRows& knobs, CallPlace place) {
  return made_with_knobs(place, sliced_rows_knobs(), knobs, [&](const SlicedRows& each) {
    return sliced_schedule(algorithm, weights, target, each);
  });
}

}  // namespace weft
