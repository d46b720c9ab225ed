// Every configuration of shfl_bw on hundreds of products: what the predictor learns from, and is judged by
// (Castro, Andrade, Fraguela, STuning-DL, IEEE Access 2024, section V). A kernel is compiled once for a
// configuration and V, with all sizes given at launch, and runs every problem of that V; each output is
// compared with the reference before it is timed. Writes one record a trial:
//
//   shfl_bw_study --out study.jsonl --seconds 420
//   weft train --db study.jsonl -o tree.json
//
// With 16 cores and an H200 that is about a minute of compiling (450 kernels) and five of measuring (31,500
// trials). Without a GPU, to see that it works: --device sim:sm_90a --problems 2 --configurations 3 --largest
// 256
#include <fmt/format.h>
#include <weft/backends/parse_device.h>
#include <weft/search/measure/trial_problem.h>
#include <weft/search/model/bound.h>
#include <weft/search/model/draw.h>
#include <weft/search/record_file.h>
#include <weft/search/spaces/packed.h>
#include <weft/search/tool/options.h>
#include <weft/weft.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <set>
#include <thread>

namespace weft {
namespace {

struct Options {
  std::string device = "cuda";
  std::string output = "study.jsonl";
  std::string suite;
  std::size_t problems = 210;
  std::size_t configurations = 150;
  std::int64_t largest = 8192;
  double seconds = 420;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  int rounds = 3;
  std::uint64_t seed = 1;
};

class Clock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// A configuration for weights in groups of V rows, compiled.
struct Compiled {
  KnobValues point;
  std::optional<Kernel> kernel;
  std::string failure;
};

Algorithm any_product() {
  return spmm_algorithm(Extent::any("M"), Extent::any("K"), Extent::any("N", 8), DType::f16);
}

/// Sizes in powers of two and between; three widths for each matrix, so that matrices can be left out.
std::vector<SuiteCase> drawn_cases(const Options& options) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t size : {256, 512, 768, 1024, 1536, 2048, 3072, 4096, 5120, 8192}) {
    if (size <= options.largest) sizes.push_back(size);
  }
  std::vector<std::int64_t> widths;
  for (const std::int64_t width : {64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096}) {
    if (width <= options.largest) widths.push_back(width);
  }
  const std::vector<double> densities{0.05, 0.1, 0.2, 0.3, 0.5};
  constexpr std::int64_t most_elements = std::int64_t{1}
                                         << 23;  // of each operand: a check reads all of the output
  Random random(options.seed);
  std::vector<SuiteCase> cases;
  while (cases.size() < options.problems) {
    SuiteCase one;
    one.problem.m = sizes[draw_below(random, sizes.size())];
    one.problem.k = sizes[draw_below(random, sizes.size())];
    one.sparsity = 1 - densities[draw_below(random, densities.size())];
    one.group_rows = std::int64_t{32} << draw_below(random, 3);
    std::vector<std::int64_t> some = widths;
    shuffle(some, random);
    for (std::size_t i = 0; i < std::min<std::size_t>(3, some.size()); ++i) {
      one.problem.n = some[i];
      one.problem.id = std::to_string(cases.size() + 1);
      const std::int64_t most = std::max(
          {one.problem.m * one.problem.k, one.problem.k * one.problem.n, one.problem.m * one.problem.n});
      if (most <= most_elements && cases.size() < options.problems) cases.push_back(one);
    }
  }
  return cases;
}

std::vector<SuiteCase> all_cases(const Options& options) {
  std::vector<SuiteCase> cases = drawn_cases(options);
  if (options.suite.empty()) return cases;
  for (const SuiteCase& one : cases_of(read_suite(options.suite))) {
    if (one.group_rows >= 32 && one.problem.n % 8 == 0) cases.push_back(one);
  }
  // However early the time is over, what was measured is a sample of all.
  Random random(options.seed + 1);
  shuffle(cases, random);
  return cases;
}

/// Of points that differ in the length of lines and in the registers of roles alone, the one with the longest
/// lines and the registers that the recipe takes.
std::vector<KnobValues> representatives(const Points& points) {
  constexpr std::int64_t usual_registers = 208;
  std::map<KnobValues, KnobValues> of_key;
  const auto rank = [](const KnobValues& point) {
    return std::pair(point.at("consumer_registers") == usual_registers, point.at("line"));
  };
  for (std::size_t i = 0; i < points.size(); ++i) {
    const KnobValues point = points[i];
    KnobValues key = point;
    for (const char* knob : {"line", "producer_registers", "consumer_registers"}) key.erase(knob);
    const auto [at, fresh] = of_key.try_emplace(key, point);
    if (!fresh && rank(point) > rank(at->second)) at->second = point;
  }
  std::vector<KnobValues> chosen;
  for (auto& [key, point] : of_key) chosen.push_back(std::move(point));
  return chosen;
}

ProblemSummary summary_of_case(const SuiteCase& one) {
  ProblemSummary summary{.m = one.problem.m, .k = one.problem.k, .n = one.problem.n, .dtype = DType::f16};
  summary.stored = summary.m * std::max<std::int64_t>(
                                   1, std::llround((1 - one.sparsity) * static_cast<double>(summary.k)));
  summary.dense_elements = summary.k * summary.n;
  summary.group_rows = one.group_rows;
  return summary;
}

/// Three quarters of them the best of each problem by the analytic bound, in turns; the rest by chance,
/// because the bound does not see everything.
std::vector<KnobValues> chosen_points(std::vector<KnobValues> points, const std::vector<SuiteCase>& cases,
                                      std::int64_t group, const Target& target, const Options& options) {
  Random random(options.seed + 2);
  shuffle(points, random);
  std::vector<std::vector<std::size_t>> ranked;
  for (const SuiteCase& one : cases) {
    if (one.group_rows != group) continue;
    const ProblemSummary summary = summary_of_case(one);
    std::vector<std::pair<double, std::size_t>> bounds;
    for (std::size_t i = 0; i < points.size(); ++i)
      bounds.emplace_back(bound_of(summary, "shfl_bw", points[i], target).microseconds, i);
    std::ranges::sort(bounds);
    ranked.emplace_back();
    for (const auto& [bound, index] : bounds) ranked.back().push_back(index);
  }
  const std::size_t most = std::min(points.size(), options.configurations);
  std::set<std::size_t> chosen;
  for (std::size_t place = 0; place < points.size() && chosen.size() < most * 3 / 4 && !ranked.empty();
       ++place) {
    for (const std::vector<std::size_t>& of_problem : ranked) {
      if (chosen.size() < most * 3 / 4) chosen.insert(of_problem[place]);
    }
  }
  for (std::size_t i = 0; chosen.size() < most; ++i) chosen.insert(i);
  std::vector<KnobValues> some;
  for (const std::size_t index : chosen) some.push_back(points[index]);
  std::ranges::sort(some);
  return some;
}

std::vector<Compiled> points_of(std::int64_t group, const std::vector<SuiteCase>& cases, const Target& target,
                                const Options& options, Space& space) {
  const ShflBwWeights example =
      shfl_bw_weights({.rows = 2 * group, .columns = 64, .sparsity = 0.5, .group_rows = group});
  const SpaceProblem problem{any_product(), std::make_shared<const WeightMatrix>(example.matrix),
                             formats::shfl_bw({.rows = group})};
  space = space_of("shfl_bw", problem, target);
  const Points points = space.worth_trying();
  const std::vector<KnobValues> different = representatives(points);
  fmt::print(stderr, "V = {}: {} points, {} feasible, {} worth trying, {} of different tiles\n", group,
             space.size(), space.feasible().size(), points.size(), different.size());
  std::vector<Compiled> compiled;
  for (const KnobValues& point : chosen_points(different, cases, group, target, options))
    compiled.push_back({point, {}, {}});
  return compiled;
}

void compile_all(std::vector<Compiled>& all, const Space& space, const Options& options) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < all.size(); i = next++) {
      try {
        all[i].kernel = compile(space.schedule(all[i].point));
      } catch (const std::exception& error) {
        all[i].failure = error.what();
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < options.jobs; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

/// A problem with everything that its trials share, made while another one is measured.
struct Prepared {
  SuiteCase chosen;
  Workload workload;
  Array b, c;
  std::unique_ptr<PackedWeights> packed;
  std::unique_ptr<Checker> checker;
  Record record;
};

std::unique_ptr<Prepared> prepare(const SuiteCase& chosen, const Target& target,
                                  const DeviceDescription& device, const std::string& measure) {
  constexpr double budget = 3e5;  // products of the reference: a sample of rows, of many thousand trials
  auto made = std::make_unique<Prepared>();
  made->chosen = chosen;
  made->workload = make_workload(chosen, DType::f16, {});
  made->b = *made->workload.b;
  made->c = made->workload.empty_output();
  made->packed = std::make_unique<PackedWeights>(std::make_shared<const WeightMatrix>(made->workload.matrix));
  made->checker = std::make_unique<Checker>(made->workload, budget);
  TrialProblem problem;
  problem.what = {made->workload.algorithm, std::make_shared<const WeightMatrix>(made->workload.matrix),
                  formats::shfl_bw({.rows = chosen.group_rows})};
  problem.columns = chosen.problem.n;
  made->record = record_for(problem, target, measure, &device);
  made->record.recipe = "shfl_bw";
  made->record.strategy = "exhaustive";
  made->record.problem.words.erase("algorithm");
  return made;
}

Record trial(Prepared& problem, const Compiled& one, const Device& device, const Options& options) {
  Record record = problem.record;
  record.config = one.point;
  if (!one.kernel) {
    record.status = TrialStatus::compile;
    record.message = one.failure.substr(0, 200);
    return record;
  }
  Format format = formats::shfl_bw({.rows = std::min(one.point.at("tile_m"), problem.chosen.group_rows)});
  format.parameters["k"] = one.point.at("tile_k");
  if (const auto& resources = one.kernel->resources()) {
    record.registers = resources->registers;
    record.shared_bytes = resources->shared_bytes;
    record.spill_bytes = resources->spill_bytes;
  }
  const Arguments arguments{{{"B", &problem.b}, {"C", &problem.c}}, {}, problem.packed->in(format)};
  const BoundKernel bound = one.kernel->bind(device, arguments);
  bound.poison_output();
  bound.launch(nullptr);
  bound.download("C", problem.c);
  const Check check = problem.checker->check(problem.c, DenseType::f16);
  record.verified = TrialCheck{check.relative, 0, check.rows, check.against_trusted};
  if (!check.passed) {
    record.status = TrialStatus::correctness;
    record.message = check.reason;
    return record;
  }
  TimingOptions timing;
  timing.rounds = options.rounds;
  timing.warm_up = 1;
  timing.minimum_seconds = 0.0003;
  const Timing time_of = time(device, [&](StreamHandle stream) { bound.launch(stream); }, timing);
  record.microseconds = TrialTime{time_of.median, time_of.minimum, time_of.percentile_95, time_of.count};
  return record;
}

int run(const Options& options) {
  const Clock clock;
  const Device device = parse_device(options.device);
  const Target& target = tool::target_of(device);
  const bool simulated = device.kind() != DeviceKind::cuda;
  const std::string measure = simulated ? "sim" : "gpu";
  RecordFile file(options.output, RecordFile::Mode::append);
  const std::vector<SuiteCase> cases = all_cases(options);

  std::map<std::int64_t, std::vector<Compiled>> kernels;
  for (const std::int64_t group : {32, 64, 128}) {
    Space space({});
    kernels[group] = points_of(group, cases, target, options, space);
    compile_all(kernels[group], space, options);
    const auto failed =
        std::ranges::count_if(kernels[group], [](const Compiled& one) { return !one.kernel; });
    fmt::print(stderr, "V = {}: {} kernels compiled, {} failed, after {:.0f} s\n", group,
               std::ssize(kernels[group]) - failed, failed, clock.seconds());
  }

  std::size_t trials = 0, wrong = 0, done = 0;
  const auto begin = [&](std::size_t index) {
    return std::async(std::launch::async, prepare, std::cref(cases[index]), std::cref(target),
                      std::cref(device.description()), measure);
  };
  std::future<std::unique_ptr<Prepared>> next = begin(0);
  for (std::size_t i = 0; i < cases.size() && clock.seconds() < options.seconds; ++i) {
    const std::unique_ptr<Prepared> problem = next.get();
    if (i + 1 < cases.size()) next = begin(i + 1);
    for (const Compiled& one : kernels.at(problem->chosen.group_rows)) {
      Record record = trial(*problem, one, device, options);
      wrong += record.status == TrialStatus::correctness ? 1 : 0;
      ++trials;
      file.append(std::move(record));
    }
    ++done;
    fmt::print(stderr, "[{}/{}] {}x{}x{} {:.0f} % V={}: {} trials, {} wrong, {:.0f} s\n", i + 1, cases.size(),
               problem->chosen.problem.m, problem->chosen.problem.k, problem->chosen.problem.n,
               100 * (1 - problem->chosen.sparsity), problem->chosen.group_rows, trials, wrong,
               clock.seconds());
  }
  fmt::print("{} problems, {} trials, {} wrong, {:.0f} s\n", done, trials, wrong, clock.seconds());
  return wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  weft::Options options;
  CLI::App app("Every configuration of shfl_bw on hundreds of products.");
  app.add_option("--device", options.device, "cuda, cuda:1 or sim:sm_90a")->capture_default_str();
  app.add_option("--out", options.output, "records are appended here")->capture_default_str();
  app.add_option("--suite", options.suite, "a suite with V, whose problems come beside those drawn");
  app.add_option("--problems", options.problems, "to draw")->capture_default_str();
  app.add_option("--configurations", options.configurations,
                 "of each V: the best by the analytic bound, and a quarter by chance")
      ->capture_default_str();
  app.add_option("--largest", options.largest, "M, K and N")
      ->check(CLI::Range(256, 1 << 20))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "no further problem is begun after")->capture_default_str();
  app.add_option("--jobs", options.jobs, "kernels compiled at the same time")->capture_default_str();
  app.add_option("--rounds", options.rounds, "samples of a time")->capture_default_str();
  app.add_option("--seed", options.seed, "of what is drawn")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return weft::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "shfl_bw_study: {}\n", error.what());
    return 2;
  }
}
