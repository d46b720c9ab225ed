#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/search/measure/trial_pool.h>
#include <weft/search/model/bound.h>
#include <weft/search/model/dense_bound.h>
#include <weft/search/model/known_error.h>
#include <weft/search/model/timing_table.h>
#include <weft/search/trials/standing.h>
#include <weft/search/trials/tune.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double baseline_seconds = 120;

/// How unlike two problems are: differences of the logarithms of their sizes. Nothing where they have nothing
/// to do with one another.
std::optional<double> distance(const Record& a, const Record& b) {
  if (a.kernel != b.kernel || architecture_of(a.target.name) != architecture_of(b.target.name) ||
      a.measure != b.measure)
    return std::nullopt;
  const auto format = [](const Record& record) {
    return record.pattern.kind.substr(0, record.pattern.kind.find(':'));
  };
  if (a.problem.word("dtype") != b.problem.word("dtype") || a.pattern.group != b.pattern.group ||
      format(a) != format(b))
    return std::nullopt;
  const auto apart = [](std::int64_t one, std::int64_t other) {
    return std::abs(std::log((static_cast<double>(one) + 1) / (static_cast<double>(other) + 1)));
  };
  double sum = apart(a.pattern.stored, b.pattern.stored);
  for (const char* name : {"M", "K", "N"}) {
    if (!a.problem.sizes.contains(name) || !b.problem.sizes.contains(name)) return std::nullopt;
    sum += apart(a.problem.size(name), b.problem.size(name));
  }
  return sum;
}

/// The best configuration of the problem that is most like this one, in a format of as large groups.
const Record* incumbent(const std::vector<StoredRecord>& records, const Record& common) {
  const Record* best = nullptr;
  double nearest = std::numeric_limits<double>::infinity();
  for (const StoredRecord& stored : records) {
    const auto time = stored.record.time_of_correct();
    if (!time || stored.record.problem_key() == common.problem_key()) continue;
    const auto far = distance(stored.record, common);
    if (!far || *far > nearest) continue;
    const bool better = *far < nearest || *time < *best->time_of_correct();
    if (better) best = &stored.record;
    nearest = *far;
  }
  return best;
}

/// The format of a space, which may leave it to the problem.
const Format& format_of(const Space& space, const TrialProblem& problem) {
  return space.format().name.empty() ? problem.what.format : space.format();
}

/// The microseconds that a point is expected to take, times what `weigh` says of its problem, format and
/// recipe.
template <class Weigh>
Predict expected_times(const TrialProblem& problem, const std::vector<Space>& spaces, const Target& target,
                       const Weigh& weigh) {
  const Ceilings ceilings = ceilings_of(problem.output().dtype, target);
  std::vector<ProblemSummary> summaries;
  for (const Space& space : spaces)
    summaries.push_back(summary_of(problem.what.algorithm, *problem.what.matrix, format_of(space, problem)));
  return [summaries, ceilings, target, weigh, &problem, &spaces](const TrialPoint& point) {
    const Space& space = spaces[point.space];
    const ProblemSummary& summary = summaries[point.space];
    const Format& format = format_of(space, problem);
    return weigh(summary, format, space.recipe(), target) *
           expected_time(summary, format, space.recipe(), point.config, target, ceilings);
  };
}

Predict expected_times(const TrialProblem& problem, const std::vector<Space>& spaces, const Target& target) {
  return expected_times(problem, spaces, target, [](const auto&...) { return 1.0; });
}

/// What points are tried in the order of.
Predict ranks(const TrialProblem& problem, const std::vector<Space>& spaces, const Target& target) {
  return expected_times(problem, spaces, target, reluctance_to);
}

std::vector<Candidate> chosen_candidates(const std::vector<Space>& spaces, const Predict& predicted,
                                         const TuneOptions& options) {
  if (options.only.empty()) return candidates_of(spaces, options.strategy, predicted, options.limits);
  std::vector<Candidate> chosen;
  for (const auto& [recipe, config, format] : options.only) {
    const auto number = number_of_space(spaces, recipe, format);
    // One that does not fit here, as after another version planned it, is left out.
    if (!number || spaces[*number].violated(config) != nullptr) continue;
    const TrialPoint point{*number, config};
    chosen.push_back({point, recipe, predicted(point), spaces[*number].format().text()});
  }
  return chosen;
}

/// The candidate of a point by names, where it is one.
const Candidate* candidate_of(const Candidates& candidates, const std::vector<Space>& spaces,
                              const NamedPoint& point) {
  const auto number = number_of_space(spaces, point.recipe, point.format);
  return number ? candidates.find({*number, point.config}) : nullptr;
}

/// What is put first for the sake of one or the other format.
void put_points_without_search_first(Candidates& candidates, const std::vector<Space>& spaces) {
  std::vector<const Candidate*> of_recipes;
  for (const Candidate& candidate : candidates.all()) {
    if (candidate.is_of_recipe) of_recipes.push_back(&candidate);
  }
  std::ranges::stable_sort(of_recipes, {}, &Candidate::predicted);
  for (const Candidate* candidate : of_recipes) candidates.put_first(candidate, "recipe");
  // What there is without any recipe, unless a launch of it takes what a search of the others would.
  constexpr double hopeless = 100;
  const Candidate* without = candidate_of(candidates, spaces, {"default", {}, {}});
  const auto& all = candidates.all();
  const auto least = std::ranges::min_element(all, {}, &Candidate::predicted);
  if (without != nullptr && without->predicted <= hopeless * least->predicted)
    candidates.put_first(without, "default");
}

void put_predicted_first(Candidates& candidates, const std::vector<Space>& spaces,
                         const std::vector<NamedPoint>& predicted) {
  for (const NamedPoint& point : predicted)
    candidates.put_first(candidate_of(candidates, spaces, point), "predicted");
}

void put_likeliest_of_formats_first(Candidates& candidates, Strategy strategy) {
  if (strategy != Strategy::ranked) return;
  const std::vector<const Candidate*> likeliest = candidates.likeliest_of_formats();
  if (likeliest.size() < 2) return;
  for (const Candidate* candidate : likeliest) candidates.put_first(candidate, "format");
}

class Tuner {
 public:
  Tuner(TrialProblem& problem, const std::vector<Space>& spaces, const Target& target, RecordFile& file,
        const TuneOptions& options, const TuneHooks& hooks)
      : spaces_(spaces),
        file_(file),
        options_(options),
        hooks_(hooks),
        predict_(expected_times(problem, spaces, target)),
        candidates_(chosen_candidates(spaces, ranks(problem, spaces, target), options), options.strategy,
                    options.seed),
        trials_(problem, spaces, target, options.measure, predict_),
        pool_([this](const std::string& request) { return trials_.serve(request); }, options.measure,
              options.jobs) {
    for (const Space& space : spaces) formats_.insert(format_of(space, problem).text());
    if (candidates_.size() == 0) refuse_empty(problem, target);
    find_device(problem, target);
    result_.points = candidates_.size();
    status().limit = std::min<std::int64_t>(options.trials, static_cast<std::int64_t>(candidates_.size()));
  }

  /// Why no point fits: of a single space, which is that of a schedule or of a recipe that was asked for,
  /// what clashes; of several, where to ask.
  [[noreturn]] void refuse_empty(const TrialProblem& problem, const Target& target) const {
    const std::string where = fmt::format(
        "{} in {} on {}", problem.kernel,
        formats_.empty() ? problem.what.format.text() : fmt::format("{}", fmt::join(formats_, ", ")),
        target.name);
    if (spaces_.size() == 1 && options_.only.empty()) {
      const Space& space = spaces_.front();
      const Feasibility found = space.complete({});
      if (found.answer == Answer::infeasible)
        throw InfeasibleError(
            "there is nothing to tune", where,
            fmt::format("no point that fits: {}",
                        explain(found.clashes.front(),
                                [&space](const std::string& knob, std::int64_t value) {
                                  return space.word_of(knob, value);
                                })),
            fmt::format("a schedule that asks for no more{}: smaller parts of loops, other values "
                        "of its knobs, or another target",
                        space.knobs().empty() ? "" : " at one of its points"));
    }
    throw InfeasibleError("there is nothing to tune", where, "no point that fits",
                          "another format or target; weft check says which limit is in the way");
  }

  TuneResult run(const TrialProblem& problem, const Target& target) {
    take_up();
    status().resumed = status().trials;
    find_baselines(problem, target);
    put_incumbents_first();
    hooks_.progress(status());
    TrialHooks hooks;
    hooks.next = [this] { return next(); };
    hooks.done = [this](const TrialPoint& point, const Record& record) { done(point, record); };
    hooks.best = [this] { return status().best.value_or(0); };
    hooks.stop = [this] {
      result_.interrupted = result_.interrupted || hooks_.stop();
      return result_.interrupted || out_of_time();
    };
    hooks.tick = [this] { tick(); };
    if (status().trials < status().limit) pool_.run(hooks);
    tick();
    if (result_.best) result_.fastest = text_of_point(*result_.best);
    return std::move(result_);
  }

 private:
  TuneStatus& status() { return result_.status; }

  void find_device(const TrialProblem& problem, const Target& target) {
    const Measure measure = options_.measure.measure;
    // What a schedule for GPUs takes on a CPU, by its meaning, says nothing about it.
    if (target.is_gpu() == (measure == Measure::cpu))
      throw UserError(
          "kernels for this target cannot be measured so", "--measure " + std::string(name_of(measure)),
          "the target " + target.name,
          target.is_gpu()
              ? "--measure sim or model, or gpu where there is one: cpu is for kernels of the target cpu"
              : "--measure cpu; gpu, sim and model know GPUs alone");
    std::optional<DeviceDescription> device;
    if (measure == Measure::gpu || measure == Measure::cpu) {
      const WorkerReply reply = pool_.ask(device_request(), options_.measure.build_seconds);
      if (reply.end != WorkerReply::End::answered)
        throw RuntimeError("the device cannot be opened: " + reply.text + "\n" + reply.said);
      device = device_of_reply(reply.text);
    }
    if (measure == Measure::gpu) check_runs(*device, target);
    common_ = record_for(problem, target, std::string(name_of(measure)), device ? &*device : nullptr);
    common_.run = new_record_id();
    common_.seed = options_.seed;
    problem_key_ = common_.problem_key();
  }

  static void check_runs(const DeviceDescription& device, const Target& target) {
    const bool fits = target.architecture_specific ? device.sm == target.sm : device.sm >= target.sm;
    if (target.is_gpu() && fits) return;
    throw UserError("the device does not run the target", "--target " + target.name,
                    fmt::format("{} (sm_{})", device.model, device.sm),
                    "a target of the device's architecture, or --measure sim or model");
  }

  /// What is known of the problem already.
  void take_up() {
    for (const StoredRecord& stored : file_.records()) learn_from(stored.record);
    seen_ = file_.records().size();
  }

  /// Other tuners append to the file, too.
  void look_for_others() {
    file_.refresh();
    for (; seen_ < file_.records().size(); ++seen_) learn_from(file_.records()[seen_].record);
  }

  void learn_from(const Record& record) {
    if (record.problem_key() != problem_key_) return;
    if (result_.baselines.empty() && dense_beside(record) != nullptr) use_baselines(record.baselines);
    if (!options_.any_recipe && !number_of_space(spaces_, record.recipe, record.pattern.kind)) return;
    const bool own_format = formats_.contains(record.pattern.kind);
    const auto time = record.time_of_correct();
    if (time && (own_format || options_.any_format) && (!status().best || *time < *status().best)) {
      status().best = time;
      status().best_format = record.pattern.kind;
      result_.best = record;
    }
    if (!own_format) return;
    ++status().trials;
    if (record.status != TrialStatus::correct) ++status().failures[record.status];
    const Candidate* candidate = candidate_of(candidates_, spaces_, named(record));
    if (candidate == nullptr) {
      // It is none of those that are left to try.
      status().limit = std::min(options_.trials, status().limit + 1);
      return;
    }
    candidates_.take(*candidate);
    candidates_.learn(*candidate, time);
  }

  void use_baselines(const std::vector<Baseline>& baselines) {
    result_.baselines = baselines;
    Record compared = common_;
    compared.baselines = baselines;
    if (const Baseline* dense = dense_beside(compared)) {
      status().dense = dense->microseconds;
      status().dense_of = dense->whose;
    }
  }

  void find_baselines(const TrialProblem& problem, const Target& target) {
    if (!options_.baselines || !result_.baselines.empty()) return;
    const Measure measure = options_.measure.measure;
    if (measure == Measure::model) {
      const Ceilings ceilings = ceilings_of(problem.output().dtype, target);
      use_baselines(
          {{"dense, by the model", true, dense_bound(problem.summary(), ceilings), BaselineOf::model}});
      return;
    }
    const WorkerReply reply =
        pool_.ask(baselines_request(), std::max(baseline_seconds, options_.measure.run_seconds));
    // A baseline that cannot be had is no reason not to tune.
    if (reply.end == WorkerReply::End::answered) use_baselines(baselines_of(reply.text));
  }

  void put_incumbents_first() {
    put_points_without_search_first(candidates_, spaces_);
    if (options_.strategy == Strategy::exhaustive || options_.strategy == Strategy::feasible) return;
    for (const std::string& format : formats_) {
      Record like = common_;
      set_format(like, parse_format(format));
      const Record* known = incumbent(file_.records(), like);
      if (known == nullptr) continue;
      const Candidate* candidate = candidate_of(candidates_, spaces_, {known->recipe, known->config, format});
      if (candidate != nullptr && candidate->within_reach) candidates_.put_first(candidate, "incumbent");
    }
    put_predicted_first(candidates_, spaces_, options_.predicted);
    put_likeliest_of_formats_first(candidates_, options_.strategy);
  }

  static NamedPoint named(const Record& record) {
    return {record.recipe, record.config, record.pattern.kind};
  }

  std::string text_of_point(const Record& record) const {
    const Candidate* candidate = candidate_of(candidates_, spaces_, named(record));
    return candidate != nullptr ? spaces_[candidate->point.space].text(record.config)
                                : Configuration{record.recipe, record.config}.text();
  }

  bool out_of_time() const { return seconds_since_start() >= options_.seconds; }
  double seconds_since_start() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  std::optional<TrialPoint> next() {
    look_for_others();
    if (status().trials + static_cast<std::int64_t>(under_way_.size()) >= status().limit || out_of_time())
      return std::nullopt;
    const auto choice = candidates_.next();
    if (!choice) return std::nullopt;
    under_way_[choice->candidate] = choice->why;
    return choice->candidate->point;
  }

  void done(const TrialPoint& point, const Record& measured) {
    Record record = common_;
    const Space& space = spaces_[point.space];
    if (!space.format().name.empty()) set_format(record, space.format());
    record.recipe = space.recipe();
    record.config = point.config;
    const Candidate* candidate = candidates_.find(point);
    record.strategy = under_way_.at(candidate);
    under_way_.erase(candidate);
    record.predicted_microseconds = candidate->predicted;
    record.kernel_hash = measured.kernel_hash;
    record.status = measured.status;
    record.message = measured.message;
    record.microseconds = measured.microseconds;
    record.verified = measured.verified;
    record.compile_milliseconds = measured.compile_milliseconds;
    record.registers = measured.registers;
    record.shared_bytes = measured.shared_bytes;
    record.spill_bytes = measured.spill_bytes;
    record.baselines = result_.baselines;
    // Where another tuner was faster, its record counts.
    file_.append(record, options_.any_architecture);
    look_for_others();
    tick();
  }

  void tick() {
    TuneStatus& now = status();
    now.seconds = seconds_since_start();
    const std::int64_t made = now.trials - now.resumed;
    if (made > 0) {
      const double by_trials =
          now.seconds / static_cast<double>(made) * static_cast<double>(now.limit - now.trials);
      now.seconds_left = std::max(0.0, std::min(by_trials, options_.seconds - now.seconds));
    }
    hooks_.progress(now);
  }

  const std::vector<Space>& spaces_;
  RecordFile& file_;
  const TuneOptions& options_;
  const TuneHooks& hooks_;
  Predict predict_;
  Candidates candidates_;
  Trials trials_;
  TrialPool pool_;
  Record common_;
  std::string problem_key_;
  std::set<std::string> formats_;                      ///< those of the spaces
  std::map<const Candidate*, std::string> under_way_;  ///< with why they were chosen
  std::size_t seen_ = 0;                               ///< records of the file
  TuneResult result_;
  Clock::time_point start_ = Clock::now();
};

/// `accepted` where `holds` does not.
void require(bool holds, const char* option, const std::string& found, const char* accepted) {
  if (!holds) throw UserError("a search cannot be made", option, found, accepted);
}

void check(const TuneOptions& options) {
  require(options.trials >= 1, "TuneOptions::trials", std::to_string(options.trials), "at least 1");
  require(options.jobs >= 1, "TuneOptions::jobs", std::to_string(options.jobs), "at least 1");
  require(options.seconds > 0, "TuneOptions::seconds", fmt::format("{}", options.seconds),
          "a time above 0, or infinity");
  const MeasureOptions& measure = options.measure;
  require(measure.rounds >= 1, "MeasureOptions::rounds", std::to_string(measure.rounds), "at least 1");
  require(measure.copies >= 1, "MeasureOptions::copies", std::to_string(measure.copies), "at least 1");
  require(measure.memory_bytes == 0 || measure.memory_bytes >= std::uint64_t{1} << 20U,
          "MeasureOptions::memory_bytes",
          fmt::format("{} bytes, in which no process runs", measure.memory_bytes),
          "a number of bytes, such as std::uint64_t{16} << 30U for 16 GiB; or 0 for no limit");
  require(measure.build_seconds > 0, "MeasureOptions::build_seconds",
          fmt::format("{}", measure.build_seconds), "a time above 0");
  require(measure.run_seconds > 0, "MeasureOptions::run_seconds", fmt::format("{}", measure.run_seconds),
          "a time above 0");
}

void check(const TrialProblem& problem) {
  const Algorithm& algorithm = problem.what.algorithm;
  require(!algorithm.operands.empty(), "TrialProblem::what", "no algorithm",
          "an algorithm, as of spmm_algorithm() or algorithm()");
  require(problem.what.matrix != nullptr, "TrialProblem::what", "no weights",
          "a WeightMatrix, as of read() or synthetic_layer()");
  for (const Operand& operand : algorithm.operands) {
    if (operand.storage == Storage::sparse) continue;
    require(problem.tensors.contains(operand.name), "TrialProblem::tensors", "no " + operand.name,
            "an array for every dense operand, the output too");
  }
}

/// Nobody has to listen.
TuneHooks with_listeners(TuneHooks hooks) {
  if (!hooks.progress) hooks.progress = [](const TuneStatus&) {};
  if (!hooks.stop) hooks.stop = [] { return false; };
  return hooks;
}

std::vector<NamedPoint> first_points(const TrialProblem& problem, const std::vector<Space>& spaces,
                                     const Target& target, const TuneOptions& options, std::int64_t count) {
  const Predict predicted = ranks(problem, spaces, target);
  Candidates candidates(chosen_candidates(spaces, predicted, options), options.strategy, options.seed);
  put_points_without_search_first(candidates, spaces);
  put_predicted_first(candidates, spaces, options.predicted);
  put_likeliest_of_formats_first(candidates, options.strategy);
  std::vector<NamedPoint> points;
  while (static_cast<std::int64_t>(points.size()) < count) {
    const auto choice = candidates.next();
    if (!choice) break;
    const TrialPoint& point = choice->candidate->point;
    points.push_back(
        {choice->candidate->recipe, point.config, format_of(spaces[point.space], problem).text()});
  }
  return points;
}

}  // namespace

std::vector<NamedPoint> likeliest(const TrialProblem& problem, const std::vector<Space>& spaces,
                                  const Target& target, const TuneOptions& options, std::int64_t count,
                                  CallPlace place) {
  return user_call(place, [&] {
    check(problem);
    return first_points(problem, spaces, target, options, count);
  });
}

TuneResult tune(TrialProblem& problem, const std::vector<Space>& spaces, const Target& target,
                RecordFile& file, const TuneOptions& options, const TuneHooks& hooks, CallPlace place) {
  return user_call(place, [&] {
    check(options);
    check(problem);
    const TuneHooks all = with_listeners(hooks);
    return Tuner(problem, spaces, target, file, options, all).run(problem, target);
  });
}

}  // namespace weft
