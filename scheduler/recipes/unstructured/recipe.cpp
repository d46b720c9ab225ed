#include <weft/scheduler/recipes/unstructured/choices.h>
#include <weft/scheduler/recipes/unstructured/form.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>

namespace weft {
namespace {

using namespace recipe_knobs;

constexpr std::array<std::string_view, 4> forms{"baked", "streaming", "row_per_warp", "pieces"};
constexpr std::array<std::string_view, 2> images{"staged", "clamped"};
constexpr std::array<std::string_view, 2> orders{"given", "dealt"};

constexpr auto sparsert_list = list_of(
    knob_of<&SparseRtKnobs::form>("form", 1, 1, forms), knob_of<&SparseRtKnobs::rows>("rows", most_tile),
    knob_of<&SparseRtKnobs::threads>("threads", most_threads),
    knob_of<&SparseRtKnobs::groups>("groups", most_warps),
    knob_of<&SparseRtKnobs::columns>("columns", most_of_lane),
    knob_of<&SparseRtKnobs::lanes>("lanes", lanes_of_warp),
    knob_of<&SparseRtKnobs::places>("places", most_of_lane),
    knob_of<&SparseRtKnobs::parts>("parts", most_blocks),
    knob_of<&SparseRtKnobs::panel_rows>("panel_rows", most_rows),
    knob_of<&SparseRtKnobs::lines>("lines", most_blocks),
    knob_of<&SparseRtKnobs::image>("image", 1, 1, images),
    knob_of<&SparseRtKnobs::order>("order", 1, 1, orders), knob_of<&SparseRtKnobs::chunk>("chunk", most_rows),
    knob_of<&SparseRtKnobs::depth>("depth", most_buffers));

}  // namespace

std::span<const KnobField<SparseRtKnobs>> sparsert_knobs() {
  return sparsert_list;
}

Recipe sparsert_recipe() {
  return {
      .name = "sparsert",
      .summary = "unstructured weights as instructions, or read by warps that share rows evenly",
      .is_format = [](const Format& format) { return format.name == "csr"; },
      .formats = "csr",
      .knobs = rows_of(sparsert_knobs()),
      .some_knobs = "form=baked,rows=32",
      .example =
          "weft verify --weights made:M=256,K=512,sparsity=0.9 --n 64 --device sim:sm_80 "
          "--recipe sparsert:form=baked,rows=32",
      .why_not = why_no_sparsert,
      .choices = sparsert_choices,
      .filled = filled_sparsert,
      .write = written<SparseRtKnobs, sparsert, sparsert_knobs>,
      .time = bounds::of_unstructured,
  };
}

}  // namespace weft
