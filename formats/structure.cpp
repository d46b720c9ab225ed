#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>
#include <weft/formats/mixed_tiles.h>
#include <weft/formats/row_groups.h>
#include <weft/formats/structure.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

namespace weft {
namespace {

constexpr std::array<std::int64_t, 6> granularities{256, 128, 64, 32, 16, 8};
constexpr std::int64_t smallest = granularities.back();
constexpr std::int64_t most_columns = std::int64_t{1} << 24;
constexpr double least_fill = 0.9;
constexpr double least_outside = 0.5;
/// Of what two rows share beyond chance, how much makes them rows of one group.
constexpr double alike_beyond_chance = 0.7;
constexpr std::size_t samples = 16;
/// Of the blocks of a rule, how many keep it where weights were made to.
constexpr double least_kept = 0.9;

/// Counts the units, `width` columns wide and `height` rows of the order high, that have an entry.
std::optional<FoundStructure> structure_of(const WeightMatrix& weights, Format format,
                                           const std::vector<std::int32_t>& order, std::int64_t height,
                                           std::int64_t width) {
  const std::int64_t across = ceil_divide(weights.columns, width);
  const std::int64_t down = ceil_divide(weights.rows, height);
  std::vector<std::int64_t> last_group(across, -1);
  FoundStructure found{std::move(format), 0, 0, 0, {}, {}};
  std::int64_t places = 0;
  for (std::int64_t i = 0; i < weights.rows; ++i) {
    const std::int64_t group = i / height;
    for (const std::int32_t column : weights.columns_of(order[i])) {
      const std::int64_t unit = column / width;
      if (std::exchange(last_group[unit], group) == group) continue;
      ++found.kept;
      places +=
          std::min(height, weights.rows - group * height) * std::min(width, weights.columns - unit * width);
    }
  }
  const double all = static_cast<double>(weights.rows) * static_cast<double>(weights.columns);
  const double missing = all - static_cast<double>(weights.stored());
  found.density = static_cast<double>(found.kept) / static_cast<double>(across * down);
  found.fill = static_cast<double>(weights.stored()) / static_cast<double>(places);
  const bool holds = found.fill >= least_fill && all - static_cast<double>(places) >= least_outside * missing;
  return holds ? std::optional(std::move(found)) : std::nullopt;
}

/// 1 for rows with the same columns, about 0 for rows that share what chance makes them share.
double likeness(double shared, double left, double right, double columns) {
  const double chance = left * right / columns;
  const double most = std::max(left, right);
  return most > chance ? (shared - chance) / (most - chance) : 0;
}

/// True when nearly all of a few rows have as many others like them as the smallest group needs. It keeps the
/// work small for the many weights that have no groups.
bool may_have_groups(const WeightMatrix& weights) {
  std::vector<std::int32_t> rows;
  for (std::int32_t row = 0; row < static_cast<std::int32_t>(weights.rows); ++row) {
    if (!weights.columns_of(row).empty()) rows.push_back(row);
  }
  std::vector<std::int32_t> marked(weights.columns, -1);
  const std::size_t step = std::max<std::size_t>(1, rows.size() / samples);
  std::size_t asked = 0;
  std::size_t lonely = 0;
  for (std::size_t sample = 0; sample < rows.size(); sample += step) {
    const auto columns = weights.columns_of(rows[sample]);
    for (const std::int32_t column : columns) marked[column] = rows[sample];
    const auto like = std::ranges::count_if(rows, [&](std::int32_t row) {
      const auto others = weights.columns_of(row);
      const auto shared =
          std::ranges::count_if(others, [&](std::int32_t column) { return marked[column] == rows[sample]; });
      return likeness(static_cast<double>(shared), static_cast<double>(columns.size()),
                      static_cast<double>(others.size()),
                      static_cast<double>(weights.columns)) >= alike_beyond_chance;
    });
    ++asked;
    lonely += like < smallest / 2 ? 1U : 0U;
  }
  return 4 * lonely <= asked;
}

/// The places that two of four of M columns leave.
std::int64_t places_left(const WeightMatrix& weights, std::int64_t m) {
  return weights.rows * (weights.columns / m * 2 + std::min<std::int64_t>(weights.columns % m, 2));
}

FoundStructure structure_of(const WeightMatrix& weights, const PatternRule& rule) {
  FoundStructure found;
  found.format = rule.v == 1 ? Format{"n_m", {}} : Format{"v_n_m", {{"V", rule.v}, {"M", rule.m}}};
  found.kept = places_left(weights, rule.m);
  const double places = static_cast<double>(found.kept);
  found.density = places / (static_cast<double>(weights.rows) * static_cast<double>(weights.columns));
  found.fill = static_cast<double>(weights.stored()) / places;
  found.rule = rule;
  return found;
}

/// Whether the weights have no more entries than the rule leaves places, and nearly as many.
bool may_follow(const WeightMatrix& weights, const PatternRule& rule) {
  const auto places = static_cast<double>(places_left(weights, rule.m));
  const auto stored = static_cast<double>(weights.stored());
  return stored >= least_fill * places && stored * least_fill <= places && rule.share() >= least_kept;
}

void find_patterns(const WeightMatrix& weights, std::vector<FoundStructure>& result) {
  std::vector<PatternRule> found;  // by M the tallest; 2:4 is the same for every V
  for (const PatternRule& rule : pattern_rules(weights)) {
    const bool usable = rule.v == 1 ? rule.n == 2 && rule.m == 4 : rule.m > 4;
    if (!usable || !may_follow(weights, rule)) continue;
    const auto same = std::ranges::find(found, rule.m, &PatternRule::m);
    if (same == found.end()) {
      found.push_back(rule);
    } else if (rule.v > same->v && (rule.holds() || !same->holds())) {
      *same = rule;
    }
  }
  for (const PatternRule& rule : found) result.push_back(structure_of(weights, rule));
}

/// Of weights that are 2:4 but for a few blocks the rule says more, which names the first of these.
void find_mixed(const WeightMatrix& weights, std::vector<FoundStructure>& result) {
  constexpr double nearly_all = 0.99;
  if (std::ranges::any_of(result, [](const FoundStructure& each) {
        return each.format.name == "n_m" && each.rule.share() >= nearly_all;
      }))
    return;
  const std::optional<MixedTiles> tiles = mixed_tiles(weights);
  if (!tiles) return;
  FoundStructure found;
  found.format = tiles->format();
  found.kept = tiles->pairs;
  found.density = static_cast<double>(tiles->pairs) / static_cast<double>(tiles->tiles);
  found.fill = static_cast<double>(weights.stored()) / static_cast<double>(tiles->places);
  result.push_back(std::move(found));
}

/// Blocks and columns of groups.
void find_units(const WeightMatrix& weights, std::vector<FoundStructure>& result) {
  std::vector<std::int32_t> given(weights.rows);
  std::iota(given.begin(), given.end(), 0);
  std::int64_t found = 0;  // the largest granularity so far
  const auto look = [&](std::string_view name, std::string_view parameter, const auto& attempt) {
    for (const std::int64_t size : granularities) {
      if (size <= found || size > weights.rows) continue;
      auto structure = attempt(Format{std::string(name), {{std::string(parameter), size}}}, size);
      if (!structure) continue;
      result.push_back(std::move(*structure));
      found = size;
      return;
    }
  };
  look("bcsr", "b", [&](Format format, std::int64_t size) {
    return structure_of(weights, std::move(format), given, size, size);
  });
  look("vector_wise", "V", [&](Format format, std::int64_t size) {
    return structure_of(weights, std::move(format), given, size, 1);
  });
  if (!may_have_groups(weights)) return;
  look("shfl_bw", "V", [&](Format format, std::int64_t size) {
    std::vector<std::int32_t> order = group_rows(weights, size);
    auto structure = structure_of(weights, std::move(format), order, size, 1);
    if (structure) structure->row_order = std::move(order);
    return structure;
  });
}

}  // namespace

std::vector<FoundStructure> find_structures(const WeightMatrix& weights) {
  weights.check();
  std::vector<FoundStructure> result;
  if (weights.stored() == 0 || weights.stored() == weights.rows * weights.columns) return result;
  if (weights.columns <= most_columns) find_units(weights, result);
  find_patterns(weights, result);
  find_mixed(weights, result);
  return result;
}

std::string text_of(const FoundStructure& structure) {
  const std::string& name = structure.format.name;
  if (name == "mixed")
    return fmt::format("{}: {:.1f} % of the tiles 2:4, the others dense, {:.1f} % filled",
                       structure.format.text(), 100 * structure.density, 100 * structure.fill);
  const bool pattern = name == "n_m" || name == "v_n_m";
  std::string text = fmt::format(
      "{}: {:.1f} % of the {} kept, {:.1f} % filled", structure.format.text(), 100 * structure.density,
      pattern ? "places" : (name == "bcsr" ? "blocks" : "columns of groups"), 100 * structure.fill);
  if (pattern && !structure.rule.holds())
    text += fmt::format(", but only {} of {} blocks keep {}: {}", structure.rule.fulfilled,
                        structure.rule.blocks, structure.rule.name(), text_of_break(structure.rule));
  return text;
}

}  // namespace weft
