#include <fmt/format.h>
#include <weft/backends/runtime/recorded_launch.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/processors.h>
#include <weft/search/measure/bench.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <thread>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

/// Compilers are processes and threads of their own, so as many as there are cores run at once.
void run_together(const std::vector<std::function<void()>>& work) {
  std::atomic<std::size_t> next{0};
  const auto take_turns = [&] {
    for (std::size_t i = next++; i < work.size(); i = next++) work[i]();
  };
  std::vector<std::thread> threads;
  const std::size_t count = std::min<std::size_t>(work.size(), processors());
  for (std::size_t i = 1; i < count; ++i) threads.emplace_back(take_turns);
  take_turns();
  for (std::thread& thread : threads) thread.join();
}

/// One contestant on every copy of the workload.
struct Prepared {
  std::size_t entry = 0;
  std::vector<Run> runs;
};

/// The workload, and with its positions the copies that have other values.
struct Copies {
  std::vector<std::unique_ptr<Workload>> workloads;
  std::vector<std::shared_ptr<const Operands>> operands;
  std::vector<Checker> checkers;

  Copies(Workload first, const Device& device, int count) {
    workloads.push_back(std::make_unique<Workload>(std::move(first)));
    for (int copy = 1; copy < count; ++copy)
      workloads.push_back(std::make_unique<Workload>(copy_of(*workloads.front(), copy)));
    // Without libraries there is nothing to trust, and all of the output is compared with f64.
    const double budget = device.is_cuda() ? 3e7 : std::numeric_limits<double>::infinity();
    for (const auto& workload : workloads) {
      operands.push_back(std::make_shared<const Operands>(device, *workload));
      checkers.emplace_back(*workload, budget);
    }
  }
};

class Measurement {
 public:
  Measurement(const Suite& suite, const SuiteCase& chosen, const RealWeights& real, const Device& device,
              const BenchOptions& options, const std::vector<Contestant>& contestants)
      : suite_(suite),
        chosen_(chosen),
        device_(device),
        options_(options),
        contestants_(contestants),
        copies_(make_workload(chosen, suite.dtype, real), device, options.copies) {
    for (Contestant& contestant : contestants_) {
      if (!contestant.more_variants) continue;
      for (Variant& variant : contestant.more_variants(workload()))
        contestant.variants.push_back(std::move(variant));
    }
  }

  const Workload& workload() const { return *copies_.workloads.front(); }
  /// With the ways that they have for the workload.
  const std::vector<Contestant>& contestants() const { return contestants_; }

  CaseResult run() {
    const Workload& first = workload();
    CaseResult result{chosen_, suite_.dtype, first.source,   first.matrix.stored(), first.matrix.sparsity(),
                      0,       {},           options_.copies};
    if (device_.is_cuda()) {
      result.limit = limit_microseconds(first, ceilings_of(suite_.dtype));
      result.group_limits = group_limits(first, ceilings_of(suite_.dtype));
    }
    for (const Contestant& contestant : contestants_) {
      Entry entry;
      entry.name = contestant.name;
      entry.kind = contestant.kind;
      entry.arithmetic = contestant.arithmetic;
      entry.reason = contestant.absent;
      Copies* copies = copies_for(contestant, entry);
      std::vector<Run> runs;
      if (copies != nullptr) runs = prepare(contestant, *copies, entry);
      if (!runs.empty()) prepared_.push_back({result.entries.size(), std::move(runs)});
      result.entries.push_back(std::move(entry));
    }
    time_all(result);
    return result;
  }

 private:
  /// Null, with the reason in `entry`, where the contestant can have no weights.
  Copies* copies_for(const Contestant& contestant, Entry& entry) {
    if (!contestant.own_weights || contestant.variants.empty()) return &copies_;
    try {
      Workload own = contestant.own_weights(chosen_, workload());
      entry.weights = own.source;
      own_copies_.push_back(std::make_unique<Copies>(std::move(own), device_, options_.copies));
      return own_copies_.back().get();
    } catch (const UserError& error) {
      note(entry, error.what(), false);
      return nullptr;
    }
  }

  /// Runs once into a poisoned output and compares.
  Check checked(const Run& run, Checker& checker, const Contestant& contestant) {
    const Stream stream(device_);
    run.poison();
    run.launch(stream);
    wait_for(device_, stream);
    Array output = run.output();
    const bool ours = contestant.kind == ContestantKind::weft;
    const Check check = checker.check(output, contestant.arithmetic, ours);
    const bool is_library = !ours && contestant.kind != ContestantKind::plug_in;
    if (check.passed && is_library && !checker.has_trusted() && !checker.complete())
      checker.trust(std::move(output));
    return check;
  }

  /// A few samples, to choose among the ways of one contestant.
  double quick_time(const Run& run) const {
    return time(device_, run.launch, {.rounds = 5, .minimum_seconds = 0.0003}).median;
  }

  /// The best way on the first copy, then the same way on the others. Empty, with the reason in `entry`, when
  /// there is none.
  std::vector<Run> prepare(const Contestant& contestant, Copies& copies, Entry& entry) {
    const Variant* best = nullptr;
    std::vector<Run> runs;
    double best_time = std::numeric_limits<double>::infinity();
    for (const Variant& variant : contestant.variants) {
      try {
        const auto begin = Clock::now();
        const Run run = variant.prepare(copies.operands.front());
        const std::chrono::duration<double> spent = Clock::now() - begin;
        const Check check = checked(run, copies.checkers.front(), contestant);
        if (!check.passed) {
          note(entry, variant.name + ": " + check.reason, true);
          continue;
        }
        const bool several = contestant.variants.size() > 1;
        // A library that cannot be recorded as a graph must be found out here, not when all take turns.
        const bool ours = contestant.kind == ContestantKind::weft;
        const double microseconds = several || !ours ? quick_time(run) : 0;
        if (several) entry.tried.emplace_back(variant.name, microseconds);
        if (microseconds >= best_time) continue;
        best = &variant;
        best_time = microseconds;
        entry.variant = variant.name;
        entry.check = check;
        entry.prepare_seconds = spent.count();
        runs = {run};
      } catch (const UserError& error) {
        note(entry, error.what(), false);
      } catch (const RuntimeError& error) {
        note(entry, error.what(), false);
      }
    }
    if (best != nullptr) entry.reason.clear();
    if (best != nullptr && !prepare_others(contestant, *best, copies, runs, entry)) runs.clear();
    return runs;
  }

  bool prepare_others(const Contestant& contestant, const Variant& best, Copies& copies,
                      std::vector<Run>& runs, Entry& entry) {
    std::vector<std::function<void()>> builds;
    for (std::size_t copy = 1; copy < copies.operands.size() && best.build; ++copy)
      builds.emplace_back([&best, &copies, copy] { best.build(*copies.workloads[copy]); });
    run_together(builds);
    for (std::size_t copy = 1; copy < copies.operands.size(); ++copy) {
      try {
        runs.push_back(best.prepare(copies.operands[copy]));
        const Check check = checked(runs.back(), copies.checkers[copy], contestant);
        if (check.passed) continue;
        note(entry, check.reason, true);
      } catch (const UserError& error) {
        note(entry, error.what(), false);
      } catch (const RuntimeError& error) {
        note(entry, error.what(), false);
      }
      return false;
    }
    return true;
  }

  /// Being wrong weighs more than not being offered.
  static void note(Entry& entry, const std::string& reason, bool wrong) {
    if (entry.reason.empty() || (wrong && !entry.wrong)) entry.reason = reason;
    entry.wrong = entry.wrong || wrong;
  }

  bool is_plug_in(const Prepared& prepared) const {
    return contestants_[prepared.entry].kind == ContestantKind::plug_in;
  }

  /// What a plug-in does in the samples has to be right, not only what it did before them.
  void check_as_timed(const Prepared& prepared, Entry& entry) {
    for (std::size_t copy = 0; copy < prepared.runs.size(); ++copy) {
      const Run& run = prepared.runs[copy];
      try {
        launch_as_timed(device_, run.launch, run.poison);
        const Check check = copies_.checkers[copy].check(run.output(), entry.arithmetic);
        if (check.passed) continue;
        note(entry, "launched once more as it was timed: " + check.reason, true);
      } catch (const RuntimeError& error) {
        note(entry, fmt::format("launched once more as it was timed: {}", error.what()), false);
      }
      entry.timing = {};
      return;
    }
  }

  /// Times whoever is prepared. Null, or the plug-in whose launch failed.
  const Prepared* time_prepared(CaseResult& result) {
    std::vector<std::function<void(StreamHandle)>> launches;
    const Prepared* failed = nullptr;
    for (const Prepared& prepared : prepared_) {
      launches.emplace_back([&](StreamHandle stream) {
        try {
          for (const Run& run : prepared.runs) run.launch(stream);
        } catch (const RuntimeError& error) {
          if (is_plug_in(prepared)) failed = &prepared;
          note(result.entries[prepared.entry], error.what(), false);
          throw;
        }
      });
    }
    std::vector<Timing> timings;
    try {
      timings = time_in_turns(device_, launches, {.rounds = options_.rounds});
    } catch (const RuntimeError&) {
      if (failed == nullptr) throw;
      return failed;
    }
    for (std::size_t i = 0; i < timings.size(); ++i) {
      Timing one = timings[i];
      for (double* value : {&one.median, &one.minimum, &one.percentile_95}) *value /= options_.copies;
      result.entries[prepared_[i].entry].timing = one;
    }
    return nullptr;
  }

  void time_all(CaseResult& result) {
    while (const Prepared* failed = time_prepared(result))
      prepared_.erase(prepared_.begin() + (failed - prepared_.data()));
    for (const Prepared& prepared : prepared_) {
      if (is_plug_in(prepared)) check_as_timed(prepared, result.entries[prepared.entry]);
    }
  }

  const Suite& suite_;
  const SuiteCase& chosen_;
  const Device& device_;
  const BenchOptions& options_;
  std::vector<Contestant> contestants_;
  Copies copies_;
  std::vector<std::unique_ptr<Copies>> own_copies_;
  std::vector<Prepared> prepared_;
};

/// What every way of every contestant needs on every case, the longest first.
std::vector<std::function<void()>> builds_of(const std::vector<std::unique_ptr<Measurement>>& measurements) {
  std::vector<const Measurement*> sorted;
  for (const auto& measurement : measurements) sorted.push_back(measurement.get());
  std::ranges::stable_sort(sorted, [](const Measurement* a, const Measurement* b) {
    return a->workload().matrix.stored() > b->workload().matrix.stored();
  });
  std::vector<std::function<void()>> builds;
  for (const Measurement* measurement : sorted) {
    for (const Contestant& contestant : measurement->contestants()) {
      for (const Variant& variant : contestant.variants) {
        if (variant.build)
          builds.emplace_back([&variant, measurement] { variant.build(measurement->workload()); });
      }
    }
  }
  return builds;
}

/// Cases from `begin` on whose operands are in memory at the same time: one at least.
std::size_t end_of_window(const std::vector<SuiteCase>& cases, std::size_t begin) {
  constexpr double most_elements = 3e8;
  double elements = 0;
  std::size_t end = begin;
  while (end < cases.size() && (end == begin || elements < most_elements)) {
    const SuiteProblem& p = cases[end].problem;
    elements += (1 - cases[end].sparsity) * static_cast<double>(p.m * p.k) + static_cast<double>(p.k * p.n);
    ++end;
  }
  return end;
}

}  // namespace

std::vector<CaseResult> measure(const Suite& suite, const std::vector<SuiteCase>& cases,
                                const RealWeights& real, const Device& device,
                                const std::vector<Contestant>& contestants, const BenchOptions& options,
                                const BenchProgress& progress) {
  if (options.rounds < 1 || options.copies < 1)
    throw UserError("a measurement cannot be made", "BenchOptions",
                    fmt::format("{} rounds, {} copies", options.rounds, options.copies),
                    "at least one of each");
  std::vector<CaseResult> results;
  for (std::size_t next = 0; next < cases.size();) {
    std::vector<std::unique_ptr<Measurement>> measurements;
    for (const std::size_t end = end_of_window(cases, next); next < end; ++next)
      measurements.push_back(
          std::make_unique<Measurement>(suite, cases[next], real, device, options, contestants));
    const auto builds = builds_of(measurements);
    if (progress.started) progress.started(builds.size());
    run_together(builds);
    for (auto& measurement : measurements) {
      results.push_back(measurement->run());
      measurement.reset();
      if (progress.finished) progress.finished(results.back());
    }
  }
  return results;
}

CaseResult measure(const Suite& suite, const SuiteCase& chosen, const RealWeights& real, const Device& device,
                   const std::vector<Contestant>& contestants, const BenchOptions& options) {
  return measure(suite, std::vector<SuiteCase>{chosen}, real, device, contestants, options).front();
}

}  // namespace weft
