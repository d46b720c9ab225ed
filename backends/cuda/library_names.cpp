#include <weft/backends/cuda/library_names.h>

namespace weft::cuda {
namespace {

/// "acos" of "acosf32x": functions and constants of the C library for one floating type.
std::string_view without_width(std::string_view name) {
  for (const std::string_view width : {"f128", "f32", "f32x", "f64", "f64x"}) {
    if (name.ends_with(width)) return name.substr(0, name.size() - width.size());
  }
  return name;
}

}  // namespace

std::string_view library_header_of(std::string_view name) {
  std::string_view rest = library_names();
  std::string_view header;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find_first_of(" \n"));
    rest.remove_prefix(word.empty() ? 1 : word.size());
    if (word.starts_with('<')) header = word;
    if (!word.empty() && (word == name || word == without_width(name))) return header;
  }
  return {};
}

}  // namespace weft::cuda
