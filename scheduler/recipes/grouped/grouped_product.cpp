#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/kept_slots.h>
#include <weft/scheduler/recipes/grouped/grouped_product.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace weft {
namespace {

using grouped::rows_of_warp;

bool has_columns(const Algorithm& algorithm, const GatheredProduct& loops) {
  if (loops.rows.empty() || loops.columns.empty()) return false;
  return loops.columns.size() == 1 || std::ranges::all_of(loops.columns, [&](const std::string& name) {
           return extent_of(algorithm, name).is_static();
         });
}

bool reads_bytes(const Algorithm& algorithm, const SparseTensor& weights) {
  return is_factor_of_a_byte(weights.dtype()) && can_multiply_bytes(algorithm, weights.format()) &&
         size_of(algorithm.operands[algorithm.output.operand].dtype) <= 2;
}

/// The steps of numbers that are chosen.
class Grouped {
 public:
  Grouped(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
          const ShflBwKnobs& numbers)
      : loops_(ordered_product(algorithm)),
        numbers_(numbers),
        tiles_(group_tiles(*weights)),
        tile_(tile_of(numbers, tiles_)),
        extent_(columns_of(algorithm, loops_)),
        schedule_(ordered_schedule(std::move(algorithm), std::move(weights), target, OperandCopies::of_tiles,
                                   *numbers.elements > 0 ? loops_.dense : std::string())) {}

  Schedule operator()() {
    const WeightLoops of_weights = weight_loops(schedule_);
    LoopName blocks_of_rows = of_weights.rows.at(0);
    const LoopName blocks = of_weights.sum.at(0), place = of_weights.sum.at(1);
    auto [columns, column] =
        schedule_.split(one_loop_over_columns(of_weights.rows), tile_.columns * *numbers_.cluster);
    // Tiles of a cluster are parts of a larger one, whose last may lie outside.
    LoopName in_cluster;
    if (in_clusters()) {
      auto parts = schedule_.split(column, tile_.columns);
      in_cluster = std::move(parts.outer);
      column = std::move(parts.inner);
    }
    const auto [of_columns, of_rows] =
        schedule_.split(column, tile_.columns_each, of_weights.rows.at(1), tile_.rows_each);
    const auto& [column_warps, warp_column] = of_columns;
    const auto& [row_warps, warp_row] = of_rows;
    const LoopName& outer = inner_tiles_are_columns() ? blocks_of_rows : columns;
    const LoopName& inner = inner_tiles_are_columns() ? columns : blocks_of_rows;
    if (in_clusters())
      schedule_
          .reorder(in_cluster, outer, inner, blocks, row_warps, column_warps, warp_row, warp_column, place)
          .bind(in_cluster, block_z);
    else
      schedule_.reorder(outer, inner, blocks, row_warps, column_warps, warp_row, warp_column, place);
    if (const std::int64_t side = columns_at_a_time(); side > 1)
      std::tie(columns, blocks_of_rows) = side_by_side(columns, blocks_of_rows, side);
    bind_to_blocks(columns, blocks_of_rows);
    copy_ahead(blocks);
    schedule_.bind(row_warps, warp).bind(column_warps, warp);
    tile_.promotes ? schedule_.tensorize(instruction(), promote = 1) : schedule_.tensorize(instruction());
    if (*numbers_.groups > 1)
      schedule_.bind(schedule_.split_k(blocks, *numbers_.groups, second_pass), block_z);
    schedule_.reorder_writeback(output(), weft::columns = *numbers_.line);
    go_through_tiles(columns, blocks_of_rows, blocks);
    part_roles();
    if (in_clusters()) schedule_.multicast(schedule_.algorithm().sparse_operand()->name, in_cluster);
    return std::move(schedule_);
  }

 private:
  bool in_clusters() const { return *numbers_.cluster > 1; }

  /// Blocks that work at the same time share what they read of the operand whose tiles run inside; the
  /// other one is read from memory again and again, unless it stays in L2: the smaller one. Tall
  /// groups that list their columns gather so little that it does not pay (docs/measurements.md). For weights
  /// in groups, see columns_at_a_time.
  bool inner_tiles_are_columns() const {
    const Algorithm& algorithm = schedule_.algorithm();
    const Operand& dense = algorithm.operands[dense_operand(algorithm)];
    if (*numbers_.blocks == 0 && !may_begin_beside()) return false;
    if (!tiles_.two_of_four || algorithm.takes_any_weights()) return false;
    constexpr std::int64_t tall = 128;
    if (schedule_.weights()->has_array("column") && tiles_.rows >= tall) return false;
    const auto known = [](const Extent& extent) { return extent.is_static(); };
    if (!std::ranges::all_of(dense.shape, known)) return false;
    std::int64_t of_dense = tile_.element_bytes;
    for (const Extent& extent : dense.shape) of_dense *= extent.value;
    const std::int64_t values = schedule_.weights()->array("values").size();
    const std::int64_t of_weights = values / (tiles_.rows * tiles_.kept()) * tile_.bytes_of_weights();
    return of_weights > of_dense;
  }

  /// Whether blocks with a tile each may begin beside one another in the order of columns: rows are then the
  /// slower index of the launch, which has fewer. Measured of 2:4 alone (docs/measurements/two_of_four.md).
  bool may_begin_beside() const {
    constexpr std::int64_t most_of_y = 65535;
    return !in_clusters() && !schedule_.weights()->has_array("column") && extent_.is_static() &&
           extent_.value > tile_.columns && schedule_.weights()->rows() <= most_of_y * tile_.rows;
  }

  void bind_to_blocks(const LoopName& columns, const LoopName& rows) {
    const bool beside = *numbers_.blocks == 0 && inner_tiles_are_columns();
    schedule_.bind(beside ? rows : columns, block_y).bind(beside ? columns : rows, block_x);
  }

  void go_through_tiles(LoopName outer, LoopName inner, const LoopName& summed) {
    if (*numbers_.blocks == 0) return;
    if (inner_tiles_are_columns()) std::swap(outer, inner);
    if (*numbers_.groups > 0)
      schedule_.persist(outer, inner, weft::blocks = *numbers_.blocks);
    else
      schedule_.persist(outer, inner, weft::blocks = *numbers_.blocks, deal = summed);
  }

  /// Two loops over tiles: the outer one goes over several columns, and the inner one over those and all
  /// rows.
  std::pair<LoopName, LoopName> side_by_side(const LoopName& columns, const LoopName& blocks_of_rows,
                                             std::int64_t side) {
    const auto [several, own] = schedule_.split(columns, side);
    schedule_.reorder(several, blocks_of_rows, own);
    return {several, schedule_.fuse({blocks_of_rows, own})};
  }

  /// Columns of tiles that blocks go through side by side. All values are read once for each time that blocks
  /// go through the rows: where they do not stay in the cache and are much of what a tile reads, several
  /// columns share one reading, as long as the rows of B that these read stay there (docs/measurements.md).
  std::int64_t columns_at_a_time() const {
    constexpr std::int64_t kept_of_values = 16 << 20, kept_of_dense = 12 << 20;  // bytes of the cache
    constexpr std::int64_t little = 8;  // the share of a tile's bytes
    const SparseTensor& weights = *schedule_.weights();
    const bool stays = 2 * static_cast<std::int64_t>(weights.array("values").size()) <= kept_of_values;
    if (stays || tiles_.two_of_four || *numbers_.blocks == 0 || schedule_.algorithm().takes_any_weights() ||
        !extent_.is_static() || loops_.columns.size() != 1)
      return 1;
    const std::int64_t width = tile_.columns * *numbers_.cluster;
    const std::int64_t tiles = ceil_divide(extent_.value, width);
    std::int64_t side = 1;
    while (tiles % (2 * side) == 0 && tiles_.rows * little > side * (tiles_.rows + width) &&
           2 * side * 2 * width * weights.columns() <= kept_of_dense)
      side *= 2;
    return side;
  }

  void part_roles() {
    if (*numbers_.producers == 0) return;
    const std::int64_t own = *numbers_.producer_registers, others = *numbers_.consumer_registers;
    std::vector<Argument> roles{producers = *numbers_.producers};
    if (own > 0 || others > 0) {
      roles.push_back(producer_registers = own);
      roles.push_back(consumer_registers = others);
    }
    if (tiles_.takes_two) roles.push_back(weft::blocks = 2);
    schedule_.apply({"specialize_warps", std::move(roles), {}});
    schedule_.stream_results(output());
  }

  /// Pixels and images of a convolution are columns of a product: one loop goes over them all.
  LoopName one_loop_over_columns(const std::vector<LoopName>& rows) {
    const std::vector<LoopName> columns(loops_.columns.begin(), loops_.columns.end());
    if (columns.size() == 1) return columns.front();
    std::vector<LoopName> order = columns;
    order.insert(order.end(), rows.begin(), rows.end());
    return schedule_.reorder(order).fuse(columns);
  }

  std::string instruction() const {
    const bool sparse = tiles_.two_of_four;
    // 32 bytes of a row of the weights.
    const std::int64_t k = (sparse ? 64 : 32) / tile_.element_bytes;
    if (tile_.by_warpgroups)
      return fmt::format("wgmma{}_m64n{}k{}", sparse ? "_sp" : "",
                         std::min<std::int64_t>(256, tile_.columns_at_once()), k);
    if (sparse || tile_.element_bytes == 1) return fmt::format("mma{}_m16n8k{}", sparse ? "_sp" : "", k);
    return numbers_.instruction == ShflBwInstruction::mma_m16n8k16 ? "mma_m16n8k16" : "mma_m16n8k8";
  }

  std::string output() const {
    const Algorithm& algorithm = schedule_.algorithm();
    return algorithm.operands[algorithm.output.operand].name;
  }

  void copy_ahead(const LoopName& blocks) {
    const std::string weights = schedule_.algorithm().sparse_operand()->name;
    const auto copy = [&](const auto&... buffers) {
      schedule_.stage(weights + ".values", shared, at = blocks, buffers...)
          .stitch(loops_.dense, shared, at = blocks, buffers...);
      if (tiles_.two_of_four) schedule_.stage(weights + ".metadata", shared, at = blocks, buffers...);
    };
    // One buffer is what these steps take when nothing is said.
    *numbers_.stages > 1 ? copy(depth = *numbers_.stages) : copy();
  }

  GatheredProduct loops_;
  ShflBwKnobs numbers_;
  GroupTiles tiles_;
  grouped::Tile<std::int64_t> tile_;
  Extent extent_;
  Schedule schedule_;
};

}  // namespace

std::shared_ptr<const SparseTensor> in_tiles(std::shared_ptr<const SparseTensor> weights,
                                             const ShflBwKnobs& knobs) {
  const Format& format = weights->format();
  const GroupTiles tiles = group_tiles(*weights);
  const std::int64_t rows = knobs.tile_m.value_or(tiles.rows), deep = knobs.tile_k.value_or(tiles.places);
  // These have no groups of their own: their rows come as they are.
  if (rows > tiles.rows && format.name != "n_m" && format.name != "column_quads")
    throw UserError("a tile has rows of one group", format.text(), fmt::format("tile_m = {}", rows),
                    fmt::format("at most V = {}", tiles.rows));
  if (rows == tiles.rows && deep == tiles.places) return weights;
  Format other = format;
  other.parameters["V"] = rows;
  other.parameters["k"] = deep;
  return weights->repacked(other);
}

GroupTiles group_tiles(const SparseTensor& weights) {
  const std::vector<std::int64_t>& shape = weights.array("values").shape();
  const auto kept = std::ranges::find(weights.levels(), LevelKind::n_of_m, &Level::kind);
  const bool two_of_four = kept != weights.levels().end();
  return {shape.at(1), shape.at(2) * (two_of_four ? slots_of_quad / kept_of_quad : 1), two_of_four,
          static_cast<std::int64_t>(size_of(weights.dtype())),
          two_of_four && !kept->begin.empty() &&
              takes_two_blocks(weights.array("values"), weights.rows(), weights.columns())};
}

bool takes_two_blocks(const Array& values, std::int64_t height, std::int64_t width) {
  const auto bits = [](const auto& value) { return value.bits != 0; };
  const auto stored = values.dtype() == DType::f16    ? std::ranges::count_if(values.as<f16>(), bits)
                      : values.dtype() == DType::bf16 ? std::ranges::count_if(values.as<bf16>(), bits)
                                                      : 0;
  return grouped::takes_two_blocks(stored, height, width);
}

bool has_grouped_product(const RecipeNeeds& needs, const Algorithm& algorithm, const SparseTensor& weights,
                         const Target& target) {
  if (!reads_bytes(algorithm, weights)) require_halves(needs, algorithm, weights);
  // Blocks of rows and columns; an array made by hand may lie otherwise.
  if (weights.array("values").shape().size() < 3)
    refuse_recipe(needs, algorithm, "weights in " + weights.format().text(),
                  "weights whose values lie in tiles of rows and columns (formats shfl_bw, vector_wise, n_m, "
                  "v_n_m), or default_schedule(algorithm, weights, target)");
  const GroupTiles tiles = group_tiles(weights);
  if (tiles.rows < rows_of_warp)
    refuse_recipe(
        needs, algorithm, fmt::format("groups of {} rows in {}", tiles.rows, weights.format().text()),
        fmt::format("V = {} or more, as an instruction takes, or default_schedule(algorithm, weights, "
                    "target)",
                    rows_of_warp));
  if (!has_columns(algorithm, ordered_product(algorithm)))
    refuse_recipe(needs, algorithm, "an algorithm of another form",
                  "a product C[m, n] = sum of A[m, k] B[k, n], or a convolution of known size; else "
                  "default_schedule(algorithm, weights, target)");
  if (reads_bytes(algorithm, weights)) return has_tensor_cores_for_bytes(target, weights.dtype());
  return has_tensor_cores_for(target, weights.dtype()) &&
         (!tiles.two_of_four || target.has(Capability::sparse_tensor_cores));
}

Schedule grouped_product(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                         const Target& target, const ShflBwKnobs& knobs) {
  weights = in_tiles(std::move(weights), knobs);
  const ShflBwKnobs numbers = grouped_numbers(algorithm, *weights, target, knobs);
  return Grouped(std::move(algorithm), std::move(weights), target, numbers)();
}

std::optional<KnobValues> grouped_point(const Algorithm& algorithm,
                                        std::shared_ptr<const SparseTensor> weights, const Target& target,
                                        const ShflBwKnobs& knobs) {
  weights = in_tiles(std::move(weights), knobs);
  KnobValues point = values_of(shfl_bw_knobs(), grouped_numbers(algorithm, *weights, target, knobs));
  if (point.extract("cluster").mapped() > 1) return std::nullopt;
  if (!is_float_of_a_byte(weights->dtype())) point.erase("promote");
  if (!can_gather_elements(algorithm, weights->format())) point.erase("elements");
  point["line"] = std::min(point["line"], point["warp_n"]);
  return point;
}

}  // namespace weft
