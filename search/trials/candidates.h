// Which point is tried next.
#pragma once

#include <weft/formats/random.h>
#include <weft/search/measure/trial.h>
#include <weft/search/spaces/space.h>

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// A point of one of the spaces, with the time that is expected of it.
struct Candidate {
  TrialPoint point;
  std::string recipe;
  double predicted = 0;
  std::string format = {};    ///< that of its space
  bool within_reach = true;   ///< whether the likeliest of its format may be the best of all
  bool is_of_recipe = false;  ///< the point that the recipe takes unasked
};

/// A point by names, as a plan and a predictor have it.
struct NamedPoint {
  std::string recipe;
  KnobValues config;
  std::string format = {};  ///< that of the weights; empty where it is not said
};

enum class Strategy : std::uint8_t {
  ranked,      ///< those put first, then by rank and, each fourth, by chance
  random,      ///< by chance alone
  exhaustive,  ///< every point worth trying, by rank
  feasible,    ///< every point that can run, by rank
};
/// UserError that lists them when there is none of that name.
Strategy strategy_named(std::string_view name);

/// "small a=1 b=2": recipe and configuration.
std::string text_of(const Candidate& candidate);

/// A value of a knob as people write it: {"form", {"baked"}}, {"rows", {8, 16}} or {"rows", {"8"}}.
struct KnobWord : std::string {
  KnobWord(std::string word) : std::string(std::move(word)) {}
  KnobWord(const char* word) : std::string(word) {}
  template <std::integral Integer>
  KnobWord(Integer value) : std::string(std::to_string(value)) {}
};
using Predict = std::function<double(const TrialPoint&)>;
/// Values that knobs are held to: {"stages", {3, 4}}, as Space::value_of reads them.
using KnobLimits = std::map<std::string, std::vector<KnobWord>>;

/// The points of the spaces that a strategy chooses from, among them those that recipes take unasked, for
/// which weights may be packed: of formats within reach alone, whose likeliest point is expected to take at
/// most four times as long as that of the best one. UserError for a limit of a knob that no space has, or a
/// value that it cannot have; a space without the knob has no candidates then.
std::vector<Candidate> candidates_of(const std::vector<Space>& spaces, Strategy strategy,
                                     const Predict& predicted, const KnobLimits& limits = {});

/// Candidates and what is known of them. The rank begins as the order of the expected times; measured points
/// correct it by a factor for each recipe in each format and each value of a knob, and a slope along each
/// knob, fitted to the logarithm of measured over expected. A failure counts as four times that.
class Candidates {
 public:
  Candidates(std::vector<Candidate> candidates, Strategy strategy, std::uint64_t seed);

  std::size_t size() const { return candidates_.size(); }
  const std::vector<Candidate>& all() const { return candidates_; }
  /// The candidate of a point; null when it is none.
  const Candidate* find(const TrialPoint& point) const;
  /// The likeliest candidate of each format within reach, the likeliest of all first.
  std::vector<const Candidate*> likeliest_of_formats() const;

  /// To be tried before all others. Nothing where it is null.
  void put_first(const Candidate* candidate, std::string why);
  /// Begun by somebody: not to be tried again.
  void take(const Candidate& candidate);
  /// What came of it: microseconds, nothing for a failure.
  void learn(const Candidate& candidate, std::optional<double> microseconds);

  struct Choice {
    const Candidate* candidate = nullptr;
    std::string why;  ///< the strategy of its record: "recipe", "ranked", "learned", "random", …
  };
  /// The next one, or nothing when all were begun.
  std::optional<Choice> next();

 private:
  /// A recipe in a format or a value of a knob, of size 1; or where the value stands among all of the knob.
  struct Trait {
    std::size_t number = 0;
    double size = 1;
  };

  void find_traits();
  std::vector<Trait> traits_of(const Candidate& candidate);
  double place_of(const std::string& knob, std::int64_t value) const;
  std::size_t number_of(const Candidate& candidate) const;
  std::vector<std::size_t> open() const;
  std::size_t by_chance(const std::vector<std::size_t>& open);
  void fit();
  double rank_of(std::size_t number) const;

  Strategy strategy_;
  Random random_;
  std::vector<Candidate> candidates_;
  std::map<std::string, std::size_t> trait_numbers_;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> ranges_;  ///< by recipe and knob
  std::vector<std::vector<Trait>> traits_;                               ///< those of each candidate
  std::map<std::string, std::size_t> by_name_;                           ///< by space and configuration
  std::vector<double> weights_;                                          ///< that of each trait
  std::vector<bool> begun_;
  std::vector<std::pair<std::size_t, std::string>> first_;
  std::map<std::size_t, double> measured_;  ///< log of measured over predicted
  std::size_t successes_ = 0;
  std::size_t chosen_ = 0;
  bool stale_ = false;
};

}  // namespace weft
