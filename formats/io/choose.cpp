#include <fmt/format.h>
#include <weft/formats/array.h>
#include <weft/formats/io/bytes.h>
#include <weft/formats/io/choose.h>

namespace weft::io {
namespace {

std::string list_of(std::span<const Candidate> candidates) {
  constexpr std::size_t most = 20;
  std::string list = candidates.empty() ? "none" : "";
  for (std::size_t i = 0; i < candidates.size() && i < most; ++i) {
    list += fmt::format("\n              {} {} {}", in_quotes(candidates[i].name), candidates[i].dtype,
                        text_of_shape(candidates[i].shape));
  }
  if (candidates.size() > most) list += fmt::format("\n              and {} more", candidates.size() - most);
  return list;
}

}  // namespace

std::size_t choose(std::span<const Candidate> candidates, const std::string& name, Wanted wanted,
                   const std::string& origin) {
  if (!name.empty()) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].name == name) return i;
    }
    refuse(origin, {}, "no tensor named " + in_quotes(name), "one of the tensors: " + list_of(candidates));
  }
  std::size_t matching = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (wanted == Wanted::any_array || candidates[i].shape.size() >= 2) {
      ++matching;
      last = i;
    }
  }
  if (matching == 1) return last;
  refuse(origin, {},
         fmt::format("{} tensors{}, and none was named", matching,
                     wanted == Wanted::weight ? " of two or more dimensions" : ""),
         "the name of one of the tensors: " + list_of(candidates));
}

}  // namespace weft::io
