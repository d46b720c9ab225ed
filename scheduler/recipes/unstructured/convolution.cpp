#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/product.h>
#include <weft/scheduler/recipes/unstructured/convolution.h>
#include <weft/scheduler/recipes/unstructured/image.h>
#include <weft/scheduler/recipes/unstructured/order.h>

#include <algorithm>

namespace weft {
namespace {

constexpr std::int64_t most_pixels = 512;  ///< pixels of a line: its warps share a block

using Cut = ImageCut<std::int64_t>;

/// The cheapest cut that the knobs allow; InfeasibleError, with knobs that fit, where none does.
Cut cheapest_cut(const SparseRtConvolution& image, const Target& target, const SparseRtKnobs& knobs) {
  if (const auto cut = image.cheapest(knobs, target)) return *cut;
  const auto number = [](std::int64_t knob, std::int64_t least) { return knob > 0 ? knob : least; };
  const Cut least{number(knobs.rows, SparseRtConvolution::rows_tried.front()),
                  number(knobs.lines, image.lines_of_warp()), number(knobs.groups, 1),
                  knobs.image != SparseRtImage::clamped ? 1 : 0};
  const std::string limits = fmt::format("at most {} warps and {} bytes", SparseRtConvolution::most_warps,
                                         target.shared_bytes_per_block);
  const auto other = image.cheapest({}, target);
  throw InfeasibleError(
      fmt::format("no cut of the convolution fits {}", target.name),
      fmt::format("{} filters, {} lines and {} groups of {} warps: {} bytes of shared memory", least.rows,
                  least.lines, least.groups, image.warps(least), image.shared_bytes(least)),
      !other ? limits
             : fmt::format("{}, as with rows = {}, lines = {}, groups = {}, image = {}", limits, other->rows,
                           other->lines, other->groups, other->staged != 0 ? "staged" : "clamped"));
}

void refuse_idle(const SparseRtKnobs& knobs, const std::string& algorithm) {
  const IdleKnobs idle(algorithm, "a convolution");
  const char* const of_product = "a product";
  if (knobs.form != SparseRtForm::baked) idle.refuse(static_cast<std::int64_t>(knobs.form), "form", "baked");
  idle.refuse(knobs.threads, "threads", "lines, from which they follow");
  idle.refuse(knobs.columns, "columns", of_product);
  idle.refuse(knobs.lanes, "lanes", of_product);
  idle.refuse(knobs.places, "places", of_product);
  idle.refuse(knobs.parts, "parts", of_product);
  idle.refuse(knobs.panel_rows, "panel_rows", of_product);
  idle.refuse(knobs.chunk, "chunk", of_product);
  idle.refuse(knobs.depth, "depth", of_product);
}

}  // namespace

ConvolutionLoops convolution_loops(const Algorithm& algorithm) {
  const Operand* sparse = algorithm.sparse_operand();
  if (sparse == nullptr || sparse->shape.size() < 4 || sparse->shape.size() > 5) return {};
  ConvolutionLoops loops;
  std::vector<std::string> rows, others;
  for (const TensorAccess& factor : algorithm.factors) {
    if (&algorithm.operands[factor.operand] != sparse) continue;
    for (const AffineIndex& index : factor.indices) {
      if (!algorithm.index(*index.plain()).reduction) rows.push_back(*index.plain());
    }
  }
  for (const IndexVariable& index : algorithm.indices) {
    if (index.reduction) continue;
    if (std::ranges::find(rows, index.name) == rows.end()) others.push_back(index.name);
  }
  if (rows.size() + 3 != sparse->shape.size() || others.size() < 2 || others.size() > 3) return {};
  for (const std::string& name : others) {
    if (!extent_of(algorithm, name).is_static()) return {};
  }
  // Images that fill warps are to them what pixels of a line are: each line of an image is an image then.
  if (images_fill_warps(algorithm)) std::ranges::rotate(others, others.begin() + 1);
  if (extent_of(algorithm, others.back()).value > most_pixels) return {};
  loops.pixels = others.back();
  loops.lines = others[others.size() - 2];
  if (others.size() == 3) loops.batch = others.front();
  for (const std::string& name : rows) loops.filters += (loops.filters.empty() ? "" : "_") + name;
  return loops;
}

/// A lane has one pixel of one to 32 columns of several lines; further columns and lines go to further warps.
/// Coordinates are constants of the code. Where the lines of a block and those around them that filters reach
/// fit shared memory, they lie there with zeros around the image: a read is one instruction with a constant
/// offset. Elsewhere reads go to the image itself, clamped at its border.
Schedule sparsert_convolution(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                              const Target& target, const ConvolutionLoops& loops,
                              const SparseRtKnobs& knobs) {
  refuse_idle(knobs, algorithm.name);
  const SparseRtConvolution image(algorithm, weights->rows(), weights->columns(),
                                  weights->array("values").size(), loops);
  const Cut cut = cheapest_cut(image, target, knobs);
  const std::string sum = sum_loop(algorithm);
  const std::string dense = algorithm.operands[dense_operand(algorithm)].name;
  if (auto dealt = dealt_to_blocks(*weights, cut.rows, image.order(knobs.order))) weights = std::move(dealt);
  Schedule result = images_fill_warps(algorithm)
                        ? ordered_schedule(std::move(algorithm), std::move(weights), target)
                        : Schedule(std::move(algorithm), std::move(weights), target);
  require_sum(result);
  result.resident(blocks = image.resident(cut, target));
  const auto [of_filters, of_lines, of_pixels] =
      result.split(loops.filters, cut.rows, loops.lines, cut.lines, loops.pixels, image.columns());
  const auto& [row_blocks, row] = of_filters;
  const auto& [line_blocks, lines] = of_lines;
  const auto& [warps, column] = of_pixels;
  const auto [line_warps, line] = result.split(lines, image.lines_of_warp());
  if (loops.batch.empty())
    result.reorder(row_blocks, line_blocks, line_warps, warps, line, column, row);
  else
    result.reorder(LoopName(loops.batch), row_blocks, line_blocks, line_warps, warps, line, column, row)
        .bind(LoopName(loops.batch), block_z);
  result.bind(row_blocks, block_y).bind(line_blocks, block_x);
  if (cut.staged != 0) result.stage(dense, shared, at = line_blocks);
  result.bind(line_warps, warp).bind(warps, warp).bind(line, lane).bind(column, lane);
  if (cut.groups > 1) result.bind(result.split_k(sum, cut.groups), warp);
  result.bake_values(row);
  return result;
}

}  // namespace weft
