#include <weft/scheduler/limits/resource_constraints.h>
#include <weft/scheduler/recipes/parts/conditions.h>
#include <weft/scheduler/recipes/unstructured/choices.h>
#include <weft/scheduler/recipes/unstructured/image.h>

#include <algorithm>
#include <vector>

namespace weft {
namespace {

constexpr std::int64_t staged_image = number_of(SparseRtImage::staged),
                       clamped_image = number_of(SparseRtImage::clamped);

ImageCut<Expr> cut_of_knobs() {
  return {v("rows"), v("lines"), v("groups"), clamped_image - v("image")};
}

void fitting_registers(Conditions& list, const char* name, const char* text, const SparseRtConvolution& image,
                       const Target& target, const SpaceOptions& options, std::int64_t more) {
  const Expr threads = image.warps(cut_of_knobs()) * v("groups") * 32;
  list.sum_at_most(name, text, "registers", {{"sums", v("rows")}, {"addresses", reserved_registers + more}},
                   registers_there(target, options, threads));
}

std::vector<Constraint> constraints_of(const SparseRtConvolution& image, const Target& target,
                                       const SpaceOptions& options) {
  const ImageCut<Expr> cut = cut_of_knobs();
  Conditions list;
  list.at_most("warps", "warps of a block, those of all groups", "warps", image.warps(cut) * v("groups"),
               SparseRtConvolution::most_warps);
  list.at_most("staged image", "an image of which later lines read earlier pixels is not staged", {},
               cut.staged, image.goes_forward() ? 1 : 0);
  list.nothing("groups of channels",
               "filters of a block that are neither whole groups of channels nor in one",
               cut.staged * image.filters_across_groups(v("rows")));
  list.sum_at_most("shared memory", "bytes of shared memory of a block", "B",
                   {{"image", cut.staged * image.bytes_of_tile(cut)},
                    {"sums", image.bytes_of_sums(cut)},
                    {"ends of arrays", SparseRtConvolution::ends_of_arrays}},
                   target.shared_bytes_per_block);
  fitting_registers(list, "registers", "32-bit registers of a thread", image, target, options, 0);
  return list.take();
}

std::vector<Constraint> preferences_of(const SparseRtConvolution& image, const WeightMatrix& weights,
                                       const Target& target, const SpaceOptions& options) {
  Conditions list;
  const std::int64_t stored = weights.stored();
  const Expr row_blocks = ir::ceil_divide(image.filters(), v("rows"));
  const Expr blocks = row_blocks * ir::ceil_divide(image.lines(), v("lines")) * image.images();
  // Of many images, long code is worth more, and so are few blocks.
  const std::int64_t most_entries = 900 * std::max<std::int64_t>(1, image.images() / 4);
  const std::int64_t most_blocks = std::max<std::int64_t>(420, 16 * image.images());
  const Expr entries = stored / row_blocks / v("groups");
  list.at_most("compile time", "entries of code, which takes a minute for each 100,000", "entries", stored,
               150'000);
  list.at_most("lines there are", "lines of a block", "lines", v("lines"), image.lines() + 3);
  list.at_most("blocks", "blocks of all images", "blocks", 50, blocks);
  list.at_most("blocks (2)", "blocks of all images", "blocks", blocks, most_blocks);
  list.at_most("code of a group", "entries of a group", "entries", entries, most_entries);
  list.at_most("share of a group", "entries of a group, where there are several", "entries",
               ir::minimum(v("groups") - 1, 1) * 24, entries);
  list.at_most("rows of a clamped image", "filters that share a read of it", "rows",
               (v("image") - staged_image) * 8, v("rows"));
  if (!image.has_groups()) {
    const Expr order = expected_order(weights, SparseRtConvolution::rows_tried);
    list.at_most("order", "filters dealt where blocks are uneven", {}, order, v("order"));
    list.at_most("order (2)", "filters as they come where blocks are even", {}, v("order"), order);
  }
  fitting_registers(list, "expected registers", "32-bit registers of a thread, as far as can be foretold",
                    image, target, options, options.more_registers);
  return list.take();
}

}  // namespace

RecipeChoices image_choices(const SpaceProblem& problem, const Target& target, const SpaceOptions& options) {
  const WeightMatrix& weights = *problem.matrix;
  const SparseRtConvolution image(problem.algorithm, weights.rows, weights.columns, weights.stored(),
                                  convolution_loops(problem.algorithm));
  const auto& rows = SparseRtConvolution::rows_tried;
  const auto& shares = SparseRtConvolution::groups_tried;
  std::vector<std::int64_t> orders{given_order};
  if (!image.has_groups()) orders.push_back(dealt_order);
  return {.knobs = {{"image", {staged_image, clamped_image}},
                    {"rows", {rows.begin(), rows.end()}},
                    {"lines", image.lines_worth_trying()},
                    {"groups", {shares.begin(), shares.end()}},
                    {"order", orders}},
          .limits = constraints_of(image, target, options),
          .worth = preferences_of(image, weights, target, options)};
}

}  // namespace weft
