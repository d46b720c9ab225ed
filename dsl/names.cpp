#include <weft/dsl/errors.h>
#include <weft/dsl/names.h>

#include <algorithm>

namespace weft {
namespace {

/// Between spaces, so that a word is looked up with its spaces.
constexpr std::string_view words =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t "
    "char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr "
    "constinit continue decltype default delete do double dynamic_cast else enum explicit export "
    "extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq "
    "nullptr operator or or_eq private protected public register reinterpret_cast requires restrict "
    "return short signed sizeof static static_assert static_cast struct switch template this "
    "thread_local throw true try typedef typeid typename union unsigned using virtual void volatile "
    "wchar_t while xor xor_eq ";

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

bool is_identifier(std::string_view name) {
  if (name.empty() || !is_letter(name.front()) || name.find("__") != std::string_view::npos) return false;
  const bool spelled =
      std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
  return spelled && words.find(" " + std::string(name) + " ") == std::string_view::npos;
}

void require_identifier(std::string_view name, const std::string& kind, const std::string& where) {
  if (is_identifier(name)) return;
  throw UserError(name.empty() ? "a name is empty: " + kind : "a name is not an identifier: " + kind, where,
                  "\"" + std::string(name) + "\"", std::string(identifier_rule));
}

}  // namespace weft
