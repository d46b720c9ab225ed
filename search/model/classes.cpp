#include <weft/search/model/classes.h>

#include <algorithm>

namespace weft {

std::vector<int> fastest_classes(const TimingTable& table, const std::vector<std::size_t>& problems) {
  std::vector<int> labels(table.problems.size(), -1);
  for (const std::size_t index : problems) {
    const std::vector<double>& times = table.problems[index].microseconds;
    labels[index] = static_cast<int>(std::ranges::min_element(times) - times.begin());
  }
  return labels;
}

std::vector<int> normalised_classes(const TimingTable& table, const std::vector<std::size_t>& problems,
                                    double threshold) {
  const std::size_t count = table.configurations.size();
  std::vector<std::vector<int>> suiting(table.problems.size());
  std::vector<std::size_t> popularity(count);
  for (const std::size_t index : problems) {
    for (std::size_t c = 0; c < count; ++c) {
      if (table.problems[index].performance(static_cast<int>(c)) < threshold) continue;
      suiting[index].push_back(static_cast<int>(c));
      ++popularity[c];
    }
  }
  std::vector<int> labels(table.problems.size(), -1);
  std::size_t left = problems.size();
  while (left > 0) {
    const auto most = std::ranges::max_element(popularity);
    const auto chosen = static_cast<int>(most - popularity.begin());
    for (const std::size_t index : problems) {
      if (labels[index] >= 0 || std::ranges::find(suiting[index], chosen) == suiting[index].end()) continue;
      labels[index] = chosen;
      --left;
      for (const int c : suiting[index]) --popularity[c];
    }
  }
  return labels;
}

std::vector<int> distinct(const std::vector<int>& labels) {
  std::vector<int> classes = labels;
  std::ranges::sort(classes);
  const auto rest = std::ranges::unique(classes);
  classes.erase(rest.begin(), rest.end());
  std::erase(classes, -1);
  return classes;
}

}  // namespace weft
