#include <weft/backends/export/c_text.h>
#include <weft/backends/export/print.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <cctype>

namespace weft::exporting {
namespace {

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isupper(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

}  // namespace

std::string filled(std::string_view name, const Words& words) {
  const auto found = std::ranges::find(templates(), name, &Template::name);
  internal_check(found != templates().end(), "no template " + std::string(name));
  std::string_view rest = found->text;
  std::string result;
  while (!rest.empty()) {
    const std::size_t first = rest.find('@');
    const std::size_t last = first == std::string_view::npos ? first : rest.find('@', first + 1);
    if (last == std::string_view::npos) return result.append(rest);
    const std::string_view word = rest.substr(first + 1, last - first - 1);
    // A lone @ is itself: a variable of CMake is written as @PACKAGE_INIT@ is, by the word of that name.
    if (!is_word(word)) {
      result.append(rest.substr(0, last));
      rest.remove_prefix(last);
      continue;
    }
    const auto value = words.find(std::string(word));
    internal_check(value != words.end(),
                   "template " + std::string(name) + " has the word " + std::string(word));
    result.append(rest.substr(0, first)).append(value->second);
    rest.remove_prefix(last + 1);
  }
  return result;
}

}  // namespace weft::exporting
