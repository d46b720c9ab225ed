// What there is to choose from, measured: of each problem of a suite the points that the model takes for the
// fastest of each way, and some by chance, beside the vendor's dense product. Writes a JSON line a kernel
// that was right, with the parts of its bound, for fits of the models (docs/measurements/choice.md):
//
//   choice_study SUITE.json OUT.jsonl --first 0 --count 8 --best 16 --others 16
//
// The suite is one with a "pattern" for each problem. A kernel that spoils the device ends the run with a
// message, so that a caller goes on with the next problems.
#include <fmt/format.h>
#include <weft/backends/parse_device.h>
#include <weft/formats/random.h>
#include <weft/search/choice/formats_worth_trying.h>
#include <weft/search/measure/bench.h>
#include <weft/search/measure/suite.h>
#include <weft/search/model/bound.h>
#include <weft/search/tool/options.h>
#include <weft/weft.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace weft {
namespace {

struct Options {
  std::string suite, out, device = "cuda";
  std::size_t first = 0, count = 1, best = 16, others = 16;
  double far = 6;  ///< times the least expected time, within which points are drawn
  int rounds = 5;
};

struct Point {
  Space space;
  ProblemSummary summary;
  KnobValues values;
  double expected = 0;
};

class Study {
 public:
  Study(const Options& options, const Device& device)
      : options_(options), device_(device), target_(tool::target_of(device)), libraries_(device) {}

  void operator()(const Suite& suite, std::ofstream& out) {
    SuiteCase chosen = cases_of(suite).front();
    const SuiteProblem& problem = suite.problems.front();
    chosen.seed = std::stoull(problem.id);
    std::vector<Contestant> contestants = contestants_of(suite, device_, target_, libraries_, {});
    std::erase_if(contestants, [](const Contestant& one) { return one.kind != ContestantKind::dense; });
    std::map<std::string, nlohmann::ordered_json> points;
    contestants.push_back(contestant_of_kernels(suite, [&](const Workload& workload) {
      std::vector<NamedKernel> kernels;
      for (const Point& point : points_of(workload, problem.layout)) {
        const std::string name =
            fmt::format("{} in {}", point.space.text(point.values), point.space.format().text());
        points[name] = described(point);
        if (const auto image = described(workload.problem)) points[name]["image"] = *image;
        kernels.push_back(
            {name, [point](const Workload&) { return compile(point.space.schedule(point.values)); }});
      }
      return kernels;
    }));
    const CaseResult result =
        measure(suite, chosen, RealWeights(), device_, contestants, {.rounds = options_.rounds});
    double dense = 0;
    for (const Entry& entry : result.entries) {
      if (entry.kind == ContestantKind::dense && entry.timed() && dense == 0) dense = entry.timing.median;
      if (entry.kind != ContestantKind::weft) continue;
      if (entry.wrong) fmt::print(stderr, "{}: {}\n", problem.id, entry.reason);
      for (const auto& [name, microseconds] : entry.tried) {
        nlohmann::ordered_json line = points.at(name);
        line["id"] = problem.id;
        line["us"] = microseconds;
        line["dense"] = dense;
        out << line.dump() << "\n";
      }
      fmt::print(stderr, "{}: {} of {} kernels, best {:.2f}, dense {:.2f}\n", problem.id, entry.tried.size(),
                 points.size(), entry.timing.median, dense);
    }
    out.flush();
  }

 private:
  /// The best of each space and of all by what is expected, then some by chance.
  std::vector<Point> points_of(const Workload& workload, ImageLayout layout) {
    const Algorithm algorithm = algorithm_in(workload, layout);
    const auto matrix = std::make_shared<const WeightMatrix>(workload.matrix);
    std::vector<Point> all, taken;
    const std::vector<Format> formats = formats_worth_trying(*matrix, target_);
    for (const Space& space : spaces_for({algorithm, matrix, formats.front()}, formats, target_)) {
      const ProblemSummary of_format = summary_of(algorithm, *matrix, space.format());
      const Ceilings ceilings = ceilings_of(of_format.dtype, target_);
      const auto expected = [&](const KnobValues& values) {
        return expected_time(of_format, space.format(), space.recipe(), values, target_, ceilings);
      };
      std::vector<Point> own;
      if (const auto usual = space.usual()) taken.push_back({space, of_format, *usual, expected(*usual)});
      const Points points = space.worth_trying();
      for (std::size_t i = 0; i < points.size(); ++i)
        own.push_back({space, of_format, points[i], expected(points[i])});
      std::ranges::stable_sort(own, {}, &Point::expected);
      for (std::size_t i = 0; i < std::min<std::size_t>(2, own.size()); ++i) taken.push_back(own[i]);
      all.insert(all.end(), own.begin(), own.end());
    }
    std::ranges::stable_sort(all, {}, &Point::expected);
    for (std::size_t i = 0; i < std::min(options_.best, all.size()); ++i) taken.push_back(all[i]);
    const auto near = static_cast<std::int64_t>(std::ranges::count_if(
        all, [&](const Point& one) { return one.expected <= options_.far * all.front().expected; }));
    Random random(std::stoull(workload.problem.id));
    for (std::size_t i = 0; near > 0 && i < options_.others; ++i)
      taken.push_back(all[static_cast<std::size_t>(random.below(near))]);
    return different(taken);
  }

  static std::vector<Point> different(const std::vector<Point>& points) {
    std::vector<Point> kept;
    std::set<std::string> seen;
    for (const Point& one : points) {
      if (seen.insert(one.space.format().text() + one.space.text(one.values)).second) kept.push_back(one);
    }
    return kept;
  }

  /// Its images, where a recipe cuts them by more than the sizes of a product.
  static std::optional<nlohmann::ordered_json> described(const SuiteProblem& problem) {
    if (!problem.convolution || problem.image_groups > 1) return std::nullopt;
    const Convolution& of = *problem.convolution;
    return nlohmann::ordered_json{
        {"batch", of.batch},   {"channels", of.channels}, {"filters", of.filters},
        {"image", of.image},   {"filter", of.filter},     {"pad", of.pad},
        {"stride", of.stride}, {"dilation", of.dilation}, {"layout", name_of(problem.layout)}};
  }

  nlohmann::ordered_json described(const Point& point) const {
    const ProblemSummary& summary = point.summary;
    const Ceilings ceilings = ceilings_of(summary.dtype, target_);
    const Bound bound = bound_of(summary, point.space.recipe(), point.values, target_, ceilings);
    return {{"recipe", point.space.recipe()},
            {"format", point.space.format().text()},
            {"point", point.values},
            {"expected", point.expected},
            {"copying", time_of_copying(summary, point.space.recipe(), point.values, ceilings)},
            {"bound", bound.microseconds},
            {"parts", bound.parts},
            {"m", summary.m},
            {"k", summary.k},
            {"n", seen_by(point.space.recipe(), summary).n},
            {"dtype", name_of(summary.dtype)},
            {"convolution", summary.convolution},
            {"stored", summary.stored},
            {"dense_elements", summary.dense_elements},
            {"row_variation", summary.row_variation},
            {"group_rows", summary.group_rows},
            {"kept_of", summary.kept_of},
            {"of_group", summary.of_group},
            {"kept_columns", summary.kept_columns()},
            {"gathered_columns", summary.gathered_columns()}};
  }

  const Options& options_;
  const Device& device_;
  const Target& target_;
  Libraries libraries_;
};

int run(const Options& options) {
  const std::vector<Suite> suites = read_suites(options.suite);
  const Device device = parse_device(options.device);
  std::ofstream out(options.out, std::ios::app);
  Study study(options, device);
  for (std::size_t i = options.first; i < std::min(options.first + options.count, suites.size()); ++i) {
    study(suites[i], out);
    fmt::print("{}\n", i);
    std::fflush(stdout);
  }
  return out ? 0 : 1;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  weft::Options options;
  CLI::App app("What there is to choose from for the problems of a suite, measured.");
  app.add_option("suite", options.suite)->required();
  app.add_option("out", options.out, "lines are appended here")->required();
  app.add_option("--device", options.device)->capture_default_str();
  app.add_option("--first", options.first, "problem, from 0")->capture_default_str();
  app.add_option("--count", options.count, "problems")->capture_default_str();
  app.add_option("--best", options.best, "points by what is expected")->capture_default_str();
  app.add_option("--others", options.others, "points by chance")->capture_default_str();
  app.add_option("--far", options.far, "times the least expected time, for points by chance")
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "samples of a time")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return weft::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "choice_study: {}\n", error.what());
    return 2;
  }
}
