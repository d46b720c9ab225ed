#include <fmt/format.h>
#include <weft/search/model/timing_table.h>
#include <weft/search/report/trial_charts.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

namespace weft::report {
namespace {

std::string config_of(const StoredRecord& stored) {
  return Configuration{stored.record.recipe, stored.record.config}.text();
}

std::string family_of(const ProblemTrials& problem) {
  if (problem.summary.kept_of > 0)
    return fmt::format("{}:{}", problem.summary.kept_of, problem.summary.of_group);
  if (problem.summary.group_rows > 0) return fmt::format("V = {}", problem.summary.group_rows);
  return problem.summary.convolution ? "convolution" : "unstructured";
}

/// In percent, as it is said of a problem: one place of layers that were pruned alike.
double zeros_of(const ProblemTrials& problem) {
  return std::round(1000 * (1 - problem.summary.density())) / 10;
}

Series& series_named(std::vector<Series>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &Series::name);
  if (found != all.end()) return *found;
  all.push_back({name, Series::Kind::points, {}});
  return all.back();
}

/// "shfl_bw, V = 64, f16"; weights whose columns were put together in fours by what they are.
std::string recipe_of(const ProblemTrials& problem) {
  const ProblemSummary& summary = problem.summary;
  std::string name = problem.best->record.recipe;
  if (summary.kept_of > 0 && summary.of_group == 0) {
    name = parse_format(problem.best->record.pattern.kind).name;
  } else if (summary.group_rows > 0) {
    name += fmt::format(", V = {}", summary.group_rows);
  }
  return fmt::format("{}, {}", name, name_of(summary.dtype));
}

/// V = 64 before V = 128.
std::pair<std::size_t, std::string> by_name(const Series& series) {
  return {series.name.size(), series.name};
}

/// Some of very many points, evenly, so that a page stays small.
Series thinned(Series series) {
  constexpr std::size_t most = 1000;
  const std::size_t count = series.points.size();
  if (count <= most) return series;
  std::vector<ChartPoint> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(series.points[i * (count - 1) / (most - 1)]);
  series.points = std::move(some);
  return series;
}

void thin(std::vector<Series>& all) {
  for (Series& series : all) series = thinned(std::move(series));
}

/// Those whose knobs the best one has.
std::vector<const StoredRecord*> trials_of_best_recipe(const ProblemTrials& problem) {
  std::vector<const StoredRecord*> trials;
  if (problem.best == nullptr) return trials;
  std::ranges::copy_if(problem.trials, std::back_inserter(trials), [&](const StoredRecord* stored) {
    return stored->record.recipe == problem.best->record.recipe;
  });
  return trials;
}

/// The best time with each value of a knob, by the values.
std::map<std::int64_t, double> best_by_value(const std::vector<const StoredRecord*>& trials,
                                             const std::string& knob) {
  std::map<std::int64_t, double> best;
  for (const StoredRecord* stored : trials) {
    const std::optional<double> time = stored->record.time_of_correct();
    const auto value = stored->record.config.find(knob);
    if (!time || value == stored->record.config.end()) continue;
    const auto [at, fresh] = best.try_emplace(value->second, *time);
    if (!fresh) at->second = std::min(at->second, *time);
  }
  return best;
}

/// Those whose values make the largest difference to the best time, with two values or more.
std::vector<std::string> knobs_that_matter(const std::vector<const StoredRecord*>& trials) {
  std::set<std::string> knobs;
  for (const StoredRecord* stored : trials) {
    for (const auto& [knob, value] : stored->record.config) knobs.insert(knob);
  }
  std::vector<std::pair<double, std::string>> ranked;
  for (const std::string& knob : knobs) {
    const std::map<std::int64_t, double> best = best_by_value(trials, knob);
    if (best.size() < 2) continue;
    double least = best.begin()->second, most = least;
    for (const auto& [value, time] : best) {
      least = std::min(least, time);
      most = std::max(most, time);
    }
    ranked.emplace_back(-std::log(most / least), knob);
  }
  std::ranges::sort(ranked);
  std::vector<std::string> names;
  for (const auto& [difference, knob] : ranked) names.push_back(knob);
  return names;
}

struct Ratio {
  double value = 0;
  std::string beside;  ///< what is so many times slower
};

/// The time of what is called `over`, or of dense where nothing is named, over the best time.
std::optional<Ratio> ratio_over(const ProblemTrials& problem, const std::string& over) {
  if (over.empty())
    return problem.speed_up() ? std::optional(Ratio{*problem.speed_up(), problem.dense->name}) : std::nullopt;
  if (!problem.best_time()) return std::nullopt;
  const std::vector<Baseline>& all = problem.best->record.baselines;
  const auto found = std::ranges::find(all, over, &Baseline::name);
  if (found == all.end()) return std::nullopt;
  return Ratio{found->microseconds / *problem.best_time(), over};
}

/// Numbers problems from 1 in the order in which their sizes come, so that several patterns of one product
/// stand above one another.
class Numbers {
 public:
  double of(const ProblemTrials& problem) {
    const ProblemSummary& is = problem.summary;
    const auto key = std::tuple(problem.trials.front()->record.kernel, is.m, is.k, is.n);
    return static_cast<double>(_numbers.try_emplace(key, _numbers.size() + 1).first->second);
  }

 private:
  std::map<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>, std::size_t> _numbers;
};

/// "V = 64, 75 % zero"
std::string weights_of(const ProblemTrials& problem) {
  const bool pattern = problem.summary.kept_of > 0 || problem.summary.group_rows > 0;
  return fmt::format("{}{:g} % zero", pattern ? family_of(problem) + ", " : "", zeros_of(problem));
}

constexpr std::string_view in_order = "problem, in the order of the file";

std::string word_of(const std::string& recipe, const std::string& knob, std::int64_t value) {
  const Configuration one{recipe, {{knob, value}}};
  const std::string text = one.text();
  const std::size_t equals = text.find('=');
  return equals == std::string::npos ? std::to_string(value) : text.substr(equals + 1);
}

}  // namespace

Chart speed_up_over_sparsity(const std::vector<ProblemTrials>& problems) {
  Chart chart{.title = "Speed-up over dense, by sparsity",
              .x_label = "share of weights that are zero, %",
              .y_label = "dense time / best time",
              .logarithmic_y = true,
              .marks = {{1, true, "dense is as fast"}},
              .most_x = 100};
  for (const ProblemTrials& problem : problems) {
    const std::optional<double> ratio = problem.speed_up();
    // To be faster than weft's own dense kernel says nothing of what a user has.
    if (!ratio || problem.dense->whose == BaselineOf::weft) continue;
    if (problem.dense->whose == BaselineOf::model) chart.y_label = "modelled dense time / best time";
    series_named(chart.series, family_of(problem))
        .points.push_back({zeros_of(problem), *ratio,
                           fmt::format("{}: {:.2f}x, beside {}", problem.name, *ratio, problem.dense->name)});
  }
  std::ranges::sort(chart.series, {}, by_name);
  thin(chart.series);
  return chart;
}

Chart speed_up_by_recipe(const std::vector<ProblemTrials>& problems, const std::string& over) {
  struct Ratios {
    double logarithms = 0;
    int count = 0;
  };
  std::map<std::string, std::map<double, Ratios>> found;
  std::set<std::string> beside;
  for (const ProblemTrials& problem : problems) {
    const std::optional<Ratio> ratio = ratio_over(problem, over);
    if (!ratio) continue;
    const double zero = zeros_of(problem);
    Ratios& ratios = found[recipe_of(problem)][zero];
    ratios.logarithms += std::log(ratio->value);
    ++ratios.count;
    beside.insert(ratio->beside);
  }
  Chart chart{.title = fmt::format("Speed-up over {}, by sparsity", over.empty() ? "dense" : over),
              .x_label = "share of weights that are zero, %",
              .y_label = fmt::format("time of {} / time of weft", fmt::join(beside, ", ")),
              .marks = {{1, true, fmt::format("{} is as fast", over.empty() ? "dense" : over)}},
              .most_x = 100};
  for (const auto& [recipe, by_sparsity] : found) {
    Series series{recipe, Series::Kind::line, {}};
    for (const auto& [zero, ratios] : by_sparsity) {
      const double mean = std::exp(ratios.logarithms / ratios.count);
      series.points.push_back({zero, mean, fmt::format("{} at {} %: {:.2f}x", recipe, zero, mean)});
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Chart speed_up_by_problem(const std::vector<ProblemTrials>& problems, const std::string& over) {
  Chart chart{.title = fmt::format("Speed-up over {}, by problem", over.empty() ? "dense" : over),
              .x_label = std::string(in_order),
              .y_label = {},
              .marks = {{1, true, fmt::format("{} is as fast", over.empty() ? "dense" : over)}}};
  Numbers numbers;
  std::set<std::string> beside;
  for (const ProblemTrials& problem : problems) {
    const std::optional<Ratio> ratio = ratio_over(problem, over);
    if (!ratio) continue;
    beside.insert(ratio->beside);
    series_named(chart.series, weights_of(problem))
        .points.push_back({numbers.of(problem), ratio->value,
                           fmt::format("{}: {:.2f}x, beside {}", problem.name, ratio->value, ratio->beside)});
  }
  chart.y_label = fmt::format("time of {} / time of weft", fmt::join(beside, ", "));
  thin(chart.series);
  return chart;
}

Chart rates_by_problem(const std::vector<ProblemTrials>& problems) {
  Chart chart{.title = "Operations of stored weights a second",
              .x_label = std::string(in_order),
              .y_label = "billion operations a second"};
  Numbers numbers;
  for (const ProblemTrials& problem : problems) {
    const std::optional<double> best = problem.best_time();
    if (!best) continue;
    const auto add = [&](const std::string& name, double time) {
      series_named(chart.series, fmt::format("{}, {}", name, weights_of(problem)))
          .points.push_back({numbers.of(problem), problem.summary.operations() / time / 1e3,
                             fmt::format("{}: {} {:.2f} us", problem.name, name, time)});
    };
    add("weft", *best);
    for (const Baseline& other : problem.best->record.baselines) add(other.name, other.microseconds);
  }
  thin(chart.series);
  return chart;
}

Chart roofline(const std::vector<ProblemTrials>& problems) {
  Chart chart{.title = "Roofline of the best kernels",
              .x_label = "operations of stored weights / bytes moved at least",
              .y_label = "billion operations a second",
              .logarithmic_x = true,
              .logarithmic_y = true};
  std::map<std::string, Ceilings> roofs;
  double least = 0.5, most = 64;
  std::vector<Series> points;
  for (const ProblemTrials& problem : problems) {
    const Target& target = target_named(problem.trials.front()->record.target.name);
    if (!problem.best_time() || !target.is_gpu()) continue;
    const double intensity = problem.summary.operations() / problem.summary.bytes();
    least = std::min(least, intensity);
    most = std::max(most, intensity);
    const bool halves = size_of(problem.summary.dtype) == 2;
    const Ceilings ceilings = ceilings_of(problem.summary.dtype, target);
    roofs.try_emplace(fmt::format("{}, {}", ceilings.device, halves ? "f16" : "f32"), ceilings);
    series_named(points, family_of(problem))
        .points.push_back({intensity, problem.summary.operations() / *problem.best_time() / 1e3,
                           fmt::format("{}: {:.2f} us", problem.name, *problem.best_time())});
  }
  if (points.empty()) return chart;
  const bool one_device = std::ranges::all_of(
      roofs, [&](const auto& roof) { return roof.second.device == roofs.begin()->second.device; });
  // First, so that a family has the same colour in every chart.
  std::ranges::sort(points, {}, by_name);
  chart.series = std::move(points);
  thin(chart.series);
  for (const auto& [name, ceilings] : roofs) {
    const double peak = ceilings.operations_a_second / 1e9;
    for (const auto& [from, bytes] :
         {std::pair("memory", ceilings.bytes_a_second), {"L2", ceilings.l2_bytes_a_second}}) {
      const double rate = bytes / 1e9, ridge = peak / rate;
      const std::string of = one_device ? name.substr(name.rfind(' ') + 1) : name;
      Series roof{fmt::format("{}, {}", of, from),
                  Series::Kind::line,
                  {{least, std::min(peak, rate * least), {}}, {ridge, peak, {}}}};
      if (most > ridge) roof.points.push_back({most, peak, {}});
      chart.series.push_back(std::move(roof));
    }
  }
  return chart;
}

Chart best_so_far(const ProblemTrials& problem) {
  Chart chart{
      .title = "Best time so far", .x_label = "trial", .y_label = "microseconds", .logarithmic_y = true};
  Series trials{"trials", Series::Kind::points, {}}, best{"best so far", Series::Kind::steps, {}};
  double number = 0;
  for (const StoredRecord* stored : problem.trials) {
    ++number;
    const std::optional<double> time = stored->record.time_of_correct();
    if (!time) continue;
    trials.points.push_back({number, *time, fmt::format("{}: {:.2f} us", config_of(*stored), *time)});
    const double before = best.points.empty() ? *time : best.points.back().y;
    best.points.push_back({number, std::min(before, *time), {}});
  }
  chart.series = {thinned(std::move(trials)), thinned(std::move(best))};
  if (problem.dense) {
    const std::string& dense = problem.dense->name;
    chart.marks.push_back(
        {problem.dense->microseconds, true, dense.starts_with("dense") ? dense : "dense: " + dense});
  }
  return chart;
}

HeatMap two_knobs(const ProblemTrials& problem) {
  HeatMap map{.title = "Best time by two knobs", .x_label = {}, .y_label = {}, .label = "microseconds"};
  const std::vector<const StoredRecord*> trials = trials_of_best_recipe(problem);
  const std::vector<std::string> knobs = knobs_that_matter(trials);
  if (knobs.size() < 2) return map;
  const std::string& recipe = problem.best->record.recipe;
  map.title += " of " + recipe;
  map.x_label = knobs[0];
  map.y_label = knobs[1];
  const auto columns = best_by_value(trials, knobs[0]), rows = best_by_value(trials, knobs[1]);
  for (const auto& [value, time] : columns) map.columns.push_back(word_of(recipe, knobs[0], value));
  for (const auto& [value, time] : rows) map.rows.push_back(word_of(recipe, knobs[1], value));
  map.values.resize(columns.size() * rows.size());
  for (const StoredRecord* stored : trials) {
    const std::optional<double> time = stored->record.time_of_correct();
    const KnobValues& config = stored->record.config;
    if (!time || !config.contains(knobs[0]) || !config.contains(knobs[1])) continue;
    const auto column = std::distance(columns.begin(), columns.find(config.at(knobs[0])));
    const auto row = std::distance(rows.begin(), rows.find(config.at(knobs[1])));
    std::optional<double>& cell =
        map.values[static_cast<std::size_t>(row) * columns.size() + static_cast<std::size_t>(column)];
    if (!cell || *time < *cell) cell = time;
  }
  return map;
}

Bars failures(const std::vector<ProblemTrials>& problems) {
  std::map<TrialStatus, double> counts;
  for (const ProblemTrials& problem : problems) {
    for (const StoredRecord* stored : problem.trials) counts[stored->record.status] += 1;
  }
  Bars bars{.title = "How trials ended", .label = "trials"};
  for (const auto& [status, count] : counts) bars.bars.push_back({std::string(weft::name_of(status)), count});
  return bars;
}

Chart predicted_against_measured(const std::vector<ProblemTrials>& problems) {
  Chart chart{.title = "Predicted against measured",
              .x_label = "predicted, microseconds",
              .y_label = "measured, microseconds",
              .logarithmic_x = true,
              .logarithmic_y = true,
              .diagonal = true};
  Series points{"trials", Series::Kind::points, {}};
  for (const ProblemTrials& problem : problems) {
    for (const StoredRecord* stored : problem.trials) {
      const std::optional<double> time = stored->record.time_of_correct();
      const std::optional<double> predicted = stored->record.predicted_microseconds;
      // A modelled time is no measured one.
      if (time && predicted && *predicted > 0 && stored->record.measure != "model")
        points.points.push_back({*predicted, *time, problem.name});
    }
  }
  chart.series = {thinned(std::move(points))};
  return chart;
}

}  // namespace weft::report
