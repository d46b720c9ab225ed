// shfl, vote, match, redux, activemask, elect.
#include <fmt/format.h>
#include <weft/backends/simulator/machine/machine.h>
#include <weft/backends/simulator/machine/warp.h>

#include <algorithm>

namespace weft::simulator {
namespace {

/// The lanes that take part; those that the instruction names without being here are reported, and those that
/// are here without naming themselves.
Mask members(Warp& warp, const Operation& operation, std::size_t which) {
  const int first = std::countr_zero(warp.active());
  const std::uint32_t* masks = warp.source<std::uint32_t>(operation, which);
  const Mask named = masks[first];
  for (const std::size_t lane : lanes_of(warp.active())) {
    if ((masks[lane] >> lane & 1) == 0)
      warp.report(operation, "diverged",
                  fmt::format("the member mask {:#010x} leaves out the lane itself", masks[lane]),
                  static_cast<int>(lane));
  }
  const Mask missing = named & warp.unfinished() & ~warp.active();
  if (missing != 0)
    warp.report(
        operation, "diverged",
        fmt::format("the member mask {:#010x} names lanes {:#010x} that are elsewhere", named, missing));
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
  for (const std::size_t which : lanes_of(warp.active())) {
    const int lane = static_cast<int>(which);
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
    result[which] = value[source];
    if (is_inside) inside |= Mask{1} << lane;
  }
  if (!warp.is_sink(operation, 0)) {
    std::uint32_t* to = warp.result<std::uint32_t>(operation, 0);
    for (const std::size_t lane : lanes_of(warp.active())) to[lane] = result[lane];
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
    case all: return warp.set_mask(operation, 0, votes == taking ? all_lanes : 0);
    case any: return warp.set_mask(operation, 0, votes != 0 ? all_lanes : 0);
    case uniform: return warp.set_mask(operation, 0, votes == taking || votes == 0 ? all_lanes : 0);
    default: warp.assign<std::uint32_t>(operation, [votes] { return votes; });
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
  for (const std::size_t lane : lanes_of(taking)) {
    for (const std::size_t other : lanes_of(taking))
      if (value[other] == value[lane]) same[lane] |= Mask{1} << other;
    all_same = all_same && same[lane] == taking;
  }
  std::uint32_t* to = warp.result<std::uint32_t>(operation, 0);
  const bool wants_all = operation.variant == all;
  for (const std::size_t lane : lanes_of(taking)) to[lane] = !wants_all ? same[lane] : all_same ? taking : 0;
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
  for (const std::size_t lane : lanes_of(taking & (taking - 1))) result = function(result, value[lane]);
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
