// %tid, %ctaid, %laneid and their like: PTX ISA, chapter 10.
#include <weft/backends/simulator/machine/control_flow.h>
#include <weft/backends/simulator/machine/machine.h>
#include <weft/backends/simulator/machine/warp.h>

#include <algorithm>

namespace weft::simulator {
namespace {

/// Where a value is asked for.
struct Place {
  const Warp& warp;
  const Block& block;
  const LaunchGrid& grid;
  std::uint64_t lane;
  std::size_t axis;  ///< 0, 1 or 2: .x, .y or .z, of registers that have them

  std::uint64_t lane_bit() const { return std::uint64_t{1} << lane; }
};
using Value = std::uint64_t;

Value thread_coordinate(const Place& at) {
  const auto& size = at.grid.block;
  const Value linear = static_cast<Value>(at.warp.index() * lanes) + at.lane;
  if (at.axis == 0) return linear % size[0];
  return at.axis == 1 ? linear / size[0] % size[1] : linear / size[0] / size[1];
}
Value ticks(const Place& at) {
  return at.warp.machine().ticks();
}

constexpr Value multiprocessors = 128;

struct Special {
  std::string_view name;  ///< with the dot of those that have .x, .y and .z
  std::size_t bytes;      ///< 1 for a predicate
  Value (*value)(const Place& at);
};
constexpr Special specials[] = {
    {"%tid.", 4, thread_coordinate},
    {"%ntid.", 4, [](const Place& at) -> Value { return at.grid.block[at.axis]; }},
    {"%ctaid.", 4, [](const Place& at) -> Value { return at.block.index[at.axis]; }},
    {"%nctaid.", 4, [](const Place& at) -> Value { return at.grid.grid[at.axis]; }},
    {"%laneid", 4, [](const Place& at) { return at.lane; }},
    {"%warpid", 4, [](const Place& at) { return static_cast<Value>(at.warp.index()); }},
    {"%nwarpid", 4, [](const Place& at) -> Value { return at.block.warps.size(); }},
    {"%smid", 4, [](const Place& at) { return at.block.serial % multiprocessors; }},
    {"%nsmid", 4, [](const Place&) { return multiprocessors; }},
    {"%gridid", 8, [](const Place&) { return Value{0}; }},
    {"%clock", 4, ticks},
    {"%clock64", 8, ticks},
    {"%globaltimer", 8, ticks},
    {"%globaltimer_lo", 4, ticks},
    {"%lanemask_eq", 4, [](const Place& at) { return at.lane_bit(); }},
    {"%lanemask_le", 4, [](const Place& at) { return at.lane_bit() | (at.lane_bit() - 1); }},
    {"%lanemask_lt", 4, [](const Place& at) { return at.lane_bit() - 1; }},
    {"%lanemask_ge", 4, [](const Place& at) { return ~(at.lane_bit() - 1); }},
    {"%lanemask_gt", 4, [](const Place& at) { return ~(at.lane_bit() | (at.lane_bit() - 1)); }},
    {"%clusterid.", 4,
     [](const Place& at) -> Value { return at.block.index[at.axis] / at.grid.cluster[at.axis]; }},
    {"%nclusterid.", 4,
     [](const Place& at) -> Value { return at.grid.grid[at.axis] / at.grid.cluster[at.axis]; }},
    {"%cluster_ctaid.", 4,
     [](const Place& at) -> Value { return at.block.index[at.axis] % at.grid.cluster[at.axis]; }},
    {"%cluster_nctaid.", 4, [](const Place& at) -> Value { return at.grid.cluster[at.axis]; }},
    {"%cluster_ctarank", 4, [](const Place& at) -> Value { return at.block.rank; }},
    {"%cluster_nctarank", 4, [](const Place& at) -> Value { return at.block.cluster->size; }},
    {"%is_explicit_cluster", 1, [](const Place& at) -> Value { return at.block.cluster->size > 1 ? 1 : 0; }},
    {"%dynamic_smem_size", 4, [](const Place& at) -> Value { return at.grid.dynamic_shared_bytes; }},
    {"%total_smem_size", 4, [](const Place& at) -> Value { return at.block.shared->bytes; }},
    {"WARP_SZ", 4, [](const Place&) { return Value{lanes}; }},
};
constexpr int axes = 3;

}  // namespace

int special_register(std::string_view name) {
  const std::size_t dot = std::min(name.find('.'), name.size());
  const auto* found = std::ranges::find(specials, name.substr(0, dot + 1), &Special::name);
  const int axis = dot < name.size() ? name.back() - 'x' : 0;
  return found == std::end(specials) || axis < 0 || axis >= axes
             ? -1
             : static_cast<int>(found - std::begin(specials)) * axes + axis;
}

std::size_t special_bytes(int number) {
  return specials[number / axes].bytes;
}

void read_special(Warp& warp, const Operation& operation) {
  const Special& special = specials[operation.variant / axes];
  const auto value = [&, axis = static_cast<std::size_t>(operation.variant % axes)](std::size_t lane) {
    return special.value({warp, warp.block(), warp.machine().grid(), lane, axis});
  };
  if (special.bytes == 1) return warp.set_mask(operation, 0, value(0) != 0 ? all_lanes : 0);
  for (const std::size_t lane : lanes_of(warp.active())) {
    if (special.bytes == 8)
      warp.result<std::uint64_t>(operation, 0)[lane] = value(lane);
    else
      warp.result<std::uint32_t>(operation, 0)[lane] = static_cast<std::uint32_t>(value(lane));
  }
}

}  // namespace weft::simulator
