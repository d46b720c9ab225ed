#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/list.h>
#include <weft/search/model/timing_table.h>

#include <algorithm>
#include <map>

namespace weft {
namespace {

constexpr double slow_down_of_untried = 10;

}  // namespace

std::string Configuration::text() const {
  std::string text = recipe;
  char separator = ':';
  const Recipe* const known = recipe_named(recipe);
  for (const auto& [knob, value] : point) {
    const RecipeKnob* const row = known == nullptr ? nullptr : knob_named(known->knobs, knob);
    const std::string word = row == nullptr ? std::to_string(value) : row->word_of(value);
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
