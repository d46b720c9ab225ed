// mov, cvta and isspacep: PTX ISA, chapters 9.7.9.3, 9.7.9.19 and 9.7.9.20.
#include <weft/backends/simulator/execute/lanes.h>
#include <weft/backends/simulator/machine/machine.h>

#include <array>
#include <cstring>

namespace weft::simulator {
namespace {

using Kind = ptx::Operand::Kind;

struct Words {
  std::array<U32, 4> word;
};

template <class T>
void run_copy(Warp& warp, const Operation& operation) {
  warp.assign<T, T>(operation, [](const T& value) { return value; });
}
void run_copy16(Warp& warp, const Operation& operation) {
  warp.assign<U32, U32>(operation, [](U32 value) { return value & 0xFFFF; });
}

void run_copy_predicate(Warp& warp, const Operation& operation) {
  warp.set_mask(operation, 0, warp.mask(operation, 1));
}

/// mov whole, {parts...}. Bytes of a lane's row: parts of less than 4 lie in 4.
template <class Whole, class Part>
void run_pack(Warp& warp, const Operation& operation) {
  constexpr std::size_t row_bytes = std::max<std::size_t>(sizeof(Part), 4);
  const std::size_t parts = operation.count - 1U;
  auto* const to = reinterpret_cast<std::byte*>(warp.result<Whole>(operation, 0));
  for (std::size_t part = 0; part < parts; ++part) {
    const auto* from = reinterpret_cast<const std::byte*>(warp.source<Lane<Part>>(operation, part + 1));
    for (const std::size_t lane : lanes_of(warp.active()))
      std::memcpy(to + lane * std::max<std::size_t>(sizeof(Whole), 4) + part * sizeof(Part),
                  from + lane * row_bytes, sizeof(Part));
  }
}

/// mov {parts...}, whole. A part may be the sink.
template <class Whole, class Part>
void run_unpack(Warp& warp, const Operation& operation) {
  const std::size_t parts = operation.results;
  std::array<Whole, lanes> whole;
  std::memcpy(whole.data(), warp.source<Whole>(operation, parts), sizeof whole);
  for (std::size_t part = 0; part < parts; ++part) {
    if (warp.is_sink(operation, part)) continue;
    auto* const to = warp.result<Lane<Part>>(operation, part);
    for (const std::size_t lane : lanes_of(warp.active())) {
      Part value;
      std::memcpy(&value, reinterpret_cast<const std::byte*>(&whole[lane]) + part * sizeof(Part),
                  sizeof value);
      to[lane] = value;
    }
  }
}

/// The handler for a whole of `bytes` in `parts` pieces. 16-bit wholes lie in 4 bytes.
Handler packing(std::size_t bytes, std::size_t parts, bool packs) {
  const auto make = [packs]<class Whole, class Part>() -> Handler {
    return packs ? run_pack<Whole, Part> : run_unpack<Whole, Part>;
  };
  if (bytes == 2 && parts == 2) return make.operator()<U32, std::uint8_t>();
  if (bytes == 4 && parts == 2) return make.operator()<U32, std::uint16_t>();
  if (bytes == 4 && parts == 4) return make.operator()<U32, std::uint8_t>();
  if (bytes == 8 && parts == 2) return make.operator()<U64, U32>();
  if (bytes == 8 && parts == 4) return make.operator()<U64, std::uint16_t>();
  if (bytes == 16 && parts == 2) return make.operator()<Words, U64>();
  if (bytes == 16 && parts == 4) return make.operator()<Words, U32>();
  return nullptr;
}

void expect_parts(Operation& operation, std::size_t bytes, std::size_t parts, bool packs) {
  const auto whole = static_cast<std::uint8_t>(std::max<std::size_t>(bytes, 4));
  const auto part = static_cast<std::uint8_t>(std::max<std::size_t>(bytes / parts, 4));
  operation.lane_bytes.fill(part);
  operation.lane_bytes[packs ? 0 : parts] = whole;
}

bool has_values(const std::vector<ptx::Operand>& elements, bool accepts_sink) {
  for (const ptx::Operand& element : elements) {
    const bool is_value = element.kind == Kind::reg || element.kind == Kind::integer ||
                          element.kind == Kind::real || element.kind == Kind::special;
    const bool is_sink = accepts_sink && element.kind == Kind::sink;
    if (!is_value && !is_sink) return false;
  }
  return true;
}

Handler choose_mov(const Instruction& instruction, Operation& operation) {
  if (!has_only(instruction, 1, "") || instruction.operands.size() != 2) return nullptr;
  operation.keeps_undefined = true;
  const std::size_t bytes = operation.type == Type::pred ? 1 : ptx::size_of(operation.type);
  const ptx::Operand &to = instruction.operands[0], &from = instruction.operands[1];
  if (to.kind == Kind::vector) {
    if (to.elements.empty() || to.elements.size() > 4 || !has_values(to.elements, true) ||
        !has_sources(instruction))
      return nullptr;
    operation.results = static_cast<std::uint16_t>(to.elements.size());
    operation.moved_sources = bytes <= 8 ? 1 : 0;
    expect_parts(operation, bytes, to.elements.size(), false);
    return packing(bytes, to.elements.size(), false);
  }
  if (from.kind == Kind::vector) {
    if (from.elements.empty()) return nullptr;
    expect_parts(operation, bytes, from.elements.size(), true);
    const bool is_sound = to.kind == Kind::reg && has_values(from.elements, false);
    return is_sound ? packing(bytes, from.elements.size(), true) : nullptr;
  }
  if (!has_sources(instruction) || operation.count != 2) return nullptr;
  const std::uint8_t width = lane_bytes_of(operation.type);
  operation.lane_bytes = {width, width};
  if (operation.type == Type::pred) return run_copy_predicate;
  operation.moved_sources = bytes <= 8 ? 1 : 0;
  switch (bytes) {
    case 2: return run_copy16;
    case 4: return run_copy<U32>;
    case 8: return run_copy<std::uint64_t>;
    case 16: return run_copy<Words>;
    default: return nullptr;
  }
}

constexpr std::string_view spaces =
    "const global local shared shared::cta shared::cluster param param::entry";

/// An address has one value in its own space and in the generic one.
template <std::size_t words>
Handler choose_cvta(const Instruction& instruction, Operation& operation) {
  if (instruction.modifiers.size() != words || operation.count != 2) return nullptr;
  const std::uint8_t width = lane_bytes_of(operation.type);
  operation.lane_bytes = {width, width};
  if (operation.type == Type::u64) return run_copy<std::uint64_t>;
  if (operation.type == Type::u32) return run_copy<U32>;
  return nullptr;
}

constexpr std::uint16_t own_block_only = 1;

void run_isspacep(Warp& warp, const Operation& operation) {
  const bool is_wide = warp.operand_bytes(operation, 1) == 8;  // constants have both widths
  const U32* const narrow = warp.source<U32>(operation, 1);
  const std::uint64_t* const wide = warp.source<std::uint64_t>(operation, 1);
  const std::uint64_t own = window::cluster + warp.block().rank * window::shared_bytes;
  const auto is_there = [&](std::size_t lane) {
    const std::uint64_t address = is_wide ? wide[lane] : narrow[lane];
    if (space_of(address) != operation.space) return false;
    if (operation.variant != own_block_only || address < window::cluster) return true;
    return address >= own && address - own < window::shared_bytes;
  };
  warp.set_mask(operation, 0, lanes_where(is_there));
}

Handler choose_isspacep(const Instruction& instruction, Operation& operation) {
  if (instruction.modifiers.size() != 1 || operation.count != 2) return nullptr;
  const std::string& name = instruction.modifiers[0];
  operation.variant = name == "shared" || name == "shared::cta" ? own_block_only : 0;
  operation.type = Type::pred;
  operation.lane_bytes = {1};
  return run_isspacep;
}

constexpr Opcode table[] = {
    {"mov", choose_mov, 2, "", "", any_modifiers},
    {"cvta", choose_cvta<2>, 2, "", spaces},
    {"cvta", choose_cvta<3>, 2, "to", spaces},
    {"isspacep", choose_isspacep, 2, "", spaces, 0},
};

}  // namespace

std::span<const Opcode> move_opcodes() {
  return table;
}

}  // namespace weft::simulator
