#include <weft/scheduler/recipes/grouped/shfl_bw.h>

#include <string_view>

namespace weft {
namespace {

using namespace recipe_knobs;

constexpr std::array<std::string_view, 3> instructions{"mma_m16n8k8", "mma_m16n8k16", "wgmma"};

constexpr auto shfl_bw_list = list_of(
    knob_of<&ShflBwKnobs::tile_m>("tile_m", most_tile), knob_of<&ShflBwKnobs::tile_n>("tile_n", most_tile),
    knob_of<&ShflBwKnobs::tile_k>("tile_k", most_tile), knob_of<&ShflBwKnobs::stages>("stages", most_buffers),
    knob_of<&ShflBwKnobs::instruction>("instruction", 1, 1, instructions),
    knob_of<&ShflBwKnobs::warp_m>("warp_m", most_tile, 1, {}, rows_of_instruction),
    knob_of<&ShflBwKnobs::warp_n>("warp_n", most_tile, 1, {}, columns_of_instruction),
    knob_of<&ShflBwKnobs::groups>("groups", most_tile),
    knob_of<&ShflBwKnobs::line>("line", most_tile, 1, {}, columns_of_instruction),
    knob_of<&ShflBwKnobs::producers>("producers", most_warps, 0),
    knob_of<&ShflBwKnobs::producer_registers>("producer_registers", most_registers, 0),
    knob_of<&ShflBwKnobs::consumer_registers>("consumer_registers", most_registers, 0),
    knob_of<&ShflBwKnobs::blocks>("blocks", most_blocks, 0),
    knob_of<&ShflBwKnobs::cluster>("cluster", most_buffers));

}  // namespace

std::span<const RecipeKnob<ShflBwKnobs>> shfl_bw_knobs() {
  return shfl_bw_list;
}

}  // namespace weft
