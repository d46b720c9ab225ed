// %tid, %ctaid, %laneid and their like: PTX ISA, chapter 10.
#include <weft/backends/simulator/machine/control_flow.h>
#include <weft/backends/simulator/machine/machine.h>
#include <weft/backends/simulator/machine/warp.h>

#include <algorithm>

namespace weft::simulator {
namespace {

/// What read_special knows, in the order of Operation::variant.
enum Special : int {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  clock32,
  clock64,
  globaltimer,
  globaltimer_lo,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  cluster_ctarank,
  cluster_nctarank,
  is_explicit_cluster,
  dynamic_smem_size,
  total_smem_size,
  warp_size,
};

constexpr std::string_view special_names[] = {
    "%tid.x",
    "%tid.y",
    "%tid.z",
    "%ntid.x",
    "%ntid.y",
    "%ntid.z",
    "%ctaid.x",
    "%ctaid.y",
    "%ctaid.z",
    "%nctaid.x",
    "%nctaid.y",
    "%nctaid.z",
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%clock",
    "%clock64",
    "%globaltimer",
    "%globaltimer_lo",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%clusterid.x",
    "%clusterid.y",
    "%clusterid.z",
    "%nclusterid.x",
    "%nclusterid.y",
    "%nclusterid.z",
    "%cluster_ctaid.x",
    "%cluster_ctaid.y",
    "%cluster_ctaid.z",
    "%cluster_nctaid.x",
    "%cluster_nctaid.y",
    "%cluster_nctaid.z",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%is_explicit_cluster",
    "%dynamic_smem_size",
    "%total_smem_size",
    "WARP_SZ",
};

std::uint32_t thread_coordinate(const Warp& warp, int lane, int axis) {
  const auto& size = warp.machine().grid().block;
  const auto linear = static_cast<std::uint32_t>(warp.index() * lanes + lane);
  if (axis == 0) return linear % size[0];
  return axis == 1 ? linear / size[0] % size[1] : linear / size[0] / size[1];
}

std::uint32_t of_cluster(const Warp& warp, int number) {
  const LaunchGrid& grid = warp.machine().grid();
  const auto axis = static_cast<std::size_t>((number - clusterid_x) % 3);
  const Block& block = warp.block();
  switch ((number - clusterid_x) / 3) {
    case 0:
      return block.index[axis] / grid.cluster[axis];
    case 1:
      return grid.grid[axis] / grid.cluster[axis];
    case 2:
      return block.index[axis] % grid.cluster[axis];
    default:
      return grid.cluster[axis];
  }
}

/// The value of a special register that is the same in every lane of the warp.
std::uint64_t uniform_value(const Warp& warp, int number) {
  const LaunchGrid& grid = warp.machine().grid();
  const Block& block = warp.block();
  if (number >= ntid_x && number <= ntid_z) return grid.block[static_cast<std::size_t>(number - ntid_x)];
  if (number >= ctaid_x && number <= ctaid_z) return block.index[static_cast<std::size_t>(number - ctaid_x)];
  if (number >= nctaid_x && number <= nctaid_z) return grid.grid[static_cast<std::size_t>(number - nctaid_x)];
  if (number >= clusterid_x && number <= cluster_nctaid_z) return of_cluster(warp, number);
  switch (number) {
    case warpid:
      return static_cast<std::uint64_t>(warp.index());
    case nwarpid:
      return block.warps.size();
    case smid:
      return block.serial % 128;
    case nsmid:
      return 128;
    case clock32:
    case clock64:
    case globaltimer:
    case globaltimer_lo:
      return warp.machine().ticks();
    case cluster_ctarank:
      return block.rank;
    case cluster_nctarank:
      return block.cluster->size;
    case is_explicit_cluster:
      return block.cluster->size > 1 ? 1 : 0;
    case dynamic_smem_size:
      return grid.dynamic_shared_bytes;
    case total_smem_size:
      return block.shared->bytes;
    case warp_size:
      return lanes;
    default:
      return 0;
  }
}

std::uint32_t lane_value(const Warp& warp, int lane, int number) {
  const Mask own = Mask{1} << lane;
  switch (number) {
    case laneid:
      return static_cast<std::uint32_t>(lane);
    case lanemask_eq:
      return own;
    case lanemask_lt:
      return own - 1;
    case lanemask_le:
      return own | (own - 1);
    case lanemask_ge:
      return ~(own - 1);
    case lanemask_gt:
      return ~(own | (own - 1));
    default:
      return thread_coordinate(warp, lane, number);
  }
}

bool differs_by_lane(int number) {
  return number <= tid_z || number == laneid || (number >= lanemask_eq && number <= lanemask_gt);
}

}  // namespace

int special_register(std::string_view name) {
  const auto* found = std::ranges::find(special_names, name);
  return found == std::end(special_names) ? -1 : static_cast<int>(found - std::begin(special_names));
}

std::size_t special_bytes(int number) {
  if (number == is_explicit_cluster) return 1;
  return number == clock64 || number == globaltimer || number == gridid ? 8 : 4;
}

void read_special(Warp& warp, const Operation& operation) {
  const int number = operation.variant;
  if (number == is_explicit_cluster)
    return warp.set_mask(operation, 0, uniform_value(warp, number) != 0 ? all_lanes : 0);
  if (differs_by_lane(number)) {
    for (Mask rest = warp.active(); rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      warp.result<std::uint32_t>(operation, 0)[lane] = lane_value(warp, lane, number);
    }
    return;
  }
  const std::uint64_t value = uniform_value(warp, number);
  if (special_bytes(number) == 8) {
    warp.assign<std::uint64_t>(operation, [value] { return value; });
  } else {
    warp.assign<std::uint32_t>(operation, [value] { return static_cast<std::uint32_t>(value); });
  }
}

}  // namespace weft::simulator
