#include <fmt/format.h>
#include <weft/search/measure/pair_pattern.h>
#include <weft/search/records/words.h>

namespace weft {
namespace {

constexpr std::int64_t most_rows = 1024, widest = 256;

/// From `least` to `most`; nothing for other texts.
std::optional<std::int64_t> number(std::string_view text, std::int64_t least, std::int64_t most) {
  const auto value = read_number<std::int64_t>(text);
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

}  // namespace

std::string PairPattern::text() const {
  return rows == 0 ? fmt::format("2:{}", of) : fmt::format("{}:2:{}", rows, of);
}

Format PairPattern::format() const {
  return rows == 0 ? Format{"n_m", {}} : Format{"v_n_m", {{"V", rows}, {"M", of}}};
}

std::optional<PairPattern> pair_pattern_named(std::string_view text) {
  if (text == "2:4") return PairPattern{};
  const std::size_t first = text.find(':');
  if (first == std::string_view::npos || text.substr(first, 3) != ":2:") return std::nullopt;
  const auto rows = number(text.substr(0, first), 1, most_rows);
  const auto of = number(text.substr(first + 3), 4, widest);
  if (!rows || !of) return std::nullopt;
  return PairPattern{*rows, *of};
}

}  // namespace weft
