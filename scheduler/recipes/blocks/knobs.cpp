#include <weft/scheduler/recipes/blocks/hb_ell.h>
#include <weft/scheduler/recipes/blocks/hb_ell_swmma.h>

#include <string_view>

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
    list_of(RecipeKnob<HbEllSwmmaKnobs>{"warps_m", set<&HbEllSwmmaKnobs::warps_m, HbEllSwmmaKnobs>,
                                        number<&HbEllSwmmaKnobs::warps_m>, most_warps},
            RecipeKnob<HbEllSwmmaKnobs>{"warps_n", set<&HbEllSwmmaKnobs::warps_n, HbEllSwmmaKnobs>,
                                        number<&HbEllSwmmaKnobs::warps_n>, most_warps});

}  // namespace

std::span<const RecipeKnob<HbEllKnobs>> hb_ell_knobs() {
  return hb_ell_list;
}

std::span<const RecipeKnob<HbEllSwmmaKnobs>> hb_ell_swmma_knobs() {
  return hb_ell_swmma_list;
}

}  // namespace weft
