#include <weft/backends/simulator/ptx/module.h>

#include <algorithm>

namespace weft::simulator::ptx {
namespace {

struct TypeRow {
  std::string_view name;
  std::size_t bytes;
};

// In the order of the enumeration.
constexpr std::array<TypeRow, 24> type_rows{
    {{"", 0},       {"pred", 1}, {"b8", 1},  {"b16", 2}, {"b32", 4},    {"b64", 8},
     {"b128", 16},  {"u8", 1},   {"u16", 2}, {"u32", 4}, {"u64", 8},    {"s8", 1},
     {"s16", 2},    {"s32", 4},  {"s64", 8}, {"f16", 2}, {"f16x2", 4},  {"bf16", 2},
     {"bf16x2", 4}, {"tf32", 4}, {"f32", 4}, {"f64", 8}, {"e4m3x2", 2}, {"e5m2x2", 2}}};
static_assert(static_cast<std::size_t>(Type::e5m2x2) + 1 == type_rows.size());

}  // namespace

std::size_t size_of(Type type) {
  return type_rows[static_cast<std::size_t>(type)].bytes;
}

std::string_view name_of(Type type) {
  return type_rows[static_cast<std::size_t>(type)].name;
}

Type parse_type(std::string_view word) {
  if (word.size() < 2 || word.size() > 6) return Type::none;
  const auto row = std::find_if(type_rows.begin() + 1, type_rows.end(),
                                [word](const TypeRow& candidate) { return candidate.name == word; });
  return row == type_rows.end() ? Type::none : static_cast<Type>(row - type_rows.begin());
}

bool lists(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

bool Instruction::has(std::string_view modifier) const {
  return std::ranges::find(modifiers, modifier) != modifiers.end();
}

Type Instruction::type() const {
  for (const std::string& modifier : modifiers) {
    if (const Type found = parse_type(modifier); found != Type::none) return found;
  }
  return Type::none;
}

std::vector<Type> Instruction::types() const {
  std::vector<Type> found;
  for (const std::string& modifier : modifiers) {
    if (const Type type = parse_type(modifier); type != Type::none) found.push_back(type);
  }
  return found;
}

std::string Instruction::text() const {
  std::string joined = opcode;
  for (const std::string& modifier : modifiers) joined += "." + modifier;
  return joined;
}

const Function* Module::find(std::string_view name) const {
  const auto named = [](std::string_view wanted) {
    return [wanted](const Function& function) { return function.name == wanted; };
  };
  const auto found = std::ranges::find_if(functions, named(name));
  if (found == functions.end()) return nullptr;
  if (found->alias_of.empty()) return &*found;
  const auto aliased = std::ranges::find_if(functions, named(found->alias_of));
  return aliased == functions.end() ? nullptr : &*aliased;
}

}  // namespace weft::simulator::ptx
