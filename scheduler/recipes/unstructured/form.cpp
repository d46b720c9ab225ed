#include <weft/scheduler/recipes/unstructured/choices.h>
#include <weft/scheduler/recipes/unstructured/form.h>
#include <weft/scheduler/recipes/unstructured/image.h>
#include <weft/scheduler/recipes/unstructured/pieces.h>

namespace weft {
namespace {

BakedSize size_of_problem(const ProblemSummary& problem) {
  constexpr std::int64_t bytes_of_sum = 4;  // in f32
  return {problem.m, problem.k, problem.stored, problem.n, bytes_of_sum};
}

void set(KnobValues& point, const char* name, std::int64_t value) {
  std::int64_t& there = point[name];
  if (there == 0) there = value;
}

void fill(KnobValues& point, const HeldCut& cut) {
  set(point, "rows", cut.rows);
  set(point, "threads", cut.threads);
}
void fill(KnobValues& point, const ChunkedCut& cut) {
  set(point, "rows", cut.rows);
  set(point, "threads", cut.threads);
  set(point, "chunk", cut.chunk);
  set(point, "depth", cut.depth);
}
void fill(KnobValues& point, const BakedCut& cut) {
  set(point, "rows", cut.rows);
  set(point, "threads", cut.threads);
  set(point, "groups", cut.groups);
}
void fill(KnobValues& point, const ImageCut<std::int64_t>& cut) {
  set(point, "rows", cut.rows);
  set(point, "lines", cut.lines);
  set(point, "groups", cut.groups);
  set(point, "image", number_of(cut.staged != 0 ? SparseRtImage::staged : SparseRtImage::clamped));
}

/// Whether a warp has all columns of a row, and little of it is idle: entries in equal pieces of rows may
/// then be read faster than their code is.
bool fit_a_warp(std::int64_t dense_columns) {
  return recipe_knobs::lanes_of_warp < dense_columns && dense_columns <= columns_of_pieces;
}

}  // namespace

SparseRtForm form_beside_pieces(const BakedSize& size, bool is_known, const Target& target) {
  const bool code_is_faster =
      reads_from_threads(size, target) || (is_known && fill_wide_blocks(size.rows, size.columns));
  const bool few = size.columns <= few_columns;
  if (size.stored <= entries_in_caches || ((few || code_is_faster) && size.stored <= most_baked_entries))
    return SparseRtForm::baked;
  return few ? SparseRtForm::row_per_warp : SparseRtForm::streaming;
}

SparseRtForm form_by_size(const BakedSize& size, bool is_known, const Target& target) {
  if (fit_a_warp(size.columns)) {
    const BakedProduct code(size, target);
    if (pieces_microseconds(size.stored) < code.microseconds(code.cheapest({}))) return SparseRtForm::pieces;
  }
  return form_beside_pieces(size, is_known, target);
}

KnobValues filled_sparsert(const ProblemSummary& problem, const KnobValues& point, const Target& target) {
  KnobValues filled = point;
  if (const auto image = convolution_of(problem)) {
    if (const auto cut = image->cheapest(knobs_of(sparsert_knobs(), point), target)) fill(filled, *cut);
    return filled;
  }
  const BakedSize size = size_of_problem(problem);
  set(filled, "form", number_of(form_by_size(size, true, target)));
  if (filled.at("form") == number_of(SparseRtForm::baked)) {
    const BakedPlan plan = baked_plan(size, true, target, knobs_of(sparsert_knobs(), filled));
    std::visit([&](const auto& cut) { fill(filled, cut); }, plan);
  }
  return filled;
}

}  // namespace weft
