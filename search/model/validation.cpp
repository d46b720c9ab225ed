#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/search/model/bound.h>
#include <weft/search/model/classes.h>
#include <weft/search/model/draw.h>
#include <weft/search/model/predictor.h>
#include <weft/search/model/rank_correlation.h>
#include <weft/search/model/validation.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

constexpr double close_to_best = 0.995;

std::size_t count_of(const std::vector<std::size_t>& matrices) {
  return matrices.empty() ? 0 : 1 + *std::ranges::max_element(matrices);
}

/// The part of each problem; problems of one matrix are in one part.
std::vector<std::size_t> parts_of(const TimingTable& table, const ValidationOptions& options,
                                  std::size_t& count) {
  std::vector<std::size_t> parts = table.matrices();
  count = count_of(parts);
  if (options.folds == 0 || options.folds >= count) return parts;
  std::vector<std::size_t> dealt = numbers_below(count);
  Random random(options.seed);
  shuffle(dealt, random);
  for (std::size_t& part : parts) part = dealt[part] % options.folds;
  count = options.folds;
  return parts;
}

/// What judges a part are the others.
void check_parts(const TimingTable& table, const ValidationOptions& options) {
  const std::size_t count = count_of(table.matrices());
  if (count < 2)
    throw UserError("a predictor needs several matrices", "the times to learn from",
                    count == 1 ? "those of one matrix" : "none",
                    "two or more, so that each can be judged by what the others teach: weft tune on another "
                    "weight, into the same database");
  if (options.folds == 1)
    throw UserError("one part cannot be judged by others", "the parts that matrices are dealt into", "1",
                    fmt::format("2 to {}, or 0: each matrix by all others", count));
}

/// The classes that occur in some problems, with the set to learn from.
struct Lesson {
  std::vector<std::size_t> problems;
  std::vector<int> classes;
  TrainingSet set;
  Lesson(const TimingTable& table, std::vector<std::size_t> from, const std::vector<int>& labels)
      : problems(std::move(from)) {
    std::vector<int> occurring;
    for (const std::size_t index : problems) occurring.push_back(labels[index]);
    classes = distinct(occurring);
    set = training_set(table, problems, labels, classes);
  }
};

/// The first of the ranking that was measured; the first where none was.
int first_measured(const TimingTable::Problem& problem, const std::vector<int>& ranking,
                   const std::vector<int>& classes) {
  for (const int number : ranking) {
    const int configuration = classes[number];
    if (problem.measured(configuration)) return configuration;
  }
  return classes[ranking.front()];
}

/// `learn` makes a model of a lesson, which has ranking(features).
template <class Learn>
Score cross_validate(const TimingTable& table, const ValidationOptions& options, Learn&& learn) {
  check_parts(table, options);
  const std::vector<int> labels = options.labelling(table);
  std::size_t count = 0;
  const std::vector<std::size_t> parts = parts_of(table, options, count);
  std::vector<int> predicted(table.problems.size(), -1);
  for (std::size_t part = 0; part < count; ++part) {
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] != part) others.push_back(i);
    }
    if (others.empty() || others.size() == parts.size()) continue;
    const Lesson lesson(table, std::move(others), labels);
    const auto model = learn(lesson);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const TimingTable::Problem& problem = table.problems[i];
      if (parts[i] == part)
        predicted[i] = first_measured(problem, model.ranking(problem.features), lesson.classes);
    }
  }
  return score_of(table, predicted, labels, options.labelling.threshold);
}

}  // namespace

std::vector<int> Labelling::operator()(const TimingTable& table) const {
  const std::vector<std::size_t> all = numbers_below(table.problems.size());
  return normalised ? normalised_classes(table, all, threshold) : fastest_classes(table, all);
}

Score score_of(const TimingTable& table, const std::vector<int>& predicted, const std::vector<int>& labels,
               double threshold) {
  Score score;
  score.predicted = predicted;
  score.worst = 1;
  const auto count = static_cast<double>(table.problems.size());
  for (std::size_t i = 0; i < table.problems.size(); ++i) {
    const double performance = predicted[i] < 0 ? 0 : table.problems[i].performance(predicted[i]);
    score.performance.push_back(performance);
    score.untried += performance > 0 ? 0 : 1;
    score.mean += performance / count;
    score.accuracy += predicted[i] == labels[i] ? 1 / count : 0;
    score.close += performance >= threshold ? 1 / count : 0;
    if (performance <= score.worst) {
      score.worst = performance;
      score.worst_problem = table.problems[i].name;
    }
  }
  return score;
}

Score validate_tree(const TimingTable& table, const TreeOptions& tree, const ValidationOptions& options) {
  return cross_validate(table, options, [&](const Lesson& lesson) { return fit_tree(lesson.set, tree); });
}

Score validate_times(const TimingTable& table, const TreeOptions& tree, const ValidationOptions& options) {
  return cross_validate(table, options, [&](const Lesson& lesson) {
    Predictor predictor;
    predictor.times = FittedTimes(table, lesson.problems, lesson.classes);
    predictor.tree = fit_tree(lesson.set, tree);
    for (const int number : lesson.classes) predictor.classes.push_back(table.configurations[number]);
    return predictor;
  });
}

OrderScore validate_order(const TimingTable& table, std::uint64_t seed) {
  constexpr std::size_t drawn = 20, fewest = 3;
  const ValidationOptions thirds{{}, 3, seed};
  check_parts(table, thirds);
  std::size_t count = 0;
  const std::vector<std::size_t> part_of = parts_of(table, thirds, count);
  std::vector<int> all(table.configurations.size());
  std::iota(all.begin(), all.end(), 0);
  Random random(seed);
  std::vector<double> correlations, shares;
  for (std::size_t part = 0; part < count; ++part) {
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < part_of.size(); ++i) {
      if (part_of[i] != part) others.push_back(i);
    }
    const FittedTimes times(table, others, all);
    for (std::size_t i = 0; i < part_of.size(); ++i) {
      const TimingTable::Problem& problem = table.problems[i];
      std::vector<double> expected, measured;
      for (const FittedTimes::Expected& one : times.ranking(problem.features)) {
        if (!problem.measured(one.number)) continue;
        expected.push_back(one.microseconds);
        measured.push_back(problem.time(one.number));
      }
      if (part_of[i] != part || expected.size() < fewest) continue;
      correlations.push_back(rank_correlation(expected, measured));
      std::vector<std::size_t> order = numbers_below(expected.size());
      shuffle(order, random);
      order.resize(std::min(order.size(), drawn));
      const auto fastest = [&](const std::vector<double>& of) {
        return *std::ranges::min_element(order, {}, [&](std::size_t one) { return of[one]; });
      };
      shares.push_back(measured[fastest(measured)] / measured[fastest(expected)]);
    }
  }
  if (shares.empty()) return {};
  const auto mean = [](const std::vector<double>& numbers) {
    return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
  };
  return {mean(correlations), std::ranges::min(correlations), mean(shares), std::ranges::min(shares)};
}

Score score_bound(const TimingTable& table, const Labelling& labelling) {
  std::vector<int> predicted;
  for (const TimingTable::Problem& problem : table.problems) {
    const Target& target = target_named(problem.target);
    int best = -1;
    double least = 0;
    for (int c = 0; c < static_cast<int>(table.configurations.size()); ++c) {
      if (!problem.measured(c)) continue;
      const Configuration& configuration = table.configurations[c];
      const double bound =
          bound_of(problem.summary, configuration.recipe, configuration.point, target).microseconds;
      if (best >= 0 && bound >= least) continue;
      best = c;
      least = bound;
    }
    predicted.push_back(best);
  }
  return score_of(table, predicted, labelling(table), labelling.threshold);
}

Score validate_single(const TimingTable& table, const ValidationOptions& options) {
  return validate_tree(table, {.max_height = 0}, options);
}

std::optional<Score> score_usual(const TimingTable& table, const Labelling& labelling) {
  std::vector<int> predicted;
  for (const TimingTable::Problem& problem : table.problems) {
    if (problem.usual < 0) return std::nullopt;
    predicted.push_back(problem.usual);
  }
  return score_of(table, predicted, labelling(table), labelling.threshold);
}

std::vector<GridPoint> validate_grid(const TimingTable& table, const ValidationOptions& options,
                                     std::vector<int> heights, std::vector<double> leaves) {
  if (heights.empty()) heights = {1, 2, 4, 8, TreeOptions::unlimited};
  if (leaves.empty()) leaves = {1, 2, 4, 8, 0.1, 0.2};
  std::vector<GridPoint> grid;
  for (const SplitBy split_by : {SplitBy::gini, SplitBy::slow_down}) {
    for (const int height : heights) {
      for (const double leaf : leaves) {
        const TreeOptions tree{.max_height = height, .min_leaf = leaf, .split_by = split_by};
        grid.push_back({tree, validate_tree(table, tree, options)});
      }
    }
  }
  return grid;
}

const GridPoint& smallest_good(const std::vector<GridPoint>& grid) {
  internal_check(!grid.empty(), "no trees to choose from");
  const double best =
      std::ranges::max_element(grid, {}, [](const GridPoint& p) { return p.score.mean; })->score.mean;
  const GridPoint* chosen = nullptr;
  const auto size = [](const GridPoint& p) {
    // A share of the samples is more than any count of the grid.
    const double leaf = p.tree.min_leaf < 1 ? 1000 * p.tree.min_leaf : p.tree.min_leaf;
    return std::tuple(p.tree.max_height, -leaf, -p.score.mean);
  };
  for (const GridPoint& point : grid) {
    if (point.score.mean < close_to_best * best) continue;
    if (chosen == nullptr || size(point) < size(*chosen)) chosen = &point;
  }
  return *chosen;
}

std::vector<LearningPoint> learning_curve(const TimingTable& table, const TreeOptions& tree,
                                          const ValidationOptions& options, int drawings) {
  const std::vector<int> labels = options.labelling(table);
  const std::vector<std::size_t> matrices = table.matrices();
  const std::size_t count = count_of(matrices);
  Random random(options.seed);
  std::vector<LearningPoint> curve;
  for (const double share : {0.1, 0.2, 0.4, 0.6, 0.8}) {
    const auto learnt = static_cast<std::size_t>(std::llround(share * static_cast<double>(count)));
    if (learnt == 0 || learnt >= count) continue;
    LearningPoint point;
    for (int drawing = 0; drawing < drawings; ++drawing) {
      std::vector<std::size_t> order = numbers_below(count);
      shuffle(order, random);
      std::vector<bool> chosen(count);
      for (std::size_t i = 0; i < learnt; ++i) chosen[order[i]] = true;
      std::vector<std::size_t> from;
      for (std::size_t i = 0; i < matrices.size(); ++i) {
        if (chosen[matrices[i]]) from.push_back(i);
      }
      const Lesson lesson(table, from, labels);
      const DecisionTree model = fit_tree(lesson.set, tree);
      const double others = static_cast<double>(matrices.size() - from.size()) * drawings;
      const double own = static_cast<double>(from.size()) * drawings;
      point.problems += from.size();
      for (std::size_t i = 0; i < matrices.size(); ++i) {
        const TimingTable::Problem& problem = table.problems[i];
        const int predicted = first_measured(problem, model.ranking(problem.features), lesson.classes);
        const double right = predicted == labels[i] ? 1 : 0;
        if (chosen[matrices[i]]) {
          point.training_accuracy += right / own;
        } else {
          point.accuracy += right / others;
          point.mean += problem.performance(predicted) / others;
        }
      }
    }
    point.problems /= static_cast<std::size_t>(drawings);
    curve.push_back(point);
  }
  return curve;
}

}  // namespace weft
