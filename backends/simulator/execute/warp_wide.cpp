// shfl, vote, match, redux, activemask, elect; and the special registers.
#include <fmt/format.h>
#include <weft/backends/simulator/control_flow.h>
#include <weft/backends/simulator/machine.h>
#include <weft/backends/simulator/warp.h>

#include <algorithm>

namespace weft::simulator {

namespace {

using ptx::Instruction;
using ptx::Type;

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

namespace {

/// The lanes that take part; those that the instruction names without being here are reported, and those that
/// are here without naming themselves.
Mask members(Warp& warp, const Operation& operation, std::size_t which) {
  const int first = std::countr_zero(warp.active());
  const std::uint32_t* masks = warp.source<std::uint32_t>(operation, which);
  const Mask named = masks[first];
  for (Mask rest = warp.active(); rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if ((masks[lane] >> lane & 1) == 0)
      warp.report(operation, "diverged",
                  fmt::format("the member mask {:#010x} leaves out the lane itself", masks[lane]), lane);
  }
  const Mask missing = named & warp.unfinished() & ~warp.active();
  if (missing != 0) {
    warp.report(
        operation, "diverged",
        fmt::format("the member mask {:#010x} names lanes {:#010x} that are elsewhere", named, missing));
  }
  return named & warp.active();
}

enum Shuffle : std::uint16_t { up, down, butterfly, indexed };

template <Shuffle mode>
void shuffle(Warp& warp, const Operation& operation) {
  // d (, p), a, b, c (, mask)
  const std::size_t from = operation.results;
  const std::uint32_t* value = warp.source<std::uint32_t>(operation, from);
  const std::uint32_t* amount = warp.source<std::uint32_t>(operation, from + 1);
  const std::uint32_t* control = warp.source<std::uint32_t>(operation, from + 2);
  if (operation.count > from + 3) members(warp, operation, from + 3);
  std::array<std::uint32_t, lanes> result{};
  Mask inside = 0;
  for (Mask rest = warp.active(); rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const int by = static_cast<int>(amount[lane] & 31);
    const int clamp = static_cast<int>(control[lane] & 31);
    const int segment = static_cast<int>(control[lane] >> 8 & 31);
    const int highest = (lane & segment) | (clamp & ~segment);
    const int lowest = lane & segment;
    int source = 0;
    bool is_inside = false;
    if constexpr (mode == up) {
      source = lane - by;
      is_inside = source >= highest;
    } else {
      source = mode == down ? lane + by : mode == butterfly ? lane ^ by : lowest | (by & ~segment);
      is_inside = source <= highest;
    }
    if (!is_inside) source = lane;
    if ((warp.active() >> source & 1) == 0)
      warp.report(operation, "diverged", fmt::format("reads lane {}, which does not take part", source),
                  lane);
    result[static_cast<std::size_t>(lane)] = value[source];
    if (is_inside) inside |= Mask{1} << lane;
  }
  if (!warp.is_sink(operation, 0)) {
    std::uint32_t* to = warp.result<std::uint32_t>(operation, 0);
    for (Mask rest = warp.active(); rest != 0; rest &= rest - 1)
      to[std::countr_zero(rest)] = result[static_cast<std::size_t>(std::countr_zero(rest))];
  }
  if (operation.results == 2) warp.set_mask(operation, 1, inside);
}

Handler choose_shuffle(const Instruction& instruction, Operation& operation) {
  operation.pipe = Pipe::memory;
  const bool has_predicate =
      !instruction.operands.empty() && instruction.operands[0].kind == ptx::Operand::Kind::pair;
  operation.results = has_predicate ? 2 : 1;
  if (operation.count < operation.results + 3U) return nullptr;
  if (instruction.has("up")) return shuffle<up>;
  if (instruction.has("down")) return shuffle<down>;
  if (instruction.has("bfly")) return shuffle<butterfly>;
  return instruction.has("idx") ? shuffle<indexed> : nullptr;
}

enum Vote : std::uint16_t { all, any, uniform, ballot };

void vote(Warp& warp, const Operation& operation) {
  const Mask taking = operation.count > 2 ? members(warp, operation, 2) : warp.active();
  const Mask votes = warp.mask(operation, 1) & taking;
  switch (operation.variant) {
    case all:
      return warp.set_mask(operation, 0, votes == taking ? all_lanes : 0);
    case any:
      return warp.set_mask(operation, 0, votes != 0 ? all_lanes : 0);
    case uniform:
      return warp.set_mask(operation, 0, votes == taking || votes == 0 ? all_lanes : 0);
    default:
      warp.assign<std::uint32_t>(operation, [votes] { return votes; });
  }
}

Handler choose_vote(const Instruction& instruction, Operation& operation) {
  operation.variant = instruction.has("all")   ? all
                      : instruction.has("any") ? any
                      : instruction.has("uni") ? uniform
                                               : ballot;
  const bool is_known = operation.variant != ballot || instruction.has("ballot");
  return is_known && operation.count >= 2 ? vote : nullptr;
}

template <class T>
void match(Warp& warp, const Operation& operation) {
  const std::size_t from = operation.results;
  const Mask taking = members(warp, operation, from + 1);
  const T* value = warp.source<T>(operation, from);
  std::array<Mask, lanes> same{};
  bool all_same = true;
  for (Mask rest = taking; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
    for (Mask others = taking; others != 0; others &= others - 1) {
      if (value[std::countr_zero(others)] == value[lane]) same[lane] |= Mask{1} << std::countr_zero(others);
    }
    all_same = all_same && same[lane] == taking;
  }
  std::uint32_t* to = warp.result<std::uint32_t>(operation, 0);
  const bool wants_all = operation.variant == all;
  for (Mask rest = taking; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
    to[lane] = !wants_all ? same[lane] : all_same ? taking : 0;
  }
  if (operation.results == 2) warp.set_mask(operation, 1, all_same ? all_lanes : 0);
}

Handler choose_match(const Instruction& instruction, Operation& operation) {
  operation.variant = instruction.has("all") ? all : any;
  const bool has_predicate =
      !instruction.operands.empty() && instruction.operands[0].kind == ptx::Operand::Kind::pair;
  operation.results = has_predicate ? 2 : 1;
  if (operation.count < operation.results + 2U) return nullptr;
  return ptx::size_of(operation.type) == 8 ? match<std::uint64_t> : match<std::uint32_t>;
}

template <class T, auto function>
void reduce(Warp& warp, const Operation& operation) {
  const Mask taking = members(warp, operation, 2);
  const T* value = warp.source<T>(operation, 1);
  if (taking == 0) return;
  T result = value[std::countr_zero(taking)];
  for (Mask rest = taking & (taking - 1); rest != 0; rest &= rest - 1)
    result = function(result, value[std::countr_zero(rest)]);
  warp.assign<T>(operation, [result] { return result; });
}

template <class T>
Handler reduction(const Instruction& instruction) {
  if (instruction.has("add"))
    return reduce<T, [](T a, T b) -> T { return static_cast<T>(std::uint32_t(a) + std::uint32_t(b)); }>;
  if (instruction.has("min")) return reduce<T, [](T a, T b) -> T { return std::min(a, b); }>;
  if (instruction.has("max")) return reduce<T, [](T a, T b) -> T { return std::max(a, b); }>;
  if (instruction.has("and")) return reduce<T, [](T a, T b) -> T { return a & b; }>;
  if (instruction.has("or")) return reduce<T, [](T a, T b) -> T { return a | b; }>;
  if (instruction.has("xor")) return reduce<T, [](T a, T b) -> T { return a ^ b; }>;
  return nullptr;
}

Handler choose_reduction(const Instruction& instruction, Operation& operation) {
  if (operation.count < 3) return nullptr;
  return operation.type == Type::s32 ? reduction<std::int32_t>(instruction)
                                     : reduction<std::uint32_t>(instruction);
}

void active_mask(Warp& warp, const Operation& operation) {
  warp.assign<std::uint32_t>(operation, [mask = warp.active()] { return mask; });
}

void elect(Warp& warp, const Operation& operation) {
  const Mask taking = members(warp, operation, 2);
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(taking));
  if (!warp.is_sink(operation, 0)) warp.assign<std::uint32_t>(operation, [leader] { return leader; });
  warp.set_mask(operation, 1, taking & -taking);
}

constexpr Opcode table[] = {
    {"shfl", choose_shuffle},
    {"vote", choose_vote},
    {"match", choose_match},
    {"redux", choose_reduction},
    {"activemask", [](const Instruction&, Operation&) -> Handler { return active_mask; }},
    {"elect",
     [](const Instruction&, Operation& operation) -> Handler {
       operation.results = 2;
       return operation.count == 3 ? elect : nullptr;
     }},
};

}  // namespace

std::span<const Opcode> warp_opcodes() {
  return table;
}

}  // namespace weft::simulator
