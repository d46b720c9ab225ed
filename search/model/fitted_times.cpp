#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/search/model/fitted_times.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace weft {
namespace {

enum Part : std::uint8_t { once, steps_alone, share_of_steps, share_alone, read, written, waves };

constexpr std::array<std::string_view, time_part_count> names_of_parts{"once",
                                                                       "steps",
                                                                       "share * steps",
                                                                       "share",
                                                                       "K * N",
                                                                       "M * N",
                                                                       "waves of 1 * steps",
                                                                       "waves of 1",
                                                                       "waves of 2 * steps",
                                                                       "waves of 2",
                                                                       "waves of 3 * steps",
                                                                       "waves of 3",
                                                                       "waves of 4 * steps",
                                                                       "waves of 4",
                                                                       "waves of 5 * steps",
                                                                       "waves of 5",
                                                                       "waves of 6 * steps",
                                                                       "waves of 6",
                                                                       "waves of 8 * steps",
                                                                       "waves of 8"};

using Gram = std::array<TimeParts, time_part_count>;
using Chosen = std::array<bool, time_part_count>;

std::size_t feature_named(std::string_view name) {
  const auto found = std::ranges::find(features(), name, &Feature::name);
  internal_check(found != features().end(), "no feature of that name");
  return static_cast<std::size_t>(found - features().begin());
}

/// A whole number that a feature has by its logarithm.
double size_in(const FeatureValues& values, std::size_t feature) {
  return std::round(std::exp2(values[feature]));
}

/// The CPU has none.
double processors_in(const FeatureValues& values) {
  static const std::size_t at = feature_named("multiprocessors");
  return std::max(1.0, values[at]);
}

struct Sizes {
  double m = 0, n = 0, k = 0, row_mean = 0, processors = 1;
};

Sizes sizes_in(const FeatureValues& values) {
  static const std::size_t m = feature_named("M"), n = feature_named("N"), k = feature_named("K"),
                           row_mean = feature_named("row_mean");
  return {size_in(values, m), size_in(values, n), size_in(values, k), values[row_mean],
          processors_in(values)};
}

TimeParts parts_of(const TileShape& shape, const Sizes& of) {
  const double steps = std::ceil(of.row_mean / shape.k) / shape.groups;
  const double blocks = std::ceil(of.m / shape.m) * std::ceil(of.n / shape.n) * shape.groups;
  const double share = blocks / of.processors;
  TimeParts parts{1, steps, share * steps, share, of.k * of.n, of.m * of.n};
  for (std::size_t i = 0; i < resident_blocks.size(); ++i) {
    const double whole = std::ceil(blocks / (of.processors * resident_blocks[i]));
    parts[waves + 2 * i] = whole * steps;
    parts[waves + 2 * i + 1] = whole;
  }
  return parts;
}

/// The normal equations of the chosen parts, by Cholesky; 0 for the others.
TimeParts solved(const Gram& gram, const TimeParts& right, const Chosen& chosen) {
  // Parts that are nearly the same in all rows still have one solution each.
  constexpr double apart = 1e-10;
  std::vector<std::size_t> of;
  for (std::size_t i = 0; i < time_part_count; ++i) {
    if (chosen[i]) of.push_back(i);
  }
  Gram lower{};
  TimeParts forward{}, solution{};
  for (std::size_t i = 0; i < of.size(); ++i) {
    forward[i] = right[of[i]];
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = gram[of[i]][of[j]] + (i == j ? apart : 0);
      for (std::size_t k = 0; k < j; ++k) sum -= lower[i][k] * lower[j][k];
      lower[i][j] = i == j ? std::sqrt(sum) : sum / lower[j][j];
      if (j < i) forward[i] -= lower[i][j] * forward[j];
    }
    forward[i] /= lower[i][i];
  }
  for (std::size_t i = of.size(); i-- > 0;) {
    double sum = forward[i];
    for (std::size_t k = i + 1; k < of.size(); ++k) sum -= lower[k][i] * solution[of[k]];
    solution[of[i]] = sum / lower[i][i];
  }
  return solution;
}

/// Goes from `from` towards `to` as far as nothing is negative; what becomes 0 is chosen no more.
void step(TimeParts& from, const TimeParts& to, Chosen& chosen) {
  constexpr double nothing = 1e-12;
  double way = 1;
  for (std::size_t i = 0; i < time_part_count; ++i) {
    if (chosen[i] && to[i] <= 0) way = std::min(way, from[i] / (from[i] - to[i]));
  }
  for (std::size_t i = 0; i < time_part_count; ++i) {
    if (!chosen[i]) continue;
    from[i] += way * (to[i] - from[i]);
    if (from[i] > nothing) continue;
    from[i] = 0;
    chosen[i] = false;
  }
}

/// Of columns of length 1, whose product with the target is `right`.
TimeParts not_negative(const Gram& gram, const TimeParts& right) {
  constexpr int most_steps = 200;
  constexpr double least_gain = 1e-7;
  TimeParts solution{};
  Chosen chosen{};
  for (int left = most_steps; left > 0;) {
    std::size_t best = time_part_count;
    double gain = least_gain;
    for (std::size_t i = 0; i < time_part_count; ++i) {
      double slope = right[i];
      for (std::size_t j = 0; j < time_part_count; ++j) slope -= gram[i][j] * solution[j];
      if (chosen[i] || slope <= gain) continue;
      gain = slope;
      best = i;
    }
    if (best == time_part_count) break;
    chosen[best] = true;
    for (; left > 0; --left) {
      const TimeParts next = solved(gram, right, chosen);
      bool is_whole = true;
      for (std::size_t i = 0; i < time_part_count; ++i) is_whole &= !chosen[i] || next[i] > 0;
      if (!is_whole) {
        step(solution, next, chosen);
        continue;
      }
      solution = next;
      --left;
      break;
    }
  }
  return solution;
}

double to_four_digits(double number) {
  return std::stod(fmt::format("{:.4g}", number));
}

}  // namespace

std::span<const std::string_view> part_names() {
  return names_of_parts;
}

TileShape tile_shape(const Configuration& configuration) {
  const auto number = [&](const char* knob) {
    const auto found = configuration.point.find(knob);
    return found == configuration.point.end() || found->second < 1 ? 1.0 : static_cast<double>(found->second);
  };
  return {number("tile_m"), number("tile_n"), number("tile_k"), number("groups")};
}

TimeParts time_parts(const TileShape& shape, const FeatureValues& values) {
  return parts_of(shape, sizes_in(values));
}

std::string expression_of_part(std::size_t part, const FeatureValues& values, const std::string& up) {
  const double processors = processors_in(values);
  const std::string share = fmt::format("blocks / {}", processors);
  switch (part) {
    case once: return {};
    case steps_alone: return "steps";
    case share_of_steps: return fmt::format("({} * steps)", share);
    case share_alone: return fmt::format("({})", share);
    case read: return "(k * n)";
    case Part::written: return "(m * n)";
    default: break;
  }
  const std::size_t of_waves = part - waves;
  const std::string whole = fmt::format("{}(blocks, {})", up, processors * resident_blocks[of_waves / 2]);
  return of_waves % 2 == 0 ? fmt::format("({} * steps)", whole) : whole;
}

TimeParts fitted_parts(const std::vector<TimeParts>& rows) {
  Gram gram{};
  TimeParts right{}, length{};
  for (const TimeParts& row : rows) {
    for (std::size_t i = 0; i < time_part_count; ++i) length[i] += row[i] * row[i];
  }
  for (double& one : length) one = one > 0 ? std::sqrt(one) : 1;
  for (const TimeParts& row : rows) {
    for (std::size_t i = 0; i < time_part_count; ++i) {
      right[i] += row[i] / length[i];
      for (std::size_t j = 0; j < time_part_count; ++j)
        gram[i][j] += row[i] / length[i] * (row[j] / length[j]);
    }
  }
  TimeParts solution = not_negative(gram, right);
  for (std::size_t i = 0; i < time_part_count; ++i) solution[i] /= length[i];
  return solution;
}

bool FittedTimes::Kind::is_of(const FeatureValues& values) const {
  for (std::size_t i = 0; i < feature_count; ++i) {
    if (features()[i].is_kind && values[i] != least[i]) return false;
  }
  return true;
}

bool FittedTimes::Kind::covers(const FeatureValues& values) const {
  for (std::size_t i = 0; i < feature_count; ++i) {
    if (values[i] < least[i] || values[i] > most[i]) return false;
  }
  return true;
}

FittedTimes::FittedTimes(const TimingTable& table, const std::vector<std::size_t>& problems,
                         const std::vector<int>& classes) {
  std::map<std::vector<double>, std::vector<const TimingTable::Problem*>> by_kind;
  for (const std::size_t index : problems) {
    const TimingTable::Problem& problem = table.problems[index];
    std::vector<double> alike;
    for (std::size_t i = 0; i < feature_count; ++i) {
      if (features()[i].is_kind) alike.push_back(problem.features[i]);
    }
    by_kind[alike].push_back(&problem);
  }
  for (const auto& [alike, of_kind] : by_kind) {
    Kind kind{of_kind.size(), of_kind.front()->features, of_kind.front()->features};
    for (const TimingTable::Problem* problem : of_kind) {
      for (std::size_t i = 0; i < feature_count; ++i) {
        kind.least[i] = std::min(kind.least[i], problem->features[i]);
        kind.most[i] = std::max(kind.most[i], problem->features[i]);
      }
    }
    const std::size_t before = fits_.size();
    for (std::size_t c = 0; c < classes.size(); ++c) {
      const TileShape shape = tile_shape(table.configurations[classes[c]]);
      std::vector<TimeParts> rows;
      for (const TimingTable::Problem* problem : of_kind) {
        if (!problem->measured(classes[c])) continue;
        rows.push_back(time_parts(shape, problem->features));
        for (double& part : rows.back()) part /= problem->time(classes[c]);
      }
      if (rows.size() < time_part_count) continue;
      Fit fit{kinds_.size(), static_cast<int>(c), shape, fitted_parts(rows)};
      std::ranges::transform(fit.microseconds, fit.microseconds.begin(), to_four_digits);
      fits_.push_back(fit);
    }
    if (fits_.size() > before) kinds_.push_back(kind);
  }
}

FittedTimes::FittedTimes(std::vector<Kind> kinds, std::vector<Fit> fits)
    : kinds_(std::move(kinds)), fits_(std::move(fits)) {
  for (const Fit& fit : fits_) internal_check(fit.kind < kinds_.size(), "a fit of no kind");
}

std::vector<FittedTimes::Expected> FittedTimes::ranking(const FeatureValues& values) const {
  std::vector<Expected> ranked;
  const auto kind = std::ranges::find_if(kinds_, [&](const Kind& one) { return one.is_of(values); });
  const Sizes sizes = sizes_in(values);
  for (const Fit& fit : fits_) {
    if (fit.kind != static_cast<std::size_t>(kind - kinds_.begin())) continue;
    const TimeParts time_parts = parts_of(fit.shape, sizes);
    double sum = 0;
    for (std::size_t i = 0; i < time_part_count; ++i) sum += fit.microseconds[i] * time_parts[i];
    ranked.push_back({fit.number, sum});
  }
  std::ranges::stable_sort(ranked, {}, &Expected::microseconds);
  return ranked;
}

std::vector<std::size_t> FittedTimes::features_that_differ() const {
  std::vector<std::size_t> differing;
  for (std::size_t i = 0; i < feature_count; ++i) {
    const auto differs = [&](const Kind& kind) { return kind.least[i] != kinds_.front().least[i]; };
    if (features()[i].is_kind && std::ranges::any_of(kinds_, differs)) differing.push_back(i);
  }
  return differing;
}

bool FittedTimes::covers(const FeatureValues& values) const {
  return std::ranges::any_of(kinds_, [&](const Kind& kind) { return kind.covers(values); });
}

}  // namespace weft
