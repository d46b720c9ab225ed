#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/recipe_knobs.h>

#include <algorithm>
#include <array>
#include <type_traits>

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

/// 0 leaves a plain number, and a word, to the recipe.
template <auto Member, class Knobs>
std::optional<std::int64_t> get(const Knobs& knobs) {
  const auto& value = knobs.*Member;
  if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::optional<std::int64_t>>) {
    return value;
  } else {
    const auto number = static_cast<std::int64_t>(value);
    return number == 0 ? std::nullopt : std::optional(number);
  }
}

template <auto Member, class Knobs>
constexpr RecipeKnob<Knobs> knob_of(std::string_view name, std::int64_t most, std::int64_t least,
                                    std::span<const std::string_view> words = {}, std::int64_t multiple = 1) {
  return {name, set<Member, Knobs>, get<Member, Knobs>, most, least, words, multiple};
}

template <auto Member>
constexpr RecipeKnob<SparseRtKnobs> sparsert_knob(std::string_view name, std::int64_t most,
                                                  std::span<const std::string_view> words = {}) {
  return knob_of<Member, SparseRtKnobs>(name, most, 1, words);
}

template <auto Member>
constexpr RecipeKnob<ShflBwKnobs> shfl_bw_knob(std::string_view name, std::int64_t most,
                                               std::int64_t least = 1,
                                               std::span<const std::string_view> words = {},
                                               std::int64_t multiple = 1) {
  return knob_of<Member, ShflBwKnobs>(name, most, least, words, multiple);
}

template <auto Member>
constexpr RecipeKnob<HbEllKnobs> hb_ell_knob(std::string_view name, std::int64_t most,
                                             std::int64_t multiple = 1) {
  return knob_of<Member, HbEllKnobs>(name, most, 1, {}, multiple);
}

// What no GPU has more of, and what no kernel gains from more of.
constexpr std::int64_t most_threads = 1024, most_warps = 32, lanes_of_warp = 32, most_buffers = 8;
constexpr std::int64_t most_tile = 1024, most_of_lane = 64, most_registers = 255;
/// Of the instructions that multiply tiles; runs of results are of as many columns.
constexpr std::int64_t rows_of_instruction = 16, columns_of_instruction = 8;
constexpr std::int64_t most_blocks = 65'535, most_rows = 1 << 20;

constexpr std::array sparsert_list{
    sparsert_knob<&SparseRtKnobs::form>("form", 1, forms),
    sparsert_knob<&SparseRtKnobs::rows>("rows", most_tile),
    sparsert_knob<&SparseRtKnobs::threads>("threads", most_threads),
    sparsert_knob<&SparseRtKnobs::groups>("groups", most_warps),
    sparsert_knob<&SparseRtKnobs::columns>("columns", most_of_lane),
    sparsert_knob<&SparseRtKnobs::lanes>("lanes", lanes_of_warp),
    sparsert_knob<&SparseRtKnobs::places>("places", most_of_lane),
    sparsert_knob<&SparseRtKnobs::parts>("parts", most_blocks),
    sparsert_knob<&SparseRtKnobs::panel_rows>("panel_rows", most_rows),
    sparsert_knob<&SparseRtKnobs::lines>("lines", most_blocks),
    sparsert_knob<&SparseRtKnobs::image>("image", 1, images),
    sparsert_knob<&SparseRtKnobs::order>("order", 1, orders),
    sparsert_knob<&SparseRtKnobs::chunk>("chunk", most_rows),
    sparsert_knob<&SparseRtKnobs::depth>("depth", most_buffers),
};
// Three of them take the room of two numbers.
static_assert(sizeof(SparseRtKnobs) == (sparsert_list.size() - 1) * sizeof(std::int64_t),
              "SparseRtKnobs has a knob without a name");

constexpr std::array shfl_bw_list{
    shfl_bw_knob<&ShflBwKnobs::tile_m>("tile_m", most_tile),
    shfl_bw_knob<&ShflBwKnobs::tile_n>("tile_n", most_tile),
    shfl_bw_knob<&ShflBwKnobs::tile_k>("tile_k", most_tile),
    shfl_bw_knob<&ShflBwKnobs::stages>("stages", most_buffers),
    shfl_bw_knob<&ShflBwKnobs::instruction>("instruction", 1, 1, instructions),
    shfl_bw_knob<&ShflBwKnobs::warp_m>("warp_m", most_tile, 1, {}, rows_of_instruction),
    shfl_bw_knob<&ShflBwKnobs::warp_n>("warp_n", most_tile, 1, {}, columns_of_instruction),
    shfl_bw_knob<&ShflBwKnobs::groups>("groups", most_tile),
    shfl_bw_knob<&ShflBwKnobs::line>("line", most_tile, 1, {}, columns_of_instruction),
    shfl_bw_knob<&ShflBwKnobs::producers>("producers", most_warps, 0),
    shfl_bw_knob<&ShflBwKnobs::producer_registers>("producer_registers", most_registers, 0),
    shfl_bw_knob<&ShflBwKnobs::consumer_registers>("consumer_registers", most_registers, 0),
    shfl_bw_knob<&ShflBwKnobs::blocks>("blocks", most_blocks, 0),
    shfl_bw_knob<&ShflBwKnobs::cluster>("cluster", most_buffers),
};
static_assert(sizeof(ShflBwKnobs) ==
                  (shfl_bw_list.size() - 1) * sizeof(std::optional<std::int64_t>) + sizeof(std::int64_t),
              "ShflBwKnobs has a knob without a name");

constexpr std::array hb_ell_list{
    hb_ell_knob<&HbEllKnobs::tile_m>("tile_m", most_tile, rows_of_instruction),
    hb_ell_knob<&HbEllKnobs::tile_n>("tile_n", most_tile),
    hb_ell_knob<&HbEllKnobs::tile_k>("tile_k", most_tile, rows_of_instruction),
    hb_ell_knob<&HbEllKnobs::warp_m>("warp_m", most_tile, rows_of_instruction),
    hb_ell_knob<&HbEllKnobs::warp_n>("warp_n", most_tile, columns_of_instruction),
    hb_ell_knob<&HbEllKnobs::stages>("stages", most_buffers),
    hb_ell_knob<&HbEllKnobs::groups>("groups", most_tile),
};
static_assert(sizeof(HbEllKnobs) == hb_ell_list.size() * sizeof(std::optional<std::int64_t>),
              "HbEllKnobs has a knob without a name");

// Without a recipe's choice: 0 is a number like others.
template <auto Member>
std::optional<std::int64_t> number(const HbEllSwmmaKnobs& knobs) {
  return knobs.*Member;
}

constexpr std::array hb_ell_swmma_list{
    RecipeKnob<HbEllSwmmaKnobs>{"warps_m", set<&HbEllSwmmaKnobs::warps_m, HbEllSwmmaKnobs>,
                                number<&HbEllSwmmaKnobs::warps_m>, most_warps},
    RecipeKnob<HbEllSwmmaKnobs>{"warps_n", set<&HbEllSwmmaKnobs::warps_n, HbEllSwmmaKnobs>,
                                number<&HbEllSwmmaKnobs::warps_n>, most_warps},
};
static_assert(sizeof(HbEllSwmmaKnobs) == hb_ell_swmma_list.size() * sizeof(std::int64_t),
              "HbEllSwmmaKnobs has a knob without a name");

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

std::span<const RecipeKnob<HbEllSwmmaKnobs>> hb_ell_swmma_knobs() {
  return hb_ell_swmma_list;
}

void require_in_range(std::string_view recipe, std::string_view knob, std::int64_t value, std::int64_t least,
                      std::int64_t most, std::int64_t multiple) {
  if (least <= value && value <= most && value % multiple == 0) return;
  std::string accepted = fmt::format("{} from {} to {}", knob, std::max(least, multiple), most);
  if (multiple > 1) accepted += fmt::format(", a multiple of {}", multiple);
  throw UserError({fmt::format("a knob of {} is out of its range", recipe),
                   {},
                   fmt::format("{} = {}", knob, value),
                   std::move(accepted)});
}

}  // namespace weft
