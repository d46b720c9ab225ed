#include <weft/backends/simulator/execute/matrix_modifiers.h>

#include <algorithm>
#include <charconv>

namespace weft::simulator::matrix {
namespace {

// In the order of the enumerations.
constexpr std::array<std::string_view, 8> elements{"f16", "bf16", "tf32", "f64", "s8", "u8", "e4m3", "e5m2"};
constexpr std::array<std::string_view, 4> sums{"f16", "f32", "f64", "s32"};

template <class E, std::size_t size>
std::optional<E> find(const std::array<std::string_view, size>& names, std::string_view word) {
  const auto found = std::ranges::find(names, word);
  return found == names.end() ? std::nullopt : std::optional(static_cast<E>(found - names.begin()));
}

/// Takes `letter` and a number off the front.
bool take(std::string_view& text, char letter, int& number) {
  if (text.empty() || text.front() != letter) return false;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  text.remove_prefix(end - text.data());
  return error == std::errc{} && number > 0;
}

bool read_shape(std::string_view text, Modifiers& modifiers) {
  return take(text, 'm', modifiers.shape.rows) && take(text, 'n', modifiers.columns) &&
         take(text, 'k', modifiers.shape.inner) && text.empty();
}

}  // namespace

std::optional<Element> element_of(std::string_view type) {
  return find<Element>(elements, type);
}
std::optional<Sum> sum_of(std::string_view type) {
  return find<Sum>(sums, type);
}

std::optional<Modifiers> read_modifiers(const ptx::Instruction& instruction) {
  Modifiers modifiers;
  bool has_row = false, has_column = false;
  for (const std::string_view word : instruction.modifiers) {
    if (element_of(word) || sum_of(word)) {
      modifiers.types.push_back(word);
    } else if (word == "sp" || word == "sp::ordered_metadata") {
      modifiers.shape.is_sparse = true;
      modifiers.shape.is_ordered = word != "sp";
    } else if (word == "satfinite") {
      modifiers.shape.saturates = true;
    } else if (word == "row") {
      has_row = true;
    } else if (word == "col") {
      has_column = true;
    } else if (word.starts_with('m') && word != "mma_async") {
      if (modifiers.shape.rows != 0 || !read_shape(word, modifiers)) return std::nullopt;
    } else if (word != "sync" && word != "aligned" && word != "mma_async") {
      return std::nullopt;
    }
  }
  modifiers.is_row_by_column = has_row && has_column;
  return modifiers;
}

}  // namespace weft::simulator::matrix
