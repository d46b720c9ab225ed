#include <weft/formats/parallel.h>
#include <weft/formats/prune/units.h>

#include <algorithm>

namespace weft::pruning {
namespace {

/// `score` and `places(unit)` by unit. Leaves out what is worth nothing and takes the units in the order of
/// their mean score, leaving out what no longer fits. Those that certainly fit are split off without sorting,
/// which a large matrix would feel.
template <class Places>
Chosen choose(const std::vector<double>& score, const Places& places, std::int64_t budget) {
  std::vector<double> mean(score.size());
  for (std::size_t i = 0; i < score.size(); ++i) mean[i] = score[i] / static_cast<double>(places(i));
  const auto comes_before = [&](std::size_t left, std::size_t right) {
    return mean[left] != mean[right] ? mean[left] > mean[right] : left < right;
  };
  std::vector<std::uint32_t> open;
  for (std::uint32_t unit = 0; unit < score.size(); ++unit) {
    if (score[unit] > 0) open.push_back(unit);
  }
  Chosen result{std::vector<bool>(score.size()), 0, 0};
  auto begin = open.begin();
  while (true) {
    const std::int64_t left = budget - result.places;
    open.erase(std::remove_if(begin, open.end(), [&](auto unit) { return places(unit) > left; }), open.end());
    if (begin == open.end()) return result;
    std::int64_t largest = 0;
    for (auto unit = begin; unit != open.end(); ++unit) largest = std::max(largest, places(*unit));
    const auto end = begin + std::min<std::ptrdiff_t>(left / largest, open.end() - begin);
    if (end != open.end()) std::nth_element(begin, end, open.end(), comes_before);
    for (; begin != end; ++begin) {
      result.kept[*begin] = true;
      result.places += places(*begin);
    }
  }
}

/// The score is added up by number of the unit, so that it does not depend on the order of the search.
Chosen with_score(Chosen chosen, const std::vector<double>& score) {
  for (std::size_t i = 0; i < score.size(); ++i) chosen.score += chosen.kept[i] ? score[i] : 0;
  return chosen;
}

}  // namespace

std::vector<std::int32_t> Grouping::row_order() const {
  std::vector<std::int32_t> order(group_of_row.size());
  std::vector<std::size_t> next(groups());
  for (std::size_t group = 0; group < next.size(); ++group)
    next[group] = group * static_cast<std::size_t>(height);
  for (std::size_t row = 0; row < group_of_row.size(); ++row)
    order[next[group_of_row[row]]++] = static_cast<std::int32_t>(row);
  return order;
}

Grouping neighbours(std::int64_t rows, std::int64_t height) {
  Grouping result{height, std::vector<std::int32_t>(static_cast<std::size_t>(rows))};
  for (std::int64_t row = 0; row < rows; ++row)
    result.group_of_row[row] = static_cast<std::int32_t>(row / height);
  return result;
}

Chosen best_vectors(const Scores& scores, const Grouping& grouping, std::int64_t budget) {
  const auto columns = static_cast<std::size_t>(scores.columns);
  const std::vector<std::int32_t> order = grouping.row_order();
  std::vector<double> sum(static_cast<std::size_t>(grouping.groups()) * columns);
  parallel_for(grouping.groups(), std::ssize(scores.value), [&](std::int64_t group) {
    double* of_group = sum.data() + static_cast<std::size_t>(group) * columns;
    const std::int64_t first = group * grouping.height;
    for (std::int64_t i = first; i < first + grouping.rows_in(group); ++i) {
      const std::int32_t row = order[i];
      for (std::size_t entry = scores.first(row); entry < scores.last(row); ++entry)
        of_group[scores.column[entry]] += static_cast<double>(scores.value[entry]);
    }
  });
  const auto places = [&](std::size_t unit) {
    return grouping.rows_in(static_cast<std::int64_t>(unit / columns));
  };
  return with_score(choose(sum, places, budget), sum);
}

Chosen best_blocks(const Scores& scores, std::int64_t size, std::int64_t budget) {
  const std::int64_t across = ceil_divide(scores.columns, size);
  const std::int64_t down = ceil_divide(scores.rows, size);
  std::vector<double> sum(across * down);
  for (std::int64_t row = 0; row < scores.rows; ++row) {
    for (std::size_t entry = scores.first(row); entry < scores.last(row); ++entry)
      sum[row / size * across + scores.column[entry] / size] += static_cast<double>(scores.value[entry]);
  }
  const auto places = [&](std::size_t unit) {
    const std::int64_t row = static_cast<std::int64_t>(unit) / across * size;
    const std::int64_t column = static_cast<std::int64_t>(unit) % across * size;
    return std::min(size, scores.rows - row) * std::min(size, scores.columns - column);
  };
  return with_score(choose(sum, places, budget), sum);
}

}  // namespace weft::pruning
