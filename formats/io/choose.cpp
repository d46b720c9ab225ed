#include <fmt/format.h>
#include <weft/formats/array.h>
#include <weft/formats/io/bytes.h>
#include <weft/formats/io/choose.h>
#include <weft/formats/suggestion.h>

#include <algorithm>

namespace weft::io {
namespace {

std::string text_of_extents(std::span<const std::int64_t> shape) {
  std::vector<std::string> extents;
  for (const std::int64_t extent : shape)
    extents.push_back(extent == unknown_extent ? "?" : std::to_string(extent));
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

std::string list_of(std::span<const Candidate> candidates) {
  constexpr std::size_t most = 20;
  std::string list = candidates.empty() ? "none" : "";
  for (std::size_t i = 0; i < candidates.size() && i < most; ++i)
    list += fmt::format("\n              {} {} {}", in_quotes(candidates[i].name), candidates[i].dtype,
                        text_of_extents(candidates[i].shape));
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
    std::vector<std::string_view> names;
    for (const Candidate& candidate : candidates) names.push_back(candidate.name);
    refuse(origin, {}, "no tensor named " + in_quotes(name) + did_you_mean(name, names),
           "one of the tensors: " + list_of(candidates));
  }
  std::vector<Candidate> matching;
  std::size_t last = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (wanted == Wanted::any_array || candidates[i].shape.size() >= 2) {
      matching.push_back(candidates[i]);
      last = i;
    }
  }
  if (matching.size() == 1) return last;
  // A row is no layer, though its name would have it read as one.
  const auto is_packed = [](const Candidate& candidate) { return candidate.name.ends_with(".values"); };
  if (wanted == Wanted::weight && matching.empty() && std::ranges::any_of(candidates, is_packed))
    refuse(origin, {}, "the arrays of packed weights, as an exported package has them",
           "the file that they were packed from; here stands: " + list_of(candidates));
  refuse(
      origin, {},
      fmt::format("{} tensors{}, and none was named", matching.size(),
                  wanted == Wanted::weight ? " of two or more dimensions" : ""),
      "the name of one (ReadOptions.tensor, --tensor): " + list_of(matching.empty() ? candidates : matching));
}

}  // namespace weft::io
