#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/formats/suggestion.h>
#include <weft/search/records/words.h>
#include <weft/search/trials/candidates.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace weft {
namespace {

constexpr std::array<std::string_view, 4> strategy_names{"ranked", "random", "exhaustive", "feasible"};
constexpr double factor_of_a_failure = 4;
constexpr std::size_t fewest_to_learn_from = 5;
constexpr std::size_t by_chance_each = 4;
/// What recipes take beyond the model varies by about that, either way (docs/measurements/choice.md).
constexpr double reach = 4;

std::string name_of_point(const std::string& recipe, const KnobValues& config) {
  std::string name = recipe;
  for (const auto& [knob, value] : config) name += fmt::format(" {}={}", knob, value);
  return name;
}

std::string name_of_point(const TrialPoint& point) {
  return name_of_point(std::to_string(point.space), point.config);
}

}  // namespace

std::string text_of(const Candidate& candidate) {
  return name_of_point(candidate.recipe, candidate.point.config);
}

Strategy strategy_named(std::string_view name) {
  if (const auto known = value_named<Strategy>(strategy_names, name)) return *known;
  throw UserError("there is no such strategy", "--strategy", std::string(name),
                  "ranked, random, exhaustive or feasible" + did_you_mean(name, strategy_names));
}

namespace {

/// Values of knobs of one space that are held to some.
using Held = std::map<std::string, std::vector<std::int64_t>>;

/// Nothing where the space lacks one of the knobs.
std::optional<Held> held_in(const Space& space, const KnobLimits& limits) {
  Held held;
  for (const auto& [knob, words] : limits) {
    if (std::ranges::find(space.knobs(), knob, &ir::Knob::name) == space.knobs().end()) return std::nullopt;
    const auto& values = std::ranges::find(space.knobs(), knob, &ir::Knob::name)->values;
    // By their words: what is no number, or a negative one, is told the values too, and not what numbers are.
    std::vector<std::string> known;
    for (const std::int64_t value : values) known.push_back(space.word_of(knob, value));
    for (const std::string& word : words) {
      const auto place = std::ranges::find(known, word);
      if (place == known.end())
        throw UserError("a knob does not have that value",
                        fmt::format("--set {} (TuneOptions::limits)", knob), word,
                        fmt::format("{}", fmt::join(known, ", ")));
      held[knob].push_back(values[static_cast<std::size_t>(place - known.begin())]);
    }
  }
  return held;
}

bool is_within(const KnobValues& config, const Held& held) {
  return std::ranges::all_of(held, [&](const auto& one) {
    return std::ranges::find(one.second, config.at(one.first)) != one.second.end();
  });
}

/// Marks candidates, and returns the formats, within reach. There is one where there is any candidate.
std::set<std::string> mark_reach(std::vector<Candidate>& all) {
  std::map<std::string, double> least;
  for (const Candidate& one : all) {
    double& least_of_format = least.try_emplace(one.format, one.predicted).first->second;
    least_of_format = std::min(least_of_format, one.predicted);
  }
  std::set<std::string> near;
  for (const auto& [format, time] : least) {
    if (std::ranges::all_of(least, [&](const auto& other) { return time <= reach * other.second; }))
      near.insert(format);
  }
  for (Candidate& one : all) one.within_reach = near.contains(one.format);
  return near;
}

/// What there is without a search, however little seems to speak for it.
void add_point_of_recipe(const Space& space, std::size_t number, const Held& held, const Predict& predicted,
                         std::vector<Candidate>& all) {
  const std::optional<KnobValues> usual = space.usual();
  if (!usual || (usual->empty() && !held.empty()) || !is_within(*usual, held)) return;
  const auto known = std::ranges::find_if(
      all, [&](const Candidate& one) { return one.point.space == number && one.point.config == *usual; });
  if (known != all.end()) {
    known->is_of_recipe = true;
    return;
  }
  const TrialPoint point{number, *usual};
  all.push_back({point, space.recipe(), predicted(point), space.format().text(), true, true});
}

void require_known(const std::vector<Space>& spaces, const KnobLimits& limits) {
  std::vector<std::string> known;
  for (const Space& space : spaces)
    for (const ir::Knob& knob : space.knobs()) known.push_back(knob.name);
  const std::vector<std::string_view> names(known.begin(), known.end());
  for (const auto& [knob, words] : limits) {
    if (std::ranges::find(known, knob) != known.end()) continue;
    if (known.empty())
      throw UserError("there is no such knob", "TuneOptions::limits (--set)", knob,
                      "nothing: there is one point without knobs here");
    throw UserError("there is no such knob", "TuneOptions::limits (--set)", knob,
                    fmt::format("{}{}", fmt::join(std::set(known.begin(), known.end()), ", "),
                                did_you_mean(knob, names)));
  }
}

}  // namespace

std::vector<Candidate> candidates_of(const std::vector<Space>& spaces, Strategy strategy,
                                     const Predict& predicted, const KnobLimits& limits) {
  require_known(spaces, limits);
  std::map<std::size_t, Held> held;  // those of spaces that have all of the knobs
  for (std::size_t number = 0; number < spaces.size(); ++number) {
    if (auto found = held_in(spaces[number], limits)) held[number] = *std::move(found);
  }
  const auto of = [&](bool every) {
    std::vector<Candidate> all;
    for (const auto& [number, values] : held) {
      const Space& space = spaces[number];
      const Points points = every ? space.feasible() : space.worth_trying();
      for (std::size_t i = 0; i < points.size(); ++i) {
        Candidate candidate{{number, points[i]}, space.recipe(), 0, space.format().text()};
        if (!is_within(candidate.point.config, values)) continue;
        candidate.predicted = predicted(candidate.point);
        all.push_back(std::move(candidate));
      }
    }
    const std::set<std::string> near = mark_reach(all);
    for (const auto& [number, values] : held) {
      if (near.empty() || near.contains(spaces[number].format().text()))
        add_point_of_recipe(spaces[number], number, values, predicted, all);
    }
    return all;
  };
  std::vector<Candidate> chosen = of(strategy == Strategy::feasible);
  // Whoever holds knobs to values that seem of no use wants to see them.
  return chosen.empty() && !limits.empty() ? of(true) : chosen;
}

Candidates::Candidates(std::vector<Candidate> candidates, Strategy strategy, std::uint64_t seed)
    : strategy_(strategy), random_(seed), candidates_(std::move(candidates)) {
  for (std::size_t i = 0; i < candidates_.size(); ++i) by_name_[name_of_point(candidates_[i].point)] = i;
  begun_.assign(candidates_.size(), false);
  find_traits();
}

void Candidates::find_traits() {
  for (const Candidate& candidate : candidates_) {
    for (const auto& [knob, value] : candidate.point.config) {
      auto& [least, most] = ranges_.try_emplace(candidate.recipe + " " + knob, value, value).first->second;
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  for (const Candidate& candidate : candidates_) traits_.push_back(traits_of(candidate));
  weights_.assign(trait_numbers_.size(), 0);
}

/// Where a value of a knob stands among all of them, from -1 to 1, by its logarithm.
double Candidates::place_of(const std::string& knob, std::int64_t value) const {
  const auto log = [](std::int64_t number) { return std::log2(static_cast<double>(number) + 1); };
  const auto [least, most] = ranges_.at(knob);
  if (least == most) return 0;
  return 2 * (log(value) - log(least)) / (log(most) - log(least)) - 1;
}

std::vector<Candidates::Trait> Candidates::traits_of(const Candidate& candidate) {
  const auto number = [&](const std::string& name) {
    return trait_numbers_.try_emplace(name, trait_numbers_.size()).first->second;
  };
  std::vector<Trait> traits{{number(candidate.recipe + " in " + candidate.format), 1}};
  for (const auto& [knob, value] : candidate.point.config) {
    const std::string name = candidate.recipe + " " + knob;
    traits.push_back({number(fmt::format("{}={}", name, value)), 1});
    // What is measured at some values says something of those beyond.
    const double place = place_of(name, value);
    if (place != 0) traits.push_back({number(name), place});
  }
  return traits;
}

const Candidate* Candidates::find(const TrialPoint& point) const {
  const auto found = by_name_.find(name_of_point(point));
  return found == by_name_.end() ? nullptr : &candidates_[found->second];
}

std::vector<const Candidate*> Candidates::likeliest_of_formats() const {
  std::map<std::string, const Candidate*> by_format;
  for (const Candidate& one : candidates_) {
    if (!one.within_reach) continue;
    const Candidate*& best = by_format.try_emplace(one.format, &one).first->second;
    if (one.predicted < best->predicted) best = &one;
  }
  std::vector<const Candidate*> all;
  for (const auto& [format, best] : by_format) all.push_back(best);
  std::ranges::stable_sort(all, {}, &Candidate::predicted);
  return all;
}

std::size_t Candidates::number_of(const Candidate& candidate) const {
  return by_name_.at(name_of_point(candidate.point));
}

void Candidates::put_first(const Candidate* candidate, std::string why) {
  if (candidate != nullptr) first_.emplace_back(number_of(*candidate), std::move(why));
}

void Candidates::take(const Candidate& candidate) {
  begun_[number_of(candidate)] = true;
}

void Candidates::learn(const Candidate& candidate, std::optional<double> microseconds) {
  const double over_predicted =
      microseconds ? *microseconds / std::max(candidate.predicted, 1e-9) : factor_of_a_failure;
  measured_[number_of(candidate)] = std::log(std::max(over_predicted, 1e-9));
  successes_ += microseconds ? 1 : 0;
  stale_ = true;
}

/// Ridge regression by coordinate descent: a handful of numbers, and a few hundred traits at most.
void Candidates::fit() {
  constexpr int sweeps = 30;
  constexpr double ridge = 0.7;
  if (!stale_) return;
  stale_ = false;
  std::ranges::fill(weights_, 0.0);
  std::vector<std::vector<std::pair<std::size_t, double>>> having(weights_.size());
  std::map<std::size_t, double> rest = measured_;
  for (const auto& [number, value] : measured_)
    for (const Trait& trait : traits_[number]) having[trait.number].emplace_back(number, trait.size);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (std::size_t trait = 0; trait < weights_.size(); ++trait) {
      if (having[trait].empty()) continue;
      const double former = weights_[trait];
      double sum = 0, squares = ridge;
      for (const auto& [number, size] : having[trait]) {
        sum += size * (rest[number] + size * former);
        squares += size * size;
      }
      weights_[trait] = sum / squares;
      for (const auto& [number, size] : having[trait]) rest[number] += size * (former - weights_[trait]);
    }
  }
}

double Candidates::rank_of(std::size_t number) const {
  double rank = std::log(std::max(candidates_[number].predicted, 1e-9));
  for (const Trait& trait : traits_[number]) rank += trait.size * weights_[trait.number];
  return rank;
}

std::vector<std::size_t> Candidates::open() const {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (!begun_[i]) numbers.push_back(i);
  }
  return numbers;
}

/// One of a format within reach, while there is any: others have spaces as large.
std::size_t Candidates::by_chance(const std::vector<std::size_t>& open) {
  std::vector<std::size_t> near;
  std::ranges::copy_if(open, std::back_inserter(near),
                       [&](std::size_t number) { return candidates_[number].within_reach; });
  const std::vector<std::size_t>& from = near.empty() ? open : near;
  return from[random_.below(static_cast<std::int64_t>(from.size()))];
}

std::optional<Candidates::Choice> Candidates::next() {
  const auto choose = [&](std::size_t number, std::string why) {
    begun_[number] = true;
    ++chosen_;
    return Choice{&candidates_[number], std::move(why)};
  };
  while (!first_.empty()) {
    const auto [number, why] = first_.front();
    first_.erase(first_.begin());
    if (!begun_[number]) return choose(number, why);
  }
  const std::vector<std::size_t> left = open();
  if (left.empty()) return std::nullopt;
  if (strategy_ == Strategy::random ||
      (strategy_ == Strategy::ranked && chosen_ % by_chance_each == by_chance_each - 1))
    return choose(by_chance(left), "random");
  const bool learned = strategy_ == Strategy::ranked && successes_ >= fewest_to_learn_from;
  if (learned) fit();
  std::size_t best = left.front();
  const auto value = [&](std::size_t number) {
    return learned ? rank_of(number) : candidates_[number].predicted;
  };
  for (const std::size_t number : left) {
    if (value(number) < value(best)) best = number;
  }
  return choose(best, learned ? "learned" : strategy_ == Strategy::ranked ? "ranked" : "exhaustive");
}

}  // namespace weft
