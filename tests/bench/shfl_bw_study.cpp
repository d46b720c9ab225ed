// Every configuration of shfl_bw that is worth trying on hundreds of products: what the predictor learns
// from, and is judged by (Castro, Andrade, Fraguela, STuning-DL, IEEE Access 2024, section V). A kernel is
// compiled once for a configuration and V, with all sizes given at launch, and runs every problem of that V;
// each output is compared with the reference before it is timed. Writes one record a trial:
//
//   shfl_bw_study --out study.jsonl --seconds 280
//   weft train --db study.jsonl -o tree.json
//
// All problems of a V are measured with the same configurations: the space that is worth trying, of those
// that differ in little only one; what the recipe chooses for any of the problems; and some feasible ones by
// chance (--others), to see what the space leaves out. Without a GPU, to see that it works:
// --device sim:sm_90a --problems 2 --configurations 3 --others 1 --largest 256
#include <fmt/format.h>
#include <weft/backends/parse_device.h>
#include <weft/search/measure/trial_problem.h>
#include <weft/search/measure/worker.h>
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
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

namespace weft {
namespace {

struct Options {
  std::string device = "cuda";
  std::string output = "study.jsonl";
  std::string suite;
  std::size_t problems = 210;
  std::size_t configurations = std::numeric_limits<std::size_t>::max();
  std::size_t others = 20;
  std::int64_t largest = 8192;
  double seconds = 420;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  int rounds = 3;
  std::uint64_t seed = 1;
  bool list = false;
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

/// Of points that differ in the length of lines alone, or in the registers of roles where few blocks share a
/// multiprocessor, the one with the longest lines and the most registers.
std::vector<KnobValues> representatives(const Points& points) {
  constexpr std::int64_t wgmma = 3, small_tile = 4096;
  std::map<KnobValues, KnobValues> of_key;
  const auto rank = [](const KnobValues& point) {
    return std::pair(point.at("consumer_registers"), point.at("line"));
  };
  for (std::size_t i = 0; i < points.size(); ++i) {
    const KnobValues point = points[i];
    KnobValues key = point;
    key.erase("line");
    if (point.at("instruction") != wgmma || point.at("tile_m") * point.at("tile_n") > small_tile) {
      key.erase("producer_registers");
      key.erase("consumer_registers");
    }
    const auto [at, fresh] = of_key.try_emplace(key, point);
    if (!fresh && rank(point) > rank(at->second)) at->second = point;
  }
  std::vector<KnobValues> chosen;
  for (auto& [key, point] : of_key) chosen.push_back(std::move(point));
  return chosen;
}

void add_by_chance(std::set<KnobValues>& chosen, std::vector<KnobValues> from, std::size_t count,
                   Random& random) {
  shuffle(from, random);
  for (const KnobValues& point : from) {
    if (count == 0) return;
    count -= chosen.insert(point).second ? 1 : 0;
  }
}

std::vector<Compiled> points_of(std::int64_t group, const std::set<KnobValues>& usual, const Target& target,
                                const Options& options, Space& space) {
  const ShflBwWeights example =
      shfl_bw_weights({.rows = 2 * group, .columns = 64, .sparsity = 0.5, .group_rows = group});
  const SpaceProblem problem{any_product(), std::make_shared<const WeightMatrix>(example.matrix),
                             formats::shfl_bw({.rows = group})};
  space = space_of("shfl_bw", problem, target);
  const Points worth_trying = space.worth_trying(), feasible = space.feasible();
  const std::vector<KnobValues> different = representatives(worth_trying);
  Random random(options.seed + 2);
  std::set<KnobValues> chosen;
  add_by_chance(chosen, different, options.configurations, random);
  for (const KnobValues& point : usual) {
    if (space.violated(point) == nullptr) chosen.insert(point);
  }
  add_by_chance(chosen, representatives(feasible), options.others, random);
  fmt::print(
      stderr,
      "V = {}: {} points, {} feasible, {} worth trying, {} of different tiles, {} of the recipe; {} chosen\n",
      group, space.size(), feasible.size(), worth_trying.size(), different.size(), usual.size(),
      chosen.size());
  std::vector<Compiled> compiled;
  for (const KnobValues& point : chosen) compiled.push_back({point, {}, {}});
  return compiled;
}

/// `work` with every number below `count`, on as many threads as the options say.
template <class Work>
void in_parallel(std::size_t count, const Options& options, Work&& work) {
  std::atomic<std::size_t> next{0};
  const auto some = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < options.jobs; ++i) threads.emplace_back(some);
  for (std::thread& thread : threads) thread.join();
}

SpaceProblem problem_of(const Workload& workload, const SuiteCase& chosen) {
  return {workload.algorithm, std::make_shared<const WeightMatrix>(workload.matrix),
          formats::shfl_bw({.rows = chosen.group_rows})};
}

/// What the recipe chooses for each case; nothing where the space does not have it.
std::vector<std::optional<KnobValues>> usual_points(const std::vector<SuiteCase>& cases, const Target& target,
                                                    const Options& options) {
  std::vector<std::optional<KnobValues>> points(cases.size());
  in_parallel(cases.size(), options, [&](std::size_t i) {
    const Workload workload = make_workload(cases[i], DType::f16, {});
    points[i] = space_of("shfl_bw", problem_of(workload, cases[i]), target).usual();
  });
  return points;
}

void compile_all(std::vector<Compiled>& all, const Space& space, const Options& options) {
  in_parallel(all.size(), options, [&](std::size_t i) {
    try {
      all[i].kernel = compile(space.schedule(all[i].point));
    } catch (const std::exception& error) {
      all[i].failure = error.what();
    }
  });
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
                                  const DeviceDescription* device, const std::string& measure) {
  constexpr double budget = 3e5;  // products of the reference: a sample of rows, of many thousand trials
  auto made = std::make_unique<Prepared>();
  made->chosen = chosen;
  made->workload = make_workload(chosen, DType::f16, {});
  made->b = *made->workload.b;
  made->c = made->workload.empty_output();
  made->packed = std::make_unique<PackedWeights>(std::make_shared<const WeightMatrix>(made->workload.matrix));
  made->checker = std::make_unique<Checker>(made->workload, budget);
  TrialProblem problem;
  problem.what = problem_of(made->workload, chosen);
  problem.columns = chosen.problem.n;
  made->record = record_for(problem, target, measure, device);
  made->record.recipe = "shfl_bw";
  made->record.strategy = "exhaustive";
  made->record.problem.words.erase("algorithm");
  return made;
}

Record trial(Prepared& problem, const Compiled& one, bool usual, const Device& device,
             const Options& options) {
  Record record = problem.record;
  record.config = one.point;
  if (usual) record.strategy = "recipe";
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

/// What trials are made of. A worker is a copy of this process, and has it as it was then; what may crash or
/// hang happens there.
class Study {
 public:
  explicit Study(const Options& options) : options_(options), cases_(all_cases(options)) {
    Worker worker([this](const std::string&) { return target_of_device(); });
    const WorkerReply reply = worker.ask("target", limit_seconds);
    if (reply.end != WorkerReply::End::answered)
      throw RuntimeError(options.device + ": " + reply.text + " " + reply.said);
    target_ = &target_named(reply.text);
    usual_ = usual_points(cases_, *target_, options);
    std::map<std::int64_t, std::set<KnobValues>> usual_of_group;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (usual_[i]) usual_of_group[cases_[i].group_rows].insert(*usual_[i]);
    }
    for (const std::int64_t group : {32, 64, 128}) {
      Space space({});
      std::vector<Compiled>& kernels = kernels_[group];
      kernels = points_of(group, usual_of_group[group], *target_, options, space);
      if (options.list) continue;
      compile_all(kernels, space, options);
      for (const Compiled& one : kernels) {
        if (!one.kernel) fmt::print(stderr, "V = {}: {}: {}\n", group, space.text(one.point), one.failure);
      }
      const auto failed = std::ranges::count_if(kernels, [](const Compiled& one) { return !one.kernel; });
      fmt::print(stderr, "V = {}: {} kernels compiled, {} failed, after {:.0f} s\n", group,
                 std::ssize(kernels) - failed, failed, clock_.seconds());
    }
  }

  void list() const {
    for (const auto& [group, kernels] : kernels_) {
      for (const Compiled& one : kernels) fmt::print("V={} {}\n", group, nlohmann::json(one.point).dump());
    }
  }

  int operator()() {
    RecordFile file(options_.output, RecordFile::Mode::append);
    std::size_t trials = 0, wrong = 0, failed = 0, done = 0;
    for (std::size_t i = 0; i < cases_.size() && clock_.seconds() < options_.seconds; ++i) {
      std::vector<Compiled>& kernels = kernels_.at(cases_[i].group_rows);
      for (std::size_t j = 0; j < kernels.size(); ++j) {
        if (!kernels[j].kernel) continue;
        Record record = asked(i, j);
        wrong += record.status == TrialStatus::correctness ? 1 : 0;
        ++trials;
        if (record.status != TrialStatus::correct) {
          fmt::print(stderr, "V={} {}: {} {}\n", cases_[i].group_rows, text_of_config(record),
                     name_of(record.status), record.message);
          // It is not tried on another problem; and its device may be spoilt.
          ++failed;
          kernels[j].kernel.reset();
          worker_.reset();
        }
        file.append(std::move(record));
      }
      ++done;
      const SuiteCase& one = cases_[i];
      fmt::print(stderr, "[{}/{}] {}x{}x{} {:.0f} % V={}: {} trials, {} failed, {:.0f} s\n", i + 1,
                 cases_.size(), one.problem.m, one.problem.k, one.problem.n, 100 * (1 - one.sparsity),
                 one.group_rows, trials, failed, clock_.seconds());
    }
    fmt::print("{} problems, {} trials, {} failed, {} of them wrong, {:.0f} s\n", done, trials, failed, wrong,
               clock_.seconds());
    return failed > 0 ? 1 : 0;
  }

 private:
  static constexpr double limit_seconds = 20;

  std::string target_of_device() const { return tool::target_of(parse_device(options_.device)).name; }

  Record asked(std::size_t problem, std::size_t kernel) {
    if (!worker_) worker_.emplace([this](const std::string& request) { return answer(request); });
    const WorkerReply reply = worker_->ask(fmt::format("{} {}", problem, kernel), limit_seconds);
    if (reply.end == WorkerReply::End::answered) return record_of(reply.text);
    const bool late = reply.end == WorkerReply::End::timed_out;
    Record record = prepare(cases_[problem], *target_, nullptr, measure())->record;
    record.config = kernels_.at(cases_[problem].group_rows)[kernel].point;
    record.status = late ? TrialStatus::timeout : TrialStatus::runtime;
    record.message = late ? fmt::format("no end within {} s", limit_seconds) : reply.text + " " + reply.said;
    return record;
  }

  std::string measure() const { return options_.device.starts_with("sim") ? "sim" : "gpu"; }

  /// In the worker.
  std::string answer(const std::string& request) {
    std::size_t problem = 0, kernel = 0;
    std::istringstream(request) >> problem >> kernel;
    if (!device_) device_.emplace(parse_device(options_.device));
    if (!prepared_ || at_ != problem) {
      const auto begin = [this](std::size_t i) {
        return std::async(std::launch::async, [this, i] {
          return prepare(cases_[i], *target_, &device_->description(), measure());
        });
      };
      prepared_ = next_.valid() && at_ + 1 == problem ? next_.get() : begin(problem).get();
      at_ = problem;
      if (problem + 1 < cases_.size()) next_ = begin(problem + 1);
    }
    const Compiled& one = kernels_.at(cases_[problem].group_rows)[kernel];
    return json_of(
        trial(*prepared_, one, usual_[problem] && *usual_[problem] == one.point, *device_, options_));
  }

  Options options_;
  Clock clock_;
  std::vector<SuiteCase> cases_;
  const Target* target_ = nullptr;
  std::vector<std::optional<KnobValues>> usual_;
  std::map<std::int64_t, std::vector<Compiled>> kernels_;
  std::optional<Worker> worker_;
  std::optional<Device> device_;
  std::unique_ptr<Prepared> prepared_;
  std::future<std::unique_ptr<Prepared>> next_;
  std::size_t at_ = 0;
};

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
                 "of each V: so many by chance of those worth trying; all of them if left out");
  app.add_option("--others", options.others, "of each V: feasible configurations by chance beside them")
      ->capture_default_str();
  app.add_option("--largest", options.largest, "M, K and N")
      ->check(CLI::Range(256, 1 << 20))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "no further problem is begun after")->capture_default_str();
  app.add_option("--jobs", options.jobs, "kernels compiled at the same time")->capture_default_str();
  app.add_option("--rounds", options.rounds, "samples of a time")->capture_default_str();
  app.add_option("--seed", options.seed, "of what is drawn")->capture_default_str();
  app.add_flag("--list", options.list, "print the configurations of each V, and measure nothing");
  CLI11_PARSE(app, argc, argv);
  try {
    weft::Study study(options);
    if (options.list) {
      study.list();
      return 0;
    }
    return study();
  } catch (const std::exception& error) {
    fmt::print(stderr, "shfl_bw_study: {}\n", error.what());
    return 2;
  }
}
