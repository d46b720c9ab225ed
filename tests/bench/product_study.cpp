// Every configuration of shfl_bw or v_n_m that is worth trying on hundreds of products: what the predictor
// learns from, and is judged by (Castro, Andrade, Fraguela, STuning-DL, IEEE Access 2024, section V). A
// kernel is compiled once for a configuration and a pattern, with all sizes given at launch, and runs every
// problem of it; all of each output is compared before it is timed (product_trials.h). Writes one record a
// trial:
//
//   product_study --suite shfl_bw_linear.json --out study.jsonl --seconds 280
//   weft train --db study.jsonl -o tree.json
//
// All problems of a pattern, a V or V:2:M, are measured with the same configurations: the space that is worth
// trying, of those that differ in little only one; what the recipe chooses for any of the problems; and some
// feasible ones by chance (--others), to see what the space leaves out. A configuration that fails costs a
// record, and is not tried again. Without a GPU, to see that it works:
// --device sim:sm_90a --problems 2 --configurations 3 --others 1 --largest 256
#include <fmt/format.h>
#include <weft/backends/parse_device.h>
#include <weft/search/measure/trial_problem.h>
#include <weft/search/measure/worker.h>
#include <weft/search/model/draw.h>
#include <weft/search/model/known_error.h>
#include <weft/search/records/record_file.h>
#include <weft/search/tool/options.h>
#include <weft/weft.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "product_study_cases.h"
#include "product_trials.h"

namespace weft {
namespace {

struct Options {
  std::string device = "cuda";
  std::string output = "study.jsonl";
  StudyCases cases;
  std::size_t configurations = std::numeric_limits<std::size_t>::max();
  std::size_t others = 20;
  double seconds = 420;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  int rounds = 5;
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

Algorithm any_product() {
  return spmm_algorithm(Extent::any("M"), Extent::any("K"), Extent::any("N", 8), DType::f16);
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

/// Of weights with the pattern of the case.
Space space_of_any_product(SuiteCase example, const Target& target) {
  example.problem.m = 256;
  example.problem.k = 512;
  example.problem.n = 64;
  const Workload small = make_workload(example, DType::f16, {});
  const SpaceProblem problem{any_product(), std::make_shared<const WeightMatrix>(small.matrix),
                             format_of_weights(example)};
  return space_of(std::string(recipe_of(example)), problem, target);
}

/// What is known of the problems of a pattern before anything is measured.
struct KnownProblems {
  std::set<KnobValues> usual;  ///< what the recipe chooses for any of them
  std::vector<ProblemSummary> problems;
};

/// In turns of the problems, the point of the next least expected time of each.
void add_likely(std::set<KnobValues>& chosen, const std::vector<KnobValues>& from, std::size_t count,
                const KnownProblems& known, const Space& space, const Target& target) {
  std::vector<std::vector<std::size_t>> orders;
  for (const ProblemSummary& problem : known.problems) {
    const Ceilings ceilings = ceilings_of(problem.dtype, target);
    std::vector<double> expected;
    for (const KnobValues& point : from)
      expected.push_back(expected_time(problem, space.format(), space.recipe(), point, target, ceilings));
    std::vector<std::size_t>& order = orders.emplace_back(numbers_below(from.size()));
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return expected[i]; });
  }
  for (std::size_t place = 0; place < from.size(); ++place) {
    for (const std::vector<std::size_t>& order : orders) {
      if (count == 0) return;
      count -= chosen.insert(from[order[place]]).second ? 1 : 0;
    }
  }
}

std::vector<StudiedKernel> points_of(const std::string& pattern, const KnownProblems& known,
                                     const Options& options, const Space& space, const Target& target) {
  const Points worth_trying = space.worth_trying(), feasible = space.feasible();
  const std::vector<KnobValues> different = representatives(worth_trying);
  Random random(options.cases.seed + 2);
  std::set<KnobValues> chosen;
  add_likely(chosen, different, options.configurations, known, space, target);
  for (const KnobValues& point : known.usual) {
    if (space.violated(point) == nullptr) chosen.insert(point);
  }
  add_by_chance(chosen, representatives(feasible), options.others, random);
  fmt::print(
      stderr,
      "{}: {} points, {} feasible, {} worth trying, {} of different tiles, {} of the recipe; {} chosen\n",
      pattern, space.size(), feasible.size(), worth_trying.size(), different.size(), known.usual.size(),
      chosen.size());
  std::vector<StudiedKernel> compiled;
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
          format_of_weights(chosen)};
}

/// A case, and what the recipe chooses for it; nothing where the space does not have it.
struct Known {
  ProblemSummary problem;
  std::optional<KnobValues> usual;
};
std::vector<Known> known_of(const std::vector<SuiteCase>& cases, const Target& target,
                            const Options& options) {
  std::vector<Known> known(cases.size());
  in_parallel(cases.size(), options, [&](std::size_t i) {
    const Workload workload = make_workload(cases[i], DType::f16, {});
    known[i].problem = summary_of(workload.algorithm, workload.matrix, format_of_weights(cases[i]));
    known[i].usual =
        space_of(std::string(recipe_of(cases[i])), problem_of(workload, cases[i]), target).usual();
  });
  return known;
}

void compile_all(std::vector<StudiedKernel>& all, const Space& space, const Options& options) {
  in_parallel(all.size(), options, [&](std::size_t i) {
    try {
      all[i].kernel = compile(space.schedule(all[i].point));
    } catch (const std::exception& error) {
      all[i].failure = error.what();
    }
  });
}

/// What trials are made of. A worker is a copy of this process, and has it as it was then; what may crash or
/// hang happens there.
class Study {
 public:
  explicit Study(const Options& options) : options_(options), cases_(study_cases(options.cases)) {
    Worker worker([this](const std::string&) { return tool::target_of(parse_device(options_.device)).name; });
    const WorkerReply reply = worker.ask("target", limit_seconds);
    if (reply.end != WorkerReply::End::answered)
      throw RuntimeError(options.device + ": " + reply.text + " " + reply.said);
    target_ = &target_named(reply.text);
    known_ = known_of(cases_, *target_, options);
    std::map<std::string, KnownProblems> of_pattern;
    std::map<std::string, Space> spaces;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const std::string pattern = format_of_weights(cases_[i]).text();
      KnownProblems& known = of_pattern[pattern];
      known.problems.push_back(known_[i].problem);
      if (known_[i].usual) known.usual.insert(*known_[i].usual);
      if (!spaces.contains(pattern)) spaces.emplace(pattern, space_of_any_product(cases_[i], *target_));
    }
    std::map<std::string, std::future<std::vector<StudiedKernel>>> points;
    for (const auto& [pattern, space] : spaces) {
      points[pattern] = std::async(std::launch::async, [&] {
        return points_of(pattern, of_pattern.at(pattern), options, space, *target_);
      });
    }
    for (auto& [pattern, some] : points) kernels_[pattern] = some.get();
    for (const auto& [pattern, space] : spaces) {
      if (!options.list) compile_pattern(pattern, space);
    }
  }

  void list() const {
    for (const auto& [pattern, kernels] : kernels_) {
      for (const StudiedKernel& one : kernels)
        fmt::print("{} {}\n", pattern, nlohmann::json(one.point).dump());
    }
  }

  int operator()() {
    RecordFile file(options_.output, RecordFile::Mode::append);
    std::size_t done = 0;
    for (; done < cases_.size() && clock_.seconds() < options_.seconds; ++done) {
      measure(done, file);
      const SuiteCase& one = cases_[done];
      fmt::print(stderr, "[{}/{}] {}x{}x{} {:.0f} % {}: {} trials, {} failed, {:.1f} s\n", done + 1,
                 cases_.size(), one.problem.m, one.problem.k, one.problem.n, 100 * (1 - one.sparsity),
                 format_of_weights(one).text(), trials_, failed_, clock_.seconds());
    }
    fmt::print("{} problems, {} trials, {} failed, {} of them wrong, {:.0f} s\n", done, trials_, failed_,
               wrong_, clock_.seconds());
    return failed_ > 0 ? 1 : 0;
  }

 private:
  static constexpr double limit_seconds = 20;
  static constexpr std::size_t products_ahead = 6;

  void compile_pattern(const std::string& pattern, const Space& space) {
    std::vector<StudiedKernel>& kernels = kernels_[pattern];
    compile_all(kernels, space, options_);
    for (const StudiedKernel& one : kernels) {
      if (!one.kernel) fmt::print(stderr, "{}: {}: {}\n", pattern, space.text(one.point), one.failure);
    }
    const auto failed = std::ranges::count_if(kernels, [](const StudiedKernel& one) { return !one.kernel; });
    fmt::print(stderr, "{}: {} kernels compiled, {} failed, after {:.0f} s\n", pattern,
               std::ssize(kernels) - failed, failed, clock_.seconds());
  }

  /// All kernels of a problem. Records are written while the next trial runs.
  void measure(std::size_t problem, RecordFile& file) {
    std::vector<StudiedKernel>& kernels = kernels_of(problem);
    std::optional<Record> last;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (!kernels[i].kernel) continue;
      if (!worker_) worker_.emplace([this](const std::string& request) { return answer(request); });
      worker_->send(fmt::format("{} {}", problem, i), limit_seconds);
      if (last) file.append(*std::move(last));
      last = finished(problem, i);
      ++trials_;
      if (last->status == TrialStatus::correct) continue;
      fmt::print(stderr, "{} {}: {} {}\n", format_of_weights(cases_[problem]).text(), text_of_config(*last),
                 name_of(last->status), last->message);
      ++failed_;
      wrong_ += last->status == TrialStatus::correctness ? 1 : 0;
      // It is not tried on another problem; and its device may be spoilt.
      kernels[i].kernel.reset();
      worker_.reset();
    }
    if (last) file.append(*std::move(last));
  }

  Record finished(std::size_t problem, std::size_t kernel) {
    const WorkerReply reply = worker_->wait();
    if (reply.end == WorkerReply::End::answered) return record_of(reply.text);
    const bool late = reply.end == WorkerReply::End::timed_out;
    Record record = make_product(cases_[problem], {}, *target_, nullptr, measure_name())->record;
    record.config = kernels_of(problem)[kernel].point;
    record.status = late ? TrialStatus::timeout : TrialStatus::runtime;
    record.message = late ? fmt::format("no end within {} s", limit_seconds) : reply.text + " " + reply.said;
    return record;
  }

  const std::vector<StudiedKernel>& kernels_of(std::size_t problem) const {
    return kernels_.at(format_of_weights(cases_[problem]).text());
  }
  std::vector<StudiedKernel>& kernels_of(std::size_t problem) {
    return kernels_.at(format_of_weights(cases_[problem]).text());
  }

  std::string measure_name() const { return options_.device.starts_with("sim") ? "sim" : "gpu"; }

  /// In the worker.
  std::string answer(const std::string& request) {
    std::size_t problem = 0, kernel = 0;
    std::istringstream(request) >> problem >> kernel;
    if (!trials_on_device_) {
      device_.emplace(parse_device(options_.device));
      trials_on_device_.emplace(*device_, options_.rounds);
    }
    if (at_ != problem) {
      for (std::size_t i = problem; i < std::min(cases_.size(), problem + products_ahead); ++i) {
        if (!products_.contains(i))
          products_[i] = std::async(std::launch::async, [this, i] { return product(i); });
      }
      trials_on_device_->begin(products_.at(problem).get());
      products_.erase(problem);
      at_ = problem;
    }
    const StudiedKernel& studied = kernels_of(problem)[kernel];
    Record record = trials_on_device_->trial(studied);
    record.strategy =
        known_[problem].usual && *known_[problem].usual == studied.point ? "recipe" : "exhaustive";
    return json_of(record);
  }

  std::unique_ptr<MeasuredProduct> product(std::size_t problem) const {
    const SuiteCase& chosen = cases_[problem];
    std::map<std::string, Format> formats;
    for (const StudiedKernel& one : kernels_of(problem)) {
      const Format format = format_of_point(one.point, chosen);
      formats.emplace(format.text(), format);
    }
    std::vector<Format> all;
    for (const auto& [text, format] : formats) all.push_back(format);
    return make_product(chosen, all, *target_, &device_->description(), measure_name());
  }

  Options options_;
  Clock clock_;
  std::vector<SuiteCase> cases_;
  const Target* target_ = nullptr;
  std::vector<Known> known_;
  std::map<std::string, std::vector<StudiedKernel>> kernels_;  ///< by pattern
  std::optional<Worker> worker_;
  std::size_t trials_ = 0, wrong_ = 0, failed_ = 0;
  // In the worker.
  std::optional<Device> device_;
  std::optional<ProductTrials> trials_on_device_;
  std::map<std::size_t, std::future<std::unique_ptr<MeasuredProduct>>> products_;
  std::optional<std::size_t> at_;
};

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  weft::Options options;
  CLI::App app("Every configuration of shfl_bw or v_n_m on hundreds of products.");
  app.add_option("--recipe", options.cases.recipe)
      ->check(CLI::IsMember({"shfl_bw", "v_n_m"}))
      ->capture_default_str();
  app.add_option("--device", options.device, "cuda, cuda:1 or sim:sm_90a")->capture_default_str();
  app.add_option("--out", options.output, "records are appended here")->capture_default_str();
  app.add_option("--problems", options.cases.drawn, "to draw")->capture_default_str();
  app.add_option("--suite", options.cases.suite,
                 "a suite with V or patterns, whose layers come beside those drawn");
  app.add_option("--layers", options.cases.of_suite, "of the suite, by chance")->capture_default_str();
  app.add_option("--configurations", options.configurations,
                 "of each pattern: so many of those worth trying that are expected to be the fastest; all of "
                 "them if left out");
  app.add_option("--others", options.others, "of each pattern: feasible configurations by chance beside them")
      ->capture_default_str();
  app.add_option("--largest", options.cases.largest, "M, K and N")
      ->check(CLI::Range(256, 1 << 20))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "no further problem is begun after")->capture_default_str();
  app.add_option("--jobs", options.jobs, "kernels compiled at the same time")->capture_default_str();
  app.add_option("--rounds", options.rounds, "samples of a time")->capture_default_str();
  app.add_option("--seed", options.cases.seed, "of what is drawn")->capture_default_str();
  app.add_flag("--list", options.list, "print the configurations of each pattern, and measure nothing");
  CLI11_PARSE(app, argc, argv);
  try {
    weft::Study study(options);
    if (options.list) {
      study.list();
      return 0;
    }
    return study();
  } catch (const std::exception& error) {
    fmt::print(stderr, "product_study: {}\n", error.what());
    return 2;
  }
}
