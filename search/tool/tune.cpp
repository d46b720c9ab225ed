// weft tune: the fastest kernel for an algorithm and its pruned weights, and how it stands against dense.
#include <fmt/format.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/processors.h>
#include <weft/search/choice/formats_worth_trying.h>
#include <weft/search/measure/worker.h>
#include <weft/search/model/predictor.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/given_files.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/progress.h>
#include <weft/search/tool/searching.h>
#include <weft/search/tool/tuning.h>
#include <weft/search/trials/best_file.h>
#include <weft/search/trials/plan.h>
#include <weft/search/trials/plan_runner.h>
#include <weft/search/trials/register_correction.h>
#include <weft/search/trials/tune.h>
#include <weft/search/trials/verdict.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

namespace weft::tool {
namespace {

struct TuneVerb {
  ProblemOptions problem;
  std::string target;
  std::string measure = "gpu";
  std::string strategy = "ranked";
  std::vector<std::string> recipes;
  std::string database = "weftdb.jsonl";
  std::string best = "best.weft.json";
  std::string duration;
  std::vector<std::string> limits;
  std::string progress = "auto";
  std::string predictor;
  std::string plan;
  std::string absorb;
  std::vector<std::string> given;             ///< flags of times that were written
  std::map<std::string, std::string> source;  ///< source of records, where it is not the problem's own
  TuneOptions tune;
  int jobs = 0;
  bool no_baselines = false;
  bool json = false;
};

/// The format that is named, or all that are worth trying, the most particular first: of that one are the
/// baselines, and what is said of a recipe that none of them suits.
std::vector<Format> formats_of(const TuneVerb& options, TrialProblem& problem, const Target& target) {
  if (options.problem.format != automatic) return {problem.what.format};
  std::vector<Format> formats = formats_worth_trying(*problem.what.matrix, target);
  problem.what.format = formats.front();
  return formats;
}

std::vector<Space> spaces_of(const TuneVerb& options, TrialProblem& problem, const Target& target) {
  const std::vector<Format> formats = formats_of(options, problem, target);
  std::vector<Space> spaces = spaces_for(problem.what, formats, target);
  if (options.recipes.empty()) return spaces;
  for (const std::string& recipe : options.recipes) {
    if (number_of_space(spaces, recipe, {})) continue;
    if (const std::size_t colon = recipe.find(':'); colon != std::string::npos)
      throw UserError(
          "a search chooses the knobs of its recipes", "--recipes " + recipe, recipe.substr(colon + 1),
          fmt::format("--recipes {} --set {}", recipe.substr(0, colon), recipe.substr(colon + 1)));
    try {
      space_of(recipe, problem.what, target);  // says why there is none
    } catch (const UserError& error) {
      const UserError::Report& report = error.report();
      throw UserError(report.what, "--recipes " + recipe, report.found, report.accepted);
    }
  }
  std::erase_if(spaces, [&](const Space& space) {
    return std::ranges::find(options.recipes, space.recipe()) == options.recipes.end();
  });
  return spaces;
}

/// The spaces again, with what ptxas said of the kernels that the database has.
std::vector<Space> corrected(std::vector<Space> spaces, const TrialProblem& problem, const Target& target,
                             const RecordFile& file) {
  for (Space& space : spaces) {
    const std::int64_t more = register_correction(space, file.records());
    if (more == 0) continue;
    const SpaceProblem what{problem.what.algorithm, problem.what.matrix, space.format()};
    space = space_of(space.recipe(), what, target, {.more_registers = more});
  }
  return spaces;
}

TuneOptions tune_options(const TuneVerb& options) {
  TuneOptions tune = options.tune;
  tune.strategy = strategy_named(options.strategy);
  tune.seed = options.problem.seed;
  tune.baselines = !options.no_baselines;
  // Who names no format takes whatever is known of the weights in any.
  tune.any_format = options.problem.format == automatic;
  const auto cores = static_cast<int>(processors());
  tune.jobs = options.jobs > 0 ? options.jobs : tune.measure.measure == Measure::model ? 1 : cores;
  for (const std::string& limit : options.limits) {
    const std::size_t equals = limit.find('=');
    if (equals == std::string::npos || equals + 1 == limit.size())
      throw UserError("a knob cannot be held to a value", "--set", limit,
                      fmt::format("--set {0}=value, or {0}=value,value", limit.substr(0, equals)));
    std::vector<KnobWord>& words = tune.limits[limit.substr(0, equals)];
    for (std::string& word : CLI::detail::split(limit.substr(equals + 1), ','))
      words.push_back(std::move(word));
  }
  if (!options.duration.empty()) tune.seconds = seconds_of("--time", options.duration);
  return tune;
}

nlohmann::ordered_json json_of_result(const TuneResult& result, const Verdict* verdict,
                                      const TuneVerb& options) {
  nlohmann::ordered_json failures = nlohmann::ordered_json::object();
  for (const auto& [kind, count] : result.status.failures) failures[std::string(name_of(kind))] = count;
  nlohmann::ordered_json json{{"trials", result.status.trials},
                              {"resumed", result.status.resumed},
                              {"points", result.points},
                              {"failures", failures},
                              {"interrupted", result.interrupted},
                              {"seconds", result.status.seconds},
                              {"db", options.database}};
  json["best"] = result.best ? nlohmann::ordered_json::parse(json_of(*result.best)) : nullptr;
  if (verdict == nullptr) return json;
  json["best_file"] = options.best;
  auto& says = json["verdict"];
  says["fastest"] = verdict->fastest;
  says["format"] = verdict->format;
  for (const OfFormat& one : verdict->formats) {
    nlohmann::ordered_json format{{"format", one.format}, {"trials", one.trials}};
    if (one.best) format["us"] = *one.best;
    says["formats"].push_back(format);
  }
  says["us"] = verdict->microseconds;
  says["ties"] = verdict->ties;
  says["library_measured"] = verdict->library_measured();
  says["winner"] = name_of(verdict->standing ? verdict->standing->winner : Faster::none);
  if (verdict->standing) {
    says["dense"] = {{"name", verdict->dense->name},
                     {"of", name_of(verdict->dense->whose)},
                     {"us", verdict->dense->microseconds}};
    says["speed_up"] = verdict->standing->ratio;
    if (verdict->standing->error) says["error_factor"] = *verdict->standing->error;
  }
  if (verdict->standing && !verdict->standing->why_none.empty())
    says["no_verdict"] = verdict->standing->why_none;
  if (verdict->bound) says["bound"] = {{"us", *verdict->bound}, {"by", verdict->bound_by}};
  if (verdict->dense_below_n) says["dense_below_n"] = *verdict->dense_below_n;
  if (verdict->dense_below_sparsity) says["dense_below_sparsity"] = *verdict->dense_below_sparsity;
  return json;
}

/// What a predictor of `weft train` says of the problem in each of the formats: the first of each, the
/// second, …
std::vector<NamedPoint> predicted_by(const std::string& path, const TrialProblem& problem,
                                     const std::vector<Space>& spaces, const Target& target) {
  const Predictor predictor =
      of_option("--predictor", [&] { return predictor_of(text_of_file(path), path); });
  std::set<std::string> formats;
  std::vector<std::pair<std::size_t, NamedPoint>> ranked;
  for (const Space& space : spaces) {
    const std::string format = space.format().text();
    if (!formats.insert(format).second) continue;
    const ProblemSummary summary = summary_of(problem.what.algorithm, *problem.what.matrix, space.format());
    std::size_t rank = 0;
    for (const int number : predictor.ranking(features_of(summary, device_numbers(target)))) {
      const Configuration& one = predictor.classes[number];
      ranked.push_back({rank++, {one.recipe, one.point, format}});
    }
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, NamedPoint>::first);
  constexpr std::size_t most = 8;  // the rest of the trials is for points that the predictor does not know
  std::vector<NamedPoint> all;
  for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i) all.push_back(std::move(ranked[i].second));
  return all;
}

/// In the format of the record, which may be another one than this search's.
Schedule schedule_of_best(const Record& best, const TrialProblem& problem, const Target& target) {
  const SpaceProblem what{problem.what.algorithm, problem.what.matrix, parse_format(best.pattern.kind)};
  return space_of(best.recipe, what, target).schedule(best.config);
}

int finish(const TuneVerb& options, const TuneResult& result, const TrialProblem& problem,
           const Target& target, const RecordFile& file) {
  std::optional<Verdict> verdict;
  if (result.best) {
    verdict = verdict_of(result, problem, target, file.records());
    write_bytes(options.best, json_of_best(*result.best, schedule_of_best(*result.best, problem, target)));
  }
  if (options.json) {
    fmt::print("{}\n", json_of_result(result, verdict ? &*verdict : nullptr, options).dump(2));
  } else if (verdict) {
    fmt::print("{}schedule: {}\n", text_of(*verdict, *result.best), options.best);
  } else {
    fmt::print(
        "{}; weft db stats {} counts why\n",
        result.status.trials == 0 ? "the time was over before a kernel was tried" : "no kernel was right",
        options.database);
  }
  if (result.interrupted) {
    fmt::print(
        stderr,
        "stopped after {} of {} trials; nothing is lost: the same command goes on where this one was\n",
        result.status.trials, result.status.limit);
    return exit_interrupted;
  }
  return result.best ? exit_ok : exit_failed;
}

int searched(TuneVerb options) {
  options.tune.measure.measure = measure_named(options.measure);
  TuneOptions tune_with = tune_options(options);
  const ProgressStyle style = progress_style_named(options.progress);
  require_place_for("--out", options.best);
  require_apart_from("--out", options.best,
                     {{"--db", options.database},
                      {"--weights", options.problem.weights},
                      {"--predictor", options.predictor}});
  const Target& target = searched_target(options.target, options.tune.measure);
  TrialProblem problem = make_trial_problem(options.problem);
  if (!options.source.empty()) problem.source = options.source;
  RecordFile file = of_option("--db", [&] { return RecordFile(options.database, RecordFile::Mode::append); });
  const std::vector<Space> spaces = corrected(spaces_of(options, problem, target), problem, target, file);
  if (!options.predictor.empty())
    tune_with.predicted = predicted_by(options.predictor, problem, spaces, target);
  for (const std::string& warning : file.warnings()) fmt::print(stderr, "warning: {}\n", warning);
  const Interrupt interrupt;
  ProgressLine progress("tune " + problem.kernel, style);
  TuneHooks hooks;
  hooks.progress = [&](const TuneStatus& status) { progress.show(status); };
  hooks.stop = Interrupt::was_asked;
  const TuneResult result = tune(problem, spaces, target, file, tune_with, hooks);
  progress.end();
  if (result.status.resumed > 0)
    fmt::print(stderr, "{} of {} trials were in {} already\n", result.status.resumed, result.status.trials,
               options.database);
  return finish(options, result, problem, target, file);
}

/// Leaves no empty database behind where what was asked is refused.
int search(const TuneVerb& options) {
  std::error_code none;
  const bool is_there = std::filesystem::exists(options.database, none);
  try {
    return searched(options);
  } catch (const UserError&) {
    if (!is_there && std::filesystem::is_empty(options.database, none))
      std::filesystem::remove(options.database, none);
    throw;
  }
}

/// What a measured plan brought, into the database.
int absorb(const TuneVerb& options) {
  const RecordFile results = of_option("--absorb", [&] {
    if (std::filesystem::is_regular_file(options.absorb))
      throw UserError("the folder of a plan is asked for", "--absorb", "a file, " + options.absorb,
                      "the folder with its " + results_file("") + ", such as " +
                          std::filesystem::absolute(options.absorb).parent_path().string());
    const std::string path = results_file(options.absorb);
    if (!std::filesystem::exists(path))
      throw UserError("a plan has no results", options.absorb, "no file " + path,
                      "a folder of --plan whose kernels weft measure, or its runner, has measured");
    return RecordFile(path, RecordFile::Mode::read);
  });
  for (const std::string& warning : results.warnings()) fmt::print(stderr, "warning: {}\n", warning);
  RecordFile file = of_option("--db", [&] { return RecordFile(options.database, RecordFile::Mode::append); });
  std::vector<Record> records;
  for (const StoredRecord& stored : results.records()) records.push_back(stored.record);
  const std::size_t added = file.append_all(std::move(records), options.tune.any_architecture);
  if (options.json) {
    const nlohmann::ordered_json json{{"added", added},
                                      {"trials", results.records().size()},
                                      {"plan", options.absorb},
                                      {"db", options.database}};
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{} of {} trials added to {}\n", added, results.records().size(), options.database);
  }
  return exit_ok;
}

/// What to measure on another machine, into a folder.
int write_plan_of(const TuneVerb& options) {
  if (options.target.empty())
    throw UserError("a plan needs its target", "--target", "nothing", "that of the GPU that will measure");
  const Target& target = named_target(options.target);
  TrialProblem problem = make_trial_problem(options.problem);
  TuneOptions tune = tune_options(options);
  const std::vector<Space> spaces = spaces_of(options, problem, target);
  if (!options.predictor.empty()) tune.predicted = predicted_by(options.predictor, problem, spaces, target);
  Plan plan{problem.source, target.name, {}};
  plan.points = likeliest(problem, spaces, target, tune, options.tune.trials);
  write_plan(options.plan, plan, {"weights", "b", "c", "scale", "token-scale", "bias"});
  PlanRunner runner;
  if (target.is_gpu())
    runner = write_plan_runner(options.plan, problem, spaces, target, plan.points, tune.jobs,
                               tune.measure.most_spill_bytes);
  if (options.json) {
    const nlohmann::ordered_json json{{"plan", options.plan},
                                      {"target", target.name},
                                      {"points", plan.points.size()},
                                      {"kernels", runner.kernels},
                                      {"left_out", runner.left_out}};
    fmt::print("{}\n", json.dump(2));
    return exit_ok;
  }
  fmt::print("{} points are in {}; on the machine {}: weft measure {}\n", plan.points.size(), options.plan,
             target.is_gpu() ? "with the GPU" : "that shall measure",
             options.plan + (target.is_gpu() ? "" : " --measure cpu"));
  for (const std::string& reason : runner.left_out) fmt::print(stderr, "no kernel of {}\n", reason);
  if (runner.kernels > 0)
    fmt::print(
        "or, without weft there, {} kernels: cd {} && cc -O2 runner.c -ldl -lm -o runner && ./runner\n",
        runner.kernels, options.plan);
  return exit_ok;
}

/// The points of a plan, on this machine.
int measure_plan(const TuneVerb& given) {
  TuneVerb options = given;
  const Plan plan = read_plan(options.plan);
  options.target = plan.target;
  options.problem = options_of_source(source_in(options.plan, plan));
  options.source = plan.source;
  options.database = results_file(options.plan);
  options.best = (std::filesystem::path(options.plan) / "best.weft.json").string();
  options.strategy = "exhaustive";
  options.tune.only = plan.points;
  options.tune.trials = static_cast<std::int64_t>(plan.points.size());
  for (const NamedPoint& point : plan.points) {
    if (std::ranges::find(options.recipes, point.recipe) == options.recipes.end())
      options.recipes.push_back(point.recipe);
  }
  return or_without_gpu("no point of the plan can be measured: copy the folder to where the GPU is",
                        [&] { return search(options); });
}

/// A search takes its points from spaces of recipes, whatever one schedule says.
void refuse_one_schedule(const ProblemOptions& problem) {
  constexpr const char* what = "an option that a search does not follow";
  if (problem.recipe != automatic)
    throw UserError(what, "--recipe", problem.recipe, "--recipes, with the names of those to search");
  if (!problem.schedule.empty())
    throw UserError(what, "--schedule", problem.schedule, "none, or weft verify, which takes one schedule");
}

/// What only measured times have.
void refuse_idle_times(const TuneVerb& options) {
  const Measure measure = options.tune.measure.measure;
  for (const std::string& flag : options.given) {
    const bool used = measure == Measure::gpu || (measure == Measure::cpu && flag == "--rounds");
    if (!used)
      throw UserError("an option has no use for how points are measured", flag,
                      "--measure " + options.measure,
                      fmt::format("--measure gpu{}, or no {}", flag == "--rounds" ? " or cpu" : "", flag));
  }
}

int run(const TuneVerb& given) {
  TuneVerb options = given;
  refuse_one_schedule(options.problem);
  options.tune.measure.measure = measure_named(options.measure);
  refuse_idle_times(options);
  if (options.tune.measure.device != 0 && options.tune.measure.measure != Measure::gpu)
    throw UserError("no CUDA device takes part", fmt::format("--device {}", options.tune.measure.device),
                    "--measure " + options.measure, "--measure gpu, or no --device");
  if (!options.absorb.empty() && !options.plan.empty())
    throw UserError("a plan is written and absorbed at once", "--absorb " + options.absorb,
                    "--plan " + options.plan, "one of them: --plan first, --absorb when it is measured");
  if (!options.absorb.empty()) return absorb(options);
  if (options.problem.weights.empty())
    throw UserError("there is nothing to tune", "--weights", "nothing", "a file of pruned weights");
  if (!options.plan.empty()) return write_plan_of(options);
  return or_without_gpu("--measure sim or --measure model with --target sm_90a, or --measure cpu",
                        [&] { return search(options); });
}

/// How points are measured.
void add_measure_flags(CLI::App& verb, TuneVerb& options) {
  TuneOptions& tune = options.tune;
  begin_group(verb, "Device");
  add_option(verb, "--measure", options.measure, "gpu, cpu, sim or model");
  only(add_option(verb, "--device", tune.measure.device, "which CUDA device")->capture_default_str(),
       "the number of a CUDA device, such as 0; the CPU is --measure cpu, the simulator --measure sim",
       [](const std::string& word) { return read_number<unsigned short>(word).has_value(); });
  begin_group(verb, "Times");
  only(add_option(verb, "--time,--budget", options.duration, "stop after so long: 90s, 10m", "90s"),
       "90, 90s, 10m or 1h30m", [](const std::string& word) { return !word.empty(); });
  only_above_zero(add_option(verb, "--timeout", tune.measure.run_seconds, "seconds for running one"));
  only_above_zero(
      add_option(verb, "--build-timeout", tune.measure.build_seconds, "seconds for building one"));
  only_from(add_option(verb, "--jobs", options.jobs, "at a time; else all cores"), 1, 1024);
  only_from(add_option(verb, "--rounds", tune.measure.rounds, "samples of a time"), 1, 10000);
  only_from(add_option(verb, "--copies", tune.measure.copies, "of operands, for cold caches"), 1, 1000);
  for (const char* flag : {"--rounds", "--copies"})
    verb.get_option(flag)->each([&options, flag](const std::string&) { options.given.emplace_back(flag); });
  add_option(verb, "--max-spill", tune.measure.most_spill_bytes, "bytes of a thread");
  verb.add_flag("--no-dense", options.no_baselines, "no times of dense products");
  verb.add_flag("--allow-arch", tune.any_architecture, "even to another GPU's file");
  begin_group(verb, "Output");
  add_option(verb, "--progress", options.progress, "auto, plain or none");
  add_json_flag(verb, options.json);
}

/// Which points there are, and where they go.
void add_search_flags(CLI::App& verb, TuneVerb& options) {
  begin_group(verb, "Schedule");
  add_option(verb, "--target", options.target, "see weft targets", "TARGET");
  only_from(add_option(verb, "--trials", options.tune.trials, "with those in the database"), 1,
            1'000'000'000);
  add_option(verb, "--strategy", options.strategy,
             "ranked, random, exhaustive (all worth trying) or feasible (all that can run)");
  add_list(verb, "--recipes", options.recipes, "only these of weft recipes", "NAMES");
  add_option(verb, "--predictor", options.predictor, "of weft train, asked first", "TREE");
  add_option(verb, "--set", options.limits, "only these: stages=3,4", "KNOB=N");
  add_option(verb, "--db", options.database, "file of trials, appended to");
  add_option(verb, "--plan", options.plan, "to be measured elsewhere", "DIR");
  add_option(verb, "--absorb", options.absorb, "what that measured", "DIR");
  begin_group(verb, "Output");
  add_option(verb, "-o,--out", options.best, "the fastest schedule, for weft run --schedule");
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  const auto [verb, options] = new_verb<TuneVerb>(
      app, action, "tune", "find the fastest kernel of any format, and how it stands against dense",
      "Example: weft tune --weights W.npy --n 196 --dtype f32 --target sm_90 --measure model --trials 20",
      run);
  add_problem_flags(verb, options.problem);
  verb.get_option("--weights")->required(false);  // --absorb needs none
  add_search_flags(verb, options);
  add_measure_flags(verb, options);
}

void add_measure(CLI::App& app, Action& action) {
  const auto [verb, options] = new_verb<TuneVerb>(
      app, action, "measure", "measure what weft tune --plan wrote, on this machine's GPU",
      "Results are appended to results.jsonl in the folder; what was stopped goes on where it was.\n"
      "Example: weft tune --weights W.npy --n 196 --dtype f32 --target sm_90a --trials 40 --plan p\n"
      "there: weft measure p; or, without weft: cd p && cc -O2 runner.c -ldl -lm -o runner && ./runner\n"
      "back: weft tune --absorb p --db weftdb.jsonl",
      measure_plan);
  add_option(verb, "folder", options.plan, "of weft tune --plan")->required();
  add_measure_flags(verb, options);
}

}  // namespace weft::tool
