// weft model tune: the kernels of a network, and a verdict for each of its layers and for all of them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/processors.h>
#include <weft/search/network/network_plan.h>
#include <weft/search/network/network_tuning.h>
#include <weft/search/report/network_part.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/given_files.h>
#include <weft/search/tool/model.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/progress.h>
#include <weft/search/tool/searching.h>
#include <weft/search/tool/table.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

namespace weft::tool {
namespace {

/// A line for each class as its search begins, and the search's own below it.
class ModelProgress {
 public:
  explicit ModelProgress(ProgressStyle style) : style_(style) {}

  void operator()(std::size_t number, std::size_t all, const Network& network, const ClassTimes& one,
                  const TuneStatus& status) {
    const NetworkLayer& layer = network.layers()[one.layers.representative()];
    const std::string what = fmt::format("[{}/{}] {}, n {}", number, all, layer.name, one.n);
    if (what != what_ || line_ == nullptr) {
      end();
      what_ = what;
      line_ = std::make_unique<ProgressLine>(what, style_);
    }
    line_->show(status);
  }
  void end() {
    if (line_ != nullptr) line_->end();
    line_.reset();
  }

 private:
  ProgressStyle style_;
  std::string what_;
  std::unique_ptr<ProgressLine> line_;
};

/// Sentences that stand below a table, each once.
class Notes {
 public:
  /// " [1]", to be put behind what it explains.
  std::string mark(const std::string& sentence) {
    if (sentence.empty()) return {};
    const auto found = std::ranges::find(sentences_, sentence);
    const auto number = found - sentences_.begin() + 1;
    if (found == sentences_.end()) sentences_.push_back(sentence);
    return fmt::format(" [{}]", number);
  }
  void print() const {
    for (std::size_t i = 0; i < sentences_.size(); ++i) fmt::print("[{}] {}\n", i + 1, sentences_[i]);
    if (!sentences_.empty()) fmt::print("\n");
  }

 private:
  std::vector<std::string> sentences_;
};

/// On a processor also which libraries there may be.
std::string why_no_verdict(const ClassTimes& one) {
  const std::string& why = one.verdict->standing->why_none;
  const auto dtype = dtype_named(one.best->problem.words.at("dtype"));
  const bool is_of_a_byte = dtype && is_factor_of_a_byte(*dtype);
  if (one.best->measure != "cpu" || one.verdict->dense->whose != BaselineOf::weft || is_of_a_byte) return why;
  return why +
         ": products are compared with oneDNN, MKL, OpenBLAS or BLIS, convolutions with oneDNN, where the "
         "loader finds them";
}

std::string verdict_of_class(const ClassTimes& one, Notes& notes) {
  if (!one.verdict) return "no kernel" + notes.mark(one.failure);
  if (!one.verdict->standing) return "no verdict" + notes.mark("nothing dense to compare with");
  const Standing& standing = *one.verdict->standing;
  switch (standing.winner) {
    case Faster::kernel: return fmt::format("{:.2f} times faster{}", standing.ratio, notes.mark(one.failure));
    case Faster::dense: return "stay dense" + notes.mark(one.failure);
    default: return "no verdict" + notes.mark(why_no_verdict(one));
  }
}

/// "cpu_code in csr": the point is in the database.
std::string kernel_of_class(const ClassTimes& one) {
  if (!one.verdict) return "-";
  const std::string& fastest = one.verdict->fastest;
  return fastest.substr(0, fastest.find(':')) + " in " + one.verdict->format;
}

std::map<std::int64_t, report::NetworkSum> sums_of(const Network& network, const NetworkTimes& times) {
  std::vector<report::LayerTimes> layers;
  for (const ClassTimes& one : times.classes) {
    const NetworkLayer& layer = network.layers()[one.layers.representative()];
    report::LayerTimes& all = layers.emplace_back(layer.name, layer.convolution ? 0 : one.n);
    all.layers = one.layers.layers.size();
    all.dense = one.dense_time();
    if (!one.stays_dense()) all.sparse = one.chosen_time();
    if (one.verdict && one.verdict->standing) all.winner = one.verdict->standing->winner;
  }
  return report::sums_of(layers);
}

void print(const Network& network, const NetworkTimes& times) {
  Notes notes;
  Table table({"layers", "first", "what", "n", "dense", "dense by", "weft", "verdict", "kernel"});
  for (const ClassTimes& one : times.classes) {
    const NetworkLayer& layer = network.layers()[one.layers.representative()];
    const bool has_dense = one.verdict && one.verdict->dense;
    table.row({std::to_string(one.layers.layers.size()), layer.name, text_of_class(layer),
               std::to_string(one.n),
               has_dense ? text_of_microseconds(one.verdict->dense->microseconds) : "-",
               has_dense ? one.verdict->dense->name : "-",
               one.verdict ? text_of_microseconds(one.verdict->microseconds) : "-",
               verdict_of_class(one, notes), kernel_of_class(one)});
  }
  fmt::print("{}\n", table.text());
  notes.print();
  fmt::print("{}", report::text_of(sums_of(network, times)));
}

nlohmann::ordered_json json_of(const Network& network, const NetworkTimes& times) {
  nlohmann::ordered_json document{{"path", network.path()}, {"interrupted", times.interrupted}};
  document["classes"] = nlohmann::ordered_json::array();
  for (const ClassTimes& one : times.classes) {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const std::size_t layer : one.layers.layers) names.push_back(network.layers()[layer].name);
    nlohmann::ordered_json json{
        {"layers", names}, {"calls", one.layers.calls}, {"n", one.n}, {"trials", one.trials}};
    if (one.verdict) {
      json["us"] = one.verdict->microseconds;
      json["kernel"] = one.verdict->fastest;
      json["format"] = one.verdict->format;
      if (one.verdict->dense)
        json["dense"] = {{"name", one.verdict->dense->name},
                         {"of", name_of(one.verdict->dense->whose)},
                         {"us", one.verdict->dense->microseconds}};
      json["winner"] = name_of(one.verdict->standing ? one.verdict->standing->winner : Faster::none);
      for (const auto& own : one.own)
        json["layer_us"].push_back(own ? nlohmann::ordered_json(*own) : nullptr);
    } else {
      json["failure"] = one.failure;
    }
    document["classes"].push_back(std::move(json));
  }
  for (const auto& [n, sum] : sums_of(network, times))
    document["sums"].push_back({{"n", n},
                                {"dense_us", sum.dense},
                                {"chosen_us", sum.chosen},
                                {"faster", sum.sparse_layers},
                                {"stay_dense", sum.dense_layers},
                                {"undecided", sum.undecided},
                                {"unknown", sum.unknown}});
  return document;
}

/// What to measure on other machines, into a folder.
int write_plan_of(const TuneModel& options) {
  if (options.target.empty() && measure_named(options.measure) != Measure::cpu)
    throw UserError("a plan needs its target", "--target", "nothing",
                    "that of the GPU that will measure; or --measure cpu");
  const Target& target = options.target.empty() ? target_named("cpu") : named_target(options.target);
  Network network = inspected_network(options.path);
  NetworkTuneOptions with = options.with;
  with.columns = options.columns;
  with.formats = asked_formats(options.format);
  with.tune.measure.measure = target.is_gpu() ? Measure::gpu : Measure::cpu;
  const std::vector<std::string> shards = write_network_plan(network, target, options.plan, with);
  if (options.json) {
    fmt::print(
        "{}\n",
        nlohmann::ordered_json{{"plan", options.plan}, {"target", target.name}, {"shards", shards}}.dump(2));
    return exit_ok;
  }
  fmt::print(
      "{} shards are in {}; on any machine, in any order: weft measure {}/{}{}\n"
      "When they are back: weft model tune {} --absorb {}\n",
      shards.size(), options.plan, options.plan, shards.front(), target.is_gpu() ? "" : " --measure cpu",
      options.path, options.plan);
  return exit_ok;
}

/// What measured shards brought, into the database.
int absorb(const TuneModel& options) {
  require_place_for("--db", options.database);
  RecordFile file = of_option("--db", [&] { return RecordFile(options.database, RecordFile::Mode::append); });
  const AbsorbedPlan plan = of_option("--absorb", [&] { return absorb_network_plan(options.absorb, file); });
  for (const std::string& warning : plan.warnings) fmt::print(stderr, "warning: {}\n", warning);
  for (const std::string& name : plan.without) fmt::print(stderr, "no results yet: {}\n", name);
  if (options.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"plan", options.absorb},
                                              {"shards", plan.shards},
                                              {"without_results", plan.without},
                                              {"trials", plan.trials},
                                              {"added", plan.added},
                                              {"db", options.database}}
                           .dump(2));
    return exit_ok;
  }
  fmt::print("{} of {} trials of {} shards added to {}\n", plan.added, plan.trials,
             plan.shards - plan.without.size(), options.database);
  return exit_ok;
}

int run(const TuneModel& options) {
  if (!options.plan.empty() && !options.absorb.empty())
    throw UserError("a plan is written and absorbed at once", "--absorb " + options.absorb,
                    "--plan " + options.plan,
                    "one of them: --plan first, --absorb when its shards are measured");
  if (!options.plan.empty()) return write_plan_of(options);
  if (!options.absorb.empty()) return absorb(options);
  return tune_model(options);
}

}  // namespace

int tune_model(const TuneModel& given) {
  TuneModel options = given;
  MeasureOptions& measure = options.with.tune.measure;
  measure.measure = measure_named(options.measure);
  options.with.columns = options.columns;
  options.with.formats = asked_formats(options.format);
  options.with.seconds = seconds_of("--budget", options.budget);
  const auto cores = static_cast<int>(processors());
  options.with.tune.jobs = measure.measure == Measure::model ? 1 : cores;
  const ProgressStyle style = progress_style_named(options.progress);
  require_place_for("--db", options.database);
  Network network = inspected_network(options.path);
  return or_without_gpu("--measure cpu, or --measure model with --target sm_90a", [&] {
    const Target& target = searched_target(options.target, measure);
    RecordFile file =
        of_option("--db", [&] { return RecordFile(options.database, RecordFile::Mode::append); });
    for (const std::string& warning : file.warnings()) fmt::print(stderr, "warning: {}\n", warning);
    const Interrupt interrupt;
    ModelProgress progress(style);
    const NetworkTuneHooks hooks{
        .progress = [&](std::size_t number, std::size_t all, const ClassTimes& one,
                        const TuneStatus& status) { progress(number, all, network, one, status); },
        .stop = Interrupt::was_asked};
    const NetworkTimes times = tune_network(network, target, file, options.with, hooks);
    progress.end();
    if (options.json) {
      fmt::print(
          "{}\n",
          json_of(network, times).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    } else {
      print(network, times);
      print_left_out(network);
    }
    if (times.interrupted) {
      fmt::print(stderr, "stopped; nothing is lost: the same command goes on where this one was\n");
      return static_cast<int>(exit_interrupted);
    }
    const auto sums = sums_of(network, times);
    const bool gains =
        std::ranges::any_of(sums, [](const auto& one) { return one.second.sparse_layers > 0; });
    const bool loses = std::ranges::any_of(sums, [](const auto& one) { return one.second.dense_layers > 0; });
    return static_cast<int>(loses && !gains ? exit_no_gain : exit_ok);
  });
}

void add_model_tune(CLI::App& verb, Action& action) {
  const auto [part, options] = new_verb<TuneModel>(
      verb, action, "tune", "its kernels within a time, and a verdict for each layer and for all",
      "Layers that are alike are searched for once and checked each; the time goes where the network's is.\n"
      "Every trial is in the database: what was interrupted goes on. The exit code is 6 where dense is\n"
      "faster everywhere.\n"
      "Example: weft model tune llama-pruned --n 1,8,512 --budget 5m",
      run);
  add_option(part, "path", options.path, "a folder, a file, or a network.json")->required();
  begin_group(part, "Problem");
  only_from(
      add_list(part, "--n", options.columns, "columns of linear layers, rows of their inputs: 1,8,512", "N"),
      1, 1'000'000'000);
  add_option(part, "--format", options.format, "tried as well where it fits: see weft formats");
  begin_group(part, "Device");
  add_option(part, "--measure", options.measure, "gpu, cpu, sim or model");
  add_option(part, "--target", options.target, "see weft targets", "TARGET");
  begin_group(part, "Schedule");
  only(add_option(part, "--budget,--time", options.budget, "for all searches together", "TIME"),
       "90, 90s, 10m or 1h30m", [](const std::string& word) { return !word.empty(); });
  only_from(add_option(part, "--trials", options.with.most_trials, "of a class, at most"), 1, 1'000'000);
  add_option(part, "--db", options.database, "file of trials, appended to");
  add_option(part, "--plan", options.plan, "shards to be measured elsewhere", "DIR");
  add_option(part, "--absorb", options.absorb, "what those measured", "DIR");
  begin_group(part, "Output");
  add_option(part, "--progress", options.progress, "auto, plain or none");
  add_json_flag(part, options.json);
}

}  // namespace weft::tool
