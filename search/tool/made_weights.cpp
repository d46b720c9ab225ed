#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/search/measure/workload.h>
#include <weft/search/records/words.h>
#include <weft/search/tool/made_weights.h>

#include <cmath>
#include <map>
#include <string_view>

namespace weft::tool {
namespace {

constexpr std::string_view prefix = "made:";
constexpr std::string_view example =
    "made:M=512,K=1024,sparsity=0.9, and V=64 or seed=1; made:M=512,K=1024,V=64,of=16 for 64:2:16";

[[noreturn]] void refuse(std::string_view found) {
  throw UserError("made weights cannot be read", "--weights", std::string(found), std::string(example));
}

std::map<std::string, double, std::less<>> parts_of(std::string_view rest) {
  std::map<std::string, double, std::less<>> parts;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) refuse(part);
    const std::string_view name = part.substr(0, equals);
    const std::string_view text = part.substr(equals + 1);
    const auto value = read_number<double>(text);
    const bool known =
        name == "M" || name == "K" || name == "sparsity" || name == "V" || name == "of" || name == "seed";
    if (!known || !value || !parts.emplace(name, *value).second) refuse(part);
  }
  return parts;
}

}  // namespace

bool is_made_weights(const std::string& text) {
  return text.starts_with(prefix);
}

WeightMatrix made_weights(const std::string& text, DType dtype) {
  const auto parts = parts_of(std::string_view(text).substr(prefix.size()));
  const auto number = [&](std::string_view name, double fallback) {
    const auto found = parts.find(name);
    return found == parts.end() ? fallback : found->second;
  };
  const auto whole = [&](std::string_view name, double fallback) {
    const double value = number(name, fallback);
    constexpr double most = 1 << 30;
    if (std::isnan(value) || value < 0 || value > most || value != std::floor(value))
      refuse(fmt::format("{}={}", name, value));
    return static_cast<std::int64_t>(value);
  };
  SuiteCase chosen;
  if (parts.count("of") > 0) {
    // 2:4 is a pattern of rows, whatever V says.
    const std::int64_t of = whole("of", 0);
    const std::string group = of == 4 ? "" : fmt::format("{}:", whole("V", 0));
    chosen.pattern = pair_pattern_named(fmt::format("{}2:{}", group, of));
    if (!chosen.pattern) refuse(text);
  }
  const double sparsity = number("sparsity", chosen.pattern ? chosen.pattern->sparsity() : -1);
  const bool has_sparsity = sparsity >= 0 && sparsity < 1;
  if (whole("M", 0) < 1 || whole("K", 0) < 1 || !has_sparsity) refuse(text);
  if (chosen.pattern && std::abs(sparsity - chosen.pattern->sparsity()) > 1e-6) refuse(text);
  constexpr double most_places = 1LL << 32;  // drawn one by one
  if (static_cast<double>(whole("M", 0)) * static_cast<double>(whole("K", 0)) > most_places)
    throw UserError("made weights are too large", "--weights", text, "at most 2^32 places, M times K");
  chosen.problem.m = whole("M", 0);
  chosen.problem.k = whole("K", 0);
  chosen.problem.n = 1;
  chosen.sparsity = sparsity;
  if (!chosen.pattern) chosen.group_rows = whole("V", 0);
  if (parts.count("V") > 0 && whole("V", 0) < 1) refuse(text);
  std::optional<std::uint64_t> seed;
  if (parts.count("seed") > 0) seed = static_cast<std::uint64_t>(whole("seed", 1));
  WeightMatrix matrix = make_workload(chosen, dtype, {}, seed).matrix;
  matrix.shape = {matrix.rows, matrix.columns};
  matrix.origin = text;
  return matrix;
}

}  // namespace weft::tool
