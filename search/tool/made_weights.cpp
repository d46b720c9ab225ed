#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/prune/prune.h>
#include <weft/formats/suggestion.h>
#include <weft/search/measure/workload.h>
#include <weft/search/records/words.h>
#include <weft/search/tool/made_weights.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

namespace weft::tool {
namespace {

constexpr std::string_view prefix = "made:";
constexpr std::string_view example =
    "made:M=512,K=1024,sparsity=0.9, and V=64 or seed=1; made:M=512,K=1024,V=64,of=16 for 64:2:16, "
    "sparsity=0.35,of=4 "
    "for 2:4 beside dense tiles";

constexpr std::array<std::string_view, 6> part_names{"M", "K", "sparsity", "V", "of", "seed"};

[[noreturn]] void refuse(std::string_view found, std::string_view accepted = example) {
  throw UserError("made weights cannot be read", "--weights", std::string(found), std::string(accepted));
}

using Parts = std::map<std::string, double, std::less<>>;

Parts parts_of(std::string_view rest) {
  Parts parts;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) refuse(part);
    const std::string_view name = part.substr(0, equals);
    if (const auto density = read_number<double>(part.substr(equals + 1)); name == "density" && density)
      refuse(part, fmt::format("sparsity={:.4g} in its place", 1 - *density));
    if (name == "N" || name == "n") refuse(part, "no N: --n says how many columns there are beside them");
    if (name.find(' ') != std::string_view::npos)
      refuse(fmt::format("a blank in \"{}\"", part), fmt::format("no blanks: {}", example));
    if (std::ranges::find(part_names, name) == part_names.end())
      refuse(part, fmt::format("{}{}", example, did_you_mean(name, part_names)));
    const auto value = read_number<double>(part.substr(equals + 1));
    if (!value) refuse(part, fmt::format("a number: {}", example));
    if (!parts.emplace(name, *value).second) refuse(part, fmt::format("{} once", name));
  }
  return parts;
}

/// A whole number from 0; `otherwise` where it is left out.
std::int64_t whole(const Parts& parts, std::string_view name, std::int64_t otherwise) {
  const auto found = parts.find(name);
  if (found == parts.end()) return otherwise;
  constexpr double most = 1 << 30;
  const double value = found->second;
  if (std::isnan(value) || value < 0 || value > most || value != std::floor(value))
    refuse(fmt::format("{}={}", name, value), fmt::format("a whole number from 0 to {}", most));
  return static_cast<std::int64_t>(value);
}

std::int64_t extent_of(const Parts& parts, std::string_view name, std::string_view example_of_size) {
  const std::int64_t value = whole(parts, name, 0);
  if (value < 1)
    refuse(parts.contains(name) ? fmt::format("{}=0", name) : fmt::format("no {}", name), example_of_size);
  return value;
}

/// Two of four, or of more columns that rows of a group share; nothing where weights have no such pattern.
std::optional<PairPattern> pattern_of(const Parts& parts) {
  if (!parts.contains("of")) return std::nullopt;
  const std::int64_t of = whole(parts, "of", 0);
  // 2:4 is a pattern of rows, whatever V says.
  const std::string group = of == 4 ? "" : fmt::format("{}:", whole(parts, "V", 0));
  const std::string name = fmt::format("{}2:{}", group, of);
  const auto pattern = pair_pattern_named(name);
  if (!pattern)
    refuse(fmt::format("the pattern {}", name), "of=4 for 2:4, or V=64,of=16 for 64:2:16, of from 4 to 256");
  return pattern;
}

double sparsity_of(const Parts& parts, const std::optional<PairPattern>& pattern) {
  const auto given = parts.find("sparsity");
  if (given == parts.end() && !pattern) refuse("no sparsity", "sparsity=0.9");
  const double sparsity = given == parts.end() ? pattern->sparsity() : given->second;
  const std::string found = fmt::format("sparsity={}", sparsity);
  if (!(sparsity >= 0 && sparsity < 1))
    refuse(found, fmt::format("at least 0 and below 1{}", as_share(sparsity)));
  if (pattern && std::abs(sparsity - pattern->sparsity()) > 1e-6)
    refuse(found, fmt::format("sparsity={}, which follows from of, or none", pattern->sparsity()));
  return sparsity;
}

/// What is made, and the tiles in which it then keeps two of four, where it does so in some alone.
struct Made {
  SuiteCase all;
  std::optional<Format> mixed = {};
  double sparsity = 0;  ///< once these are pruned
};

/// Two of four with fewer zeros than all tiles would have.
bool is_mixed(const Parts& parts) {
  const auto sparsity = parts.find("sparsity");
  return whole(parts, "of", 0) == 4 && sparsity != parts.end() && sparsity->second < 0.5;
}

Made made_of(const std::string& text) {
  Parts parts = parts_of(std::string_view(text).substr(prefix.size()));
  Made made;
  if (is_mixed(parts)) {
    made.sparsity = sparsity_of({{"sparsity", parts.at("sparsity")}}, std::nullopt);
    made.mixed = formats::mixed();
    if (parts.contains("V")) made.mixed = formats::mixed({.rows = extent_of(parts, "V", "V=128")});
    for (const char* name : {"of", "V"}) parts.erase(name);
    parts["sparsity"] = 0;
  }
  SuiteCase& chosen = made.all;
  chosen.problem.m = extent_of(parts, "M", "M=512");
  chosen.problem.k = extent_of(parts, "K", "K=1024");
  chosen.problem.n = 1;
  constexpr double most_places = 1LL << 32;  // drawn one by one
  if (static_cast<double>(chosen.problem.m) * static_cast<double>(chosen.problem.k) > most_places)
    throw UserError("made weights are too large", "--weights", text, "at most 2^32 places, M times K");
  chosen.pattern = pattern_of(parts);
  chosen.sparsity = sparsity_of(parts, chosen.pattern);
  if (parts.contains("V") && !chosen.pattern) chosen.group_rows = extent_of(parts, "V", "V=64");
  if (parts.contains("seed")) chosen.seed = static_cast<std::uint64_t>(whole(parts, "seed", 1));
  return made;
}

}  // namespace

bool is_made_weights(const std::string& text) {
  return text.starts_with(prefix);
}

WeightMatrix made_weights(const std::string& text, DType dtype) {
  const Made made = made_of(text);
  WeightMatrix matrix = make_workload(made.all, dtype, {}).matrix;
  if (made.mixed) matrix = pruned(matrix, choose_weights(matrix, *made.mixed, {.sparsity = made.sparsity}));
  matrix.shape = {matrix.rows, matrix.columns};
  matrix.origin = text;
  return matrix;
}

void check_made_weights(const std::string& text) {
  made_of(text);
}

}  // namespace weft::tool
