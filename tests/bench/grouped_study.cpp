// Every configuration of shfl_bw, or of v_n_m, that is worth trying on hundreds of products: what the
// predictor learns from, and is judged by (Castro, Andrade, Fraguela, STuning-DL, IEEE Access 2024, section
// V). A kernel is compiled once for a configuration and a kind of weights, with all sizes given at launch,
// and runs every problem of that kind; all of each output is compared before it is timed (product_trials.h).
// Writes one record a trial:
//
//   grouped_study --suite shfl_bw_linear.json --out study.jsonl --seconds 280
//   grouped_study --kinds 64:2:8,128:2:16 --suite v_n_m_linear.json --out study.jsonl --seconds 280
//   weft train --db study.jsonl -o tree.json
//
// Weights with a pattern are packed by their K, so that kernels are compiled for each of a few (--depths);
// none of 2:4 for any weights can be. All problems of a kind are measured with the same configurations: the
// space that is worth trying, of those that differ in little only one; what the recipe chooses for any of the
// problems; and some feasible ones by chance (--others), to see what the space leaves out. A configuration
// that fails costs a record, and is not tried again. Without a GPU, to see that it works:
// --device sim:sm_90a --problems 2 --configurations 3 --others 1 --largest 256
#include <fmt/format.h>
#include <weft/backends/parse_device.h>
#include <weft/search/measure/trial_problem.h>
#include <weft/search/measure/worker.h>
#include <weft/search/model/draw.h>
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

#include "grouped_study_cases.h"
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

Algorithm any_product(const StudyKind& kind) {
  return spmm_algorithm(Extent::any("M"), kind.depth > 0 ? Extent(kind.depth) : Extent::any("K"),
                        Extent::any("N", 8), DType::f16);
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

Space space_of_any_product(const StudyKind& kind, const Target& target) {
  const Workload example = make_workload(example_of(kind), DType::f16, {});
  const SpaceProblem problem{any_product(kind), std::make_shared<const WeightMatrix>(example.matrix),
                             kind.format()};
  return space_of(kind.recipe(), problem, target);
}

std::vector<StudiedKernel> points_of(const StudyKind& kind, const std::set<KnobValues>& usual,
                                     const Options& options, const Space& space) {
  const Points worth_trying = space.worth_trying(), feasible = space.feasible();
  const std::vector<KnobValues> different = representatives(worth_trying);
  Random random(options.cases.seed + 2);
  std::set<KnobValues> chosen;
  add_by_chance(chosen, different, options.configurations, random);
  for (const KnobValues& point : usual) {
    if (space.violated(point) == nullptr) chosen.insert(point);
  }
  add_by_chance(chosen, representatives(feasible), options.others, random);
  fmt::print(
      stderr,
      "{}: {} points, {} feasible, {} worth trying, {} of different tiles, {} of the recipe; {} chosen\n",
      kind.text(), space.size(), feasible.size(), worth_trying.size(), different.size(), usual.size(),
      chosen.size());
  std::vector<StudiedKernel> compiled;
  for (const KnobValues& point : chosen) compiled.push_back({.point = point});
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
          kind_of(chosen).format()};
}

/// What the recipe chooses for each case; nothing where the space does not have it.
std::vector<std::optional<KnobValues>> usual_points(const std::vector<SuiteCase>& cases, const Target& target,
                                                    const Options& options) {
  std::vector<std::optional<KnobValues>> points(cases.size());
  in_parallel(cases.size(), options, [&](std::size_t i) {
    const Workload workload = make_workload(cases[i], DType::f16, {});
    points[i] = space_of(kind_of(cases[i]).recipe(), problem_of(workload, cases[i]), target).usual();
  });
  return points;
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
    usual_ = usual_points(cases_, *target_, options);
    // All depths of a kind are measured with the same configurations.
    std::map<StudyKind, std::set<KnobValues>> usual_of_kind;
    std::map<StudyKind, std::set<StudyKind>> depths_of_kind;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const StudyKind kind = kind_of(cases_[i]);
      depths_of_kind[kind.of_any_depth()].insert(kind);
      if (usual_[i]) usual_of_kind[kind.of_any_depth()].insert(*usual_[i]);
    }
    std::map<StudyKind, std::future<std::vector<StudiedKernel>>> points;
    for (const auto& [kind, depths] : depths_of_kind) {
      for (const StudyKind& one : depths) spaces_.emplace(one, space_of_any_product(one, *target_));
      const Space& space = spaces_.at(*depths.begin());
      const std::set<KnobValues>& usual = usual_of_kind[kind];
      points[kind] =
          std::async(std::launch::async, [&, kind] { return points_of(kind, usual, options, space); });
    }
    for (auto& [kind, some] : points) {
      const std::vector<StudiedKernel> chosen = some.get();
      for (const StudyKind& one : depths_of_kind.at(kind)) kernels_[one] = chosen;
    }
    for (const auto& [kind, space] : spaces_) {
      if (!options.list) compile_kind(kind, space);
    }
  }

  void list() const {
    for (const auto& [kind, kernels] : kernels_) {
      for (const StudiedKernel& one : kernels)
        fmt::print("{} {}\n", kind.text(), nlohmann::json(one.point).dump());
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
                 kind_of(one).text(), trials_, failed_, clock_.seconds());
    }
    fmt::print("{} problems, {} trials, {} failed, {} of them wrong, {:.0f} s\n", done, trials_, failed_,
               wrong_, clock_.seconds());
    return failed_ > 0 ? 1 : 0;
  }

 private:
  static constexpr double limit_seconds = 20;
  static constexpr std::size_t products_ahead = 6;

  void compile_kind(const StudyKind& kind, const Space& space) {
    std::vector<StudiedKernel>& kernels = kernels_[kind];
    compile_all(kernels, space, options_);
    for (StudiedKernel& one : kernels) {
      one.format = format_of(kind, one.point);
      if (!one.kernel) fmt::print(stderr, "{}: {}: {}\n", kind.text(), space.text(one.point), one.failure);
    }
    const auto failed = std::ranges::count_if(kernels, [](const StudiedKernel& one) { return !one.kernel; });
    fmt::print(stderr, "{}: {} kernels compiled, {} failed, after {:.0f} s\n", kind.text(),
               std::ssize(kernels) - failed, failed, clock_.seconds());
  }

  static Format format_of(const StudyKind& kind, const KnobValues& point) {
    return recipe_named(kind.recipe())->format_of(kind.format(), point);
  }

  /// All kernels of a problem. Records are written while the next trial runs.
  void measure(std::size_t problem, RecordFile& file) {
    std::vector<StudiedKernel>& kernels = kernels_.at(kind_of(cases_[problem]));
    std::optional<Record> last;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (!kernels[i].kernel) continue;
      if (!worker_) worker_.emplace([this](const std::string& request) { return answer(request); });
      worker_->send(fmt::format("{} {}", problem, i), limit_seconds);
      if (last) file.append(*std::move(last));
      last = finished(problem, i);
      ++trials_;
      if (last->status == TrialStatus::correct) continue;
      fmt::print(stderr, "{} {}: {} {}\n", kind_of(cases_[problem]).text(), text_of_config(*last),
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
    Record record = make_product(cases_[problem], kind_of(cases_[problem]).format(), {}, *target_, nullptr,
                                 measure_name())
                        ->record;
    record.config = kernels_.at(kind_of(cases_[problem]))[kernel].point;
    record.status = late ? TrialStatus::timeout : TrialStatus::runtime;
    record.message = late ? fmt::format("no end within {} s", limit_seconds) : reply.text + " " + reply.said;
    return record;
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
    const StudiedKernel& studied = kernels_.at(kind_of(cases_[problem]))[kernel];
    Record record = trials_on_device_->trial(studied);
    record.strategy = usual_[problem] && *usual_[problem] == studied.point ? "recipe" : "exhaustive";
    return json_of(record);
  }

  std::unique_ptr<MeasuredProduct> product(std::size_t problem) const {
    const SuiteCase& chosen = cases_[problem];
    std::map<std::string, Format> formats;
    for (const StudiedKernel& one : kernels_.at(kind_of(chosen))) {
      formats.emplace(one.format.text(), one.format);
    }
    std::vector<Format> all;
    for (const auto& [text, format] : formats) all.push_back(format);
    return make_product(chosen, kind_of(chosen).format(), all, *target_, &device_->description(),
                        measure_name());
  }

  Options options_;
  Clock clock_;
  std::vector<SuiteCase> cases_;
  const Target* target_ = nullptr;
  std::vector<std::optional<KnobValues>> usual_;
  std::map<StudyKind, Space> spaces_;
  std::map<StudyKind, std::vector<StudiedKernel>> kernels_;
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
  app.add_option("--device", options.device, "cuda, cuda:1 or sim:sm_90a")->capture_default_str();
  app.add_option("--out", options.output, "records are appended here")->capture_default_str();
  app.add_option("--kinds", options.cases.kinds, "weights: V=64 of row groups, 2:4, 64:2:16")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--depths", options.cases.depths, "K of weights with a pattern")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--problems", options.cases.drawn, "to draw")->capture_default_str();
  app.add_option("--suite", options.cases.suite,
                 "a suite with V or patterns, whose layers come beside those drawn");
  app.add_option("--layers", options.cases.of_suite, "of the suite, by chance")->capture_default_str();
  app.add_option("--configurations", options.configurations,
                 "of each kind: so many by chance of those worth trying; all of them if left out");
  app.add_option("--others", options.others, "of each kind: feasible configurations by chance beside them")
      ->capture_default_str();
  app.add_option("--largest", options.cases.largest, "M, K and N")
      ->check(CLI::Range(256, 1 << 20))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "no further problem is begun after")->capture_default_str();
  app.add_option("--jobs", options.jobs, "kernels compiled at the same time")->capture_default_str();
  app.add_option("--rounds", options.rounds, "samples of a time")->capture_default_str();
  app.add_option("--seed", options.cases.seed, "of what is drawn")->capture_default_str();
  app.add_flag("--list", options.list, "print the configurations of each kind, and measure nothing");
  CLI11_PARSE(app, argc, argv);
  try {
    weft::Study study(options);
    if (options.list) {
      study.list();
      return 0;
    }
    return study();
  } catch (const std::exception& error) {
    fmt::print(stderr, "grouped_study: {}\n", error.what());
    return 2;
  }
}
