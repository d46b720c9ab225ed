#include <weft/backends/simulator/execute/matrix_modifiers.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace weft::simulator::matrix {
namespace {

constexpr std::array<std::pair<std::string_view, Element>, 8> elements{{{"f16", Element::f16},
                                                                        {"bf16", Element::bf16},
                                                                        {"tf32", Element::tf32},
                                                                        {"f64", Element::f64},
                                                                        {"s8", Element::s8},
                                                                        {"u8", Element::u8},
                                                                        {"e4m3", Element::e4m3},
                                                                        {"e5m2", Element::e5m2}}};
constexpr std::array<std::pair<std::string_view, Sum>, 4> sums{
    {{"f16", Sum::f16}, {"f32", Sum::f32}, {"f64", Sum::f64}, {"s32", Sum::s32}}};

template <class Table>
auto find(const Table& table, std::string_view word) {
  const auto found = std::ranges::find(table, word, &Table::value_type::first);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

/// Takes `letter` and a number off the front.
bool take(std::string_view& text, char letter, int& number) {
  if (text.empty() || text.front() != letter) return false;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{} && number > 0;
}

bool read_shape(std::string_view text, Modifiers& modifiers) {
  return take(text, 'm', modifiers.rows) && take(text, 'n', modifiers.columns) &&
         take(text, 'k', modifiers.inner) && text.empty();
}

}  // namespace

std::optional<Element> element_of(std::string_view type) {
  return find(elements, type);
}
std::optional<Sum> sum_of(std::string_view type) {
  return find(sums, type);
}

bool can_multiply(Element a, Element b) {
  const auto is_quarter = [](Element element) {
    return element == Element::e4m3 || element == Element::e5m2;
  };
  return a == b || (is_integer(a) && is_integer(b)) || (is_quarter(a) && is_quarter(b));
}

std::optional<Modifiers> read_modifiers(const ptx::Instruction& instruction) {
  Modifiers modifiers;
  bool has_row = false, has_column = false;
  for (const std::string_view word : instruction.modifiers) {
    if (element_of(word) || sum_of(word)) {
      modifiers.types.push_back(word);
    } else if (word == "sp" || word == "sp::ordered_metadata") {
      modifiers.is_sparse = true;
      modifiers.is_ordered = word != "sp";
    } else if (word == "satfinite") {
      modifiers.saturates = true;
    } else if (word == "row") {
      has_row = true;
    } else if (word == "col") {
      has_column = true;
    } else if (word.starts_with('m') && word != "mma_async") {
      if (modifiers.rows != 0 || !read_shape(word, modifiers)) return std::nullopt;
    } else if (word != "sync" && word != "aligned" && word != "mma_async") {
      return std::nullopt;
    }
  }
  modifiers.is_row_by_column = has_row && has_column;
  return modifiers;
}

}  // namespace weft::simulator::matrix
