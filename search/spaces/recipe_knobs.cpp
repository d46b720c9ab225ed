#include <weft/search/spaces/recipe_knobs.h>

#include <array>

namespace weft {
namespace {

constexpr std::array<std::string_view, 4> forms{"baked", "streaming", "row_per_warp", "pieces"};
constexpr std::array<std::string_view, 2> images{"staged", "clamped"};
constexpr std::array<std::string_view, 2> orders{"given", "dealt"};
constexpr std::array<std::string_view, 3> instructions{"mma_m16n8k8", "mma_m16n8k16", "wgmma"};

template <auto Member, class Knobs>
void set(Knobs& knobs, std::int64_t value) {
  knobs.*Member = static_cast<std::decay_t<decltype(knobs.*Member)>>(value);
}

template <auto Member>
constexpr RecipeKnob<SparseRtKnobs> sparsert_knob(std::string_view name,
                                                  std::span<const std::string_view> words = {}) {
  return {name, set<Member, SparseRtKnobs>, 1, words};
}

template <auto Member>
constexpr RecipeKnob<ShflBwKnobs> shfl_bw_knob(std::string_view name, std::int64_t least = 1,
                                               std::span<const std::string_view> words = {}) {
  return {name, set<Member, ShflBwKnobs>, least, words};
}

template <auto Member>
constexpr RecipeKnob<HbEllKnobs> hb_ell_knob(std::string_view name) {
  return {name, set<Member, HbEllKnobs>};
}

constexpr std::array sparsert_list{
    sparsert_knob<&SparseRtKnobs::form>("form", forms),
    sparsert_knob<&SparseRtKnobs::rows>("rows"),
    sparsert_knob<&SparseRtKnobs::threads>("threads"),
    sparsert_knob<&SparseRtKnobs::groups>("groups"),
    sparsert_knob<&SparseRtKnobs::columns>("columns"),
    sparsert_knob<&SparseRtKnobs::lanes>("lanes"),
    sparsert_knob<&SparseRtKnobs::places>("places"),
    sparsert_knob<&SparseRtKnobs::parts>("parts"),
    sparsert_knob<&SparseRtKnobs::panel_rows>("panel_rows"),
    sparsert_knob<&SparseRtKnobs::lines>("lines"),
    sparsert_knob<&SparseRtKnobs::image>("image", images),
    sparsert_knob<&SparseRtKnobs::order>("order", orders),
    sparsert_knob<&SparseRtKnobs::chunk>("chunk"),
    sparsert_knob<&SparseRtKnobs::depth>("depth"),
};
// Three of them take the room of two numbers.
static_assert(sizeof(SparseRtKnobs) == (sparsert_list.size() - 1) * sizeof(std::int64_t),
              "SparseRtKnobs has a knob without a name");

constexpr std::array shfl_bw_list{
    shfl_bw_knob<&ShflBwKnobs::tile_m>("tile_m"),
    shfl_bw_knob<&ShflBwKnobs::tile_n>("tile_n"),
    shfl_bw_knob<&ShflBwKnobs::tile_k>("tile_k"),
    shfl_bw_knob<&ShflBwKnobs::stages>("stages"),
    shfl_bw_knob<&ShflBwKnobs::instruction>("instruction", 1, instructions),
    shfl_bw_knob<&ShflBwKnobs::warp_m>("warp_m"),
    shfl_bw_knob<&ShflBwKnobs::warp_n>("warp_n"),
    shfl_bw_knob<&ShflBwKnobs::groups>("groups"),
    shfl_bw_knob<&ShflBwKnobs::line>("line"),
    shfl_bw_knob<&ShflBwKnobs::producers>("producers", 0),
    shfl_bw_knob<&ShflBwKnobs::producer_registers>("producer_registers", 0),
    shfl_bw_knob<&ShflBwKnobs::consumer_registers>("consumer_registers", 0),
    shfl_bw_knob<&ShflBwKnobs::blocks>("blocks", 0),
    shfl_bw_knob<&ShflBwKnobs::cluster>("cluster"),
};
static_assert(sizeof(ShflBwKnobs) ==
                  (shfl_bw_list.size() - 1) * sizeof(std::optional<std::int64_t>) + sizeof(std::int64_t),
              "ShflBwKnobs has a knob without a name");

constexpr std::array hb_ell_list{
    hb_ell_knob<&HbEllKnobs::tile_m>("tile_m"), hb_ell_knob<&HbEllKnobs::tile_n>("tile_n"),
    hb_ell_knob<&HbEllKnobs::tile_k>("tile_k"), hb_ell_knob<&HbEllKnobs::warp_m>("warp_m"),
    hb_ell_knob<&HbEllKnobs::warp_n>("warp_n"), hb_ell_knob<&HbEllKnobs::stages>("stages"),
    hb_ell_knob<&HbEllKnobs::groups>("groups"),
};
static_assert(sizeof(HbEllKnobs) == hb_ell_list.size() * sizeof(std::optional<std::int64_t>),
              "HbEllKnobs has a knob without a name");

}  // namespace

std::span<const RecipeKnob<SparseRtKnobs>> sparsert_knobs() {
  return sparsert_list;
}

std::span<const RecipeKnob<ShflBwKnobs>> shfl_bw_knobs() {
  return shfl_bw_list;
}

std::span<const RecipeKnob<HbEllKnobs>> hb_ell_knobs() {
  return hb_ell_list;
}

}  // namespace weft
