#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/blocks/hb_ell.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/model/timing_table.h>

#include <algorithm>
#include <map>

namespace weft {
namespace {

constexpr double slow_down_of_untried = 10;

template <class Knobs>
std::string word_of(std::span<const RecipeKnob<Knobs>> knobs, const std::string& knob, std::int64_t value) {
  for (const RecipeKnob<Knobs>& known : knobs) {
    if (known.name != knob) continue;
    if (value < known.least) return {};
    const bool has_word = value >= 1 && value <= std::ssize(known.words);
    return has_word ? std::string(known.words[static_cast<std::size_t>(value - 1)]) : std::to_string(value);
  }
  return std::to_string(value);
}

/// As --recipe takes it; nothing for a knob that is left to the recipe.
std::string word_of(const std::string& recipe, const std::string& knob, std::int64_t value) {
  if (recipe == "shfl_bw" || recipe == "v_n_m") return word_of(shfl_bw_knobs(), knob, value);
  if (recipe == "hb_ell") return word_of(hb_ell_knobs(), knob, value);
  if (recipe == "sparsert") return word_of(sparsert_knobs(), knob, value);
  return std::to_string(value);
}

}  // namespace

std::string Configuration::text() const {
  std::string text = recipe;
  char separator = ':';
  for (const auto& [knob, value] : point) {
    const std::string word = word_of(recipe, knob, value);
    if (word.empty()) continue;
    text += fmt::format("{}{}={}", separator, knob, word);
    separator = ',';
  }
  return text;
}

double TimingTable::Problem::best() const {
  return *std::ranges::min_element(microseconds);
}

double TimingTable::Problem::performance(int configuration) const {
  return measured(configuration) ? best() / time(configuration) : 0;
}

std::vector<std::size_t> TimingTable::matrices() const {
  std::map<std::string, std::size_t> known;
  std::vector<std::size_t> numbers;
  for (const Problem& problem : problems)
    numbers.push_back(known.try_emplace(problem.matrix, known.size()).first->second);
  return numbers;
}

TrainingSet training_set(const TimingTable& table, const std::vector<std::size_t>& problems,
                         const std::vector<int>& labels, const std::vector<int>& classes) {
  TrainingSet set;
  set.width = feature_count;
  set.classes = classes.size();
  for (const std::size_t index : problems) {
    const TimingTable::Problem& problem = table.problems[index];
    set.features.insert(set.features.end(), problem.features.begin(), problem.features.end());
    const auto found = std::ranges::find(classes, labels[index]);
    internal_check(found != classes.end(), "a label that is no class");
    set.labels.push_back(static_cast<int>(found - classes.begin()));
    const double best = problem.best();
    for (const int of_class : classes) {
      const double slow_down =
          problem.measured(of_class) ? problem.time(of_class) / best : slow_down_of_untried;
      set.slow_downs.push_back(std::min(slow_down, slow_down_of_untried));
      set.tried.push_back(problem.measured(of_class));
    }
  }
  return set;
}

}  // namespace weft
