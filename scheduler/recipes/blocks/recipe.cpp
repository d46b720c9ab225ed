#include <weft/scheduler/recipes/blocks/choices.h>
#include <weft/scheduler/recipes/blocks/hb_ell.h>
#include <weft/scheduler/recipes/blocks/hb_ell_swmma.h>

namespace weft {
namespace {

using namespace recipe_knobs;

constexpr auto hb_ell_list = list_of(
    knob_of<&HbEllKnobs::tile_m>("tile_m", most_tile, 1, {}, rows_of_instruction),
    knob_of<&HbEllKnobs::tile_n>("tile_n", most_tile),
    knob_of<&HbEllKnobs::tile_k>("tile_k", most_tile, 1, {}, rows_of_instruction),
    knob_of<&HbEllKnobs::warp_m>("warp_m", most_tile, 1, {}, rows_of_instruction),
    knob_of<&HbEllKnobs::warp_n>("warp_n", most_tile, 1, {}, columns_of_instruction),
    knob_of<&HbEllKnobs::stages>("stages", most_buffers), knob_of<&HbEllKnobs::groups>("groups", most_tile));

// Without a recipe's choice: 0 is a number like others.
template <auto Member>
std::optional<std::int64_t> number(const HbEllSwmmaKnobs& knobs) {
  return knobs.*Member;
}

constexpr auto hb_ell_swmma_list =
    list_of(KnobField<HbEllSwmmaKnobs>{{"warps_m", most_warps},
                                       set<&HbEllSwmmaKnobs::warps_m, HbEllSwmmaKnobs>,
                                       number<&HbEllSwmmaKnobs::warps_m>},
            KnobField<HbEllSwmmaKnobs>{{"warps_n", most_warps},
                                       set<&HbEllSwmmaKnobs::warps_n, HbEllSwmmaKnobs>,
                                       number<&HbEllSwmmaKnobs::warps_n>});

}  // namespace

std::span<const KnobField<HbEllKnobs>> hb_ell_knobs() {
  return hb_ell_list;
}

std::span<const KnobField<HbEllSwmmaKnobs>> hb_ell_swmma_knobs() {
  return hb_ell_swmma_list;
}

Recipe hb_ell_recipe() {
  return {
      .name = "hb_ell",
      .summary = "weights in blocks of 16 x 16, each as wide as it has to be, on tensor cores",
      .is_format = [](const Format& format) { return format.name == "hb_ell"; },
      .formats = "hb_ell",
      .of_halves = true,
      .knobs = rows_of(hb_ell_knobs()),
      .some_knobs = "tile_n=256,stages=3",
      .example =
          "weft verify --weights made:M=256,K=512,sparsity=0.9 --dtype f16 --n 64 "
          "--device sim:sm_80 --format hb_ell --recipe hb_ell:tile_n=64",
      .why_not = why_no_hb_ell,
      .choices = hb_ell_choices,
      .choose = hb_ell_point,
      .write = written<HbEllKnobs, hb_ell, hb_ell_knobs>,
      .time = bounds::of_blocks,
  };
}

}  // namespace weft
