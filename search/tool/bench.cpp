// weft bench: a suite of problems, weft beside the vendor's libraries.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/program/overlapped.h>
#include <weft/search/measure/package_contestant.h>
#include <weft/search/measure/plug_in_contestant.h>
#include <weft/search/measure/report.h>
#include <weft/search/report/simulated_blocks.h>
#include <weft/search/tool/bench_mixed.h>
#include <weft/search/tool/bench_simulated.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/given_files.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/table.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace weft::tool {
namespace {

struct BenchVerb {
  std::string suite;
  std::string data;
  std::string device;
  std::string json;
  std::string plot;
  SuiteSelection selection;
  BenchOptions bench;
  bool cold = false;
  bool sweep = false;
  bool overlap_launches = false;
  std::vector<std::string> recipes;
  std::string points;
  std::vector<std::string> packages;
  std::vector<std::string> plug_ins;
  std::vector<std::string> databases;
};

/// Lines appended as they are measured, so that a run that is stopped loses nothing.
class JsonLog {
 public:
  explicit JsonLog(const std::string& path) : path_(path) {
    if (path.empty()) return;
    file_.open(path, std::ios::app);
    if (!file_) refuse_path("write", path, std::error_code(errno, std::generic_category()));
  }
  void add(const std::string& line) {
    if (path_.empty()) return;
    file_ << line + "\n" << std::flush;
    if (!file_) refuse_path("write", path_, std::error_code(errno, std::generic_category()));
  }

 private:
  std::string path_;
  std::ofstream file_;
};

std::string cell_of_groups(const MeanLine& line) {
  if (!line.pattern.empty()) return line.pattern;
  return line.group_rows > 0 ? std::to_string(line.group_rows) : "-";
}

void print_summary(const Suite& suite, const std::vector<CaseResult>& results,
                   const std::vector<Contestant>& contestants) {
  Table table(table_heading(suite, contestants));
  for (const CaseResult& result : results) table.row(table_row(result));
  fmt::print("{}\n", table.text());
  Table means({"zero", "batch", suite.is_patterned() ? "pattern" : "V", "weft over", "problems",
               "geometric mean", "least", "at"});
  const std::vector<MeanLine> lines = means_of(results);
  for (const MeanLine& line : lines)
    means.row({fmt::format("{:.0f} %", 100 * line.sparsity), std::to_string(line.batch), cell_of_groups(line),
               line.over, std::to_string(line.cases), fmt::format("{:.2f}", line.mean),
               fmt::format("{:.2f}", line.worst), line.worst_id});
  if (!lines.empty()) fmt::print("{}\n", means.text());
  int tf32_faster = 0;
  for (const CaseResult& result : results) {
    const Entry* first = fastest_of(result);
    tf32_faster += first != nullptr && first->arithmetic == DenseType::tf32 ? 1 : 0;
  }
  if (tf32_faster > 0)
    fmt::print("TF32 dense is the fastest in {} of {} cases.\n", tf32_faster, results.size());
  for (const std::string& line : own_weights_of(results)) fmt::print("weights of its own: {}\n", line);
  for (const std::string& reason : reasons_of(results)) fmt::print("no time: {}\n", reason);
}

/// The recipes of these names, or all; each once more with launches that overlap.
std::vector<MeasuredRecipe> chosen_recipes(const Suite& suite, const std::vector<std::string>& names,
                                           bool overlapped_too) {
  std::vector<MeasuredRecipe> chosen;
  std::vector<std::string> known;
  for (const MeasuredRecipe& recipe : measured_recipes()) {
    if (!recipe.is_for(suite)) continue;
    known.push_back(recipe.name);
    if (names.empty() || std::ranges::find(names, recipe.name) != names.end()) {
      chosen.push_back(recipe);
      if (overlapped_too) chosen.emplace_back(recipe).overlaps = true;
    }
  }
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end())
      throw UserError("no such recipe for this suite", "--recipe, suite " + suite.name, name,
                      fmt::format("{}", fmt::join(known, ", ")));
  }
  return chosen;
}

int exit_code_of(const std::vector<CaseResult>& results) {
  int code = exit_ok;
  for (const CaseResult& result : results) {
    for (const Entry& entry : result.entries) {
      const bool is_brought = entry.kind == ContestantKind::weft || entry.kind == ContestantKind::plug_in;
      if (is_brought && entry.wrong) return exit_mismatch;
    }
    // A recipe may not fit a problem; that none ran means that something failed.
    if (best_of_weft(result) == nullptr) code = exit_failed;
  }
  return code;
}

/// Of a suite for the simulator, which has no contestants and no times.
int run_simulated(const Suite& suite, const std::vector<SuiteCase>& cases, const BenchVerb& options) {
  const auto refuse = [&](bool given, const char* what) {
    if (given)
      throw UserError("the suite is simulated, and nothing follows the option", "suite " + suite.name, what,
                      std::string("no ") + what + ": the simulated sparse tensor core has one way");
  };
  if (!options.device.empty() && options.device != device_of_simulated_suites)
    throw UserError("the suite is for another device", "--device, suite " + suite.name, options.device,
                    std::string(device_of_simulated_suites) + ", which needs no --device");
  refuse(options.cold, "--cold");
  refuse(!options.points.empty(), "--points");
  refuse(!options.recipes.empty(), "--recipe");
  refuse(options.overlap_launches, "--overlap-launches");
  refuse(!options.packages.empty(), "--package");
  refuse(!options.plug_ins.empty(), "--contestant");
  JsonLog log(options.json);
  return bench_simulated(suite, cases,
                         {.data = options.data,
                          .plot = options.plot,
                          .orders = options.bench.rounds,
                          .log = [&log](const std::string& line) { log.add(line); }});
}

/// Of a suite whose problems have types and patterns of their own.
int run_mixed(const std::vector<Suite>& suites, const BenchVerb& options) {
  const SuiteSelection& selection = options.selection;
  const auto refuse = [&](bool given, const char* what) {
    if (given)
      throw UserError("each problem of the suite says it itself", "suite " + suites.front().name, what,
                      std::string("no ") + what + ": its table is of what is chosen");
  };
  refuse(!selection.sparsity.empty(), "--sparsity");
  refuse(!selection.batch.empty(), "--batch");
  refuse(!selection.group_rows.empty(), "--V");
  refuse(!selection.patterns.empty(), "--pattern");
  refuse(!options.points.empty(), "--points");
  refuse(!options.recipes.empty(), "--recipe");
  refuse(options.overlap_launches, "--overlap-launches");
  refuse(!options.packages.empty(), "--package");
  refuse(!options.plug_ins.empty(), "--contestant");
  refuse(!options.data.empty(), "--data");
  refuse(!options.plot.empty(), "--plot");
  JsonLog log(options.json);
  MixedBench mixed{.problems = selection.problems,
                   .bench = options.bench,
                   .tries = options.sweep ? 5U : 1U,
                   .records = of_option("--db", [&] { return records_of_files(options.databases); }),
                   .log = [&log](const std::string& line) { log.add(line); }};
  if (options.cold) mixed.bench.copies = 8;
  return bench_mixed(suites, named_device(options.device.empty() ? "cuda" : options.device), mixed);
}

int run(const BenchVerb& given) {
  BenchVerb options = given;
  require_ending("--plot", options.plot, "a picture is written as SVG", {".svg"});
  require_place_for("--plot", options.plot);
  require_place_for("--json", options.json);
  std::vector<ReadFile> read = files_read("--db", options.databases);
  read.push_back({"--suite", options.suite});
  require_apart_from("--plot", options.plot, read);
  require_apart_from("--json", options.json, read);
  const std::vector<Suite> suites = of_option("--suite", [&] { return read_suites(options.suite); });
  if (suites.size() > 1) return run_mixed(suites, options);
  const Suite& suite = suites.front();
  if (!options.databases.empty())
    throw UserError("trials say nothing of the suite", "--db, suite " + suite.name, options.databases.front(),
                    "a suite with a \"pattern\" for each problem, whose table has the best found");
  const std::vector<SuiteCase> cases = cases_of(suite, options.selection);
  if (suite.simulated) return run_simulated(suite, cases, options);
  if (!options.plot.empty())
    throw UserError("there is no plot of such a suite", "--plot, suite " + suite.name, options.plot,
                    "a suite with \"density\", for the simulated sparse tensor core");
  const Device device = named_device(options.device.empty() ? "cuda" : options.device);
  const Target& target = target_of(device);
  if (options.overlap_launches && !target.has(Capability::dependent_launches))
    throw UserError("launches do not overlap there", "--overlap-launches", target.name, "sm_90 and newer");
  if (cases.front().is_structured() && !options.data.empty())
    throw UserError("read weights do not fit the suite", "--data, suite " + suite.name, options.data,
                    "a suite without \"V\" and \"patterns\": weights of a structure are made, not read");
  const RealWeights real =
      options.data.empty() ? RealWeights() : of_option("--data", [&] { return RealWeights(options.data); });
  const std::vector<PlugIn> brought = plug_ins(options.plug_ins, device, suite.dtype);
  JsonLog log(options.json);
  if (options.cold) options.bench.copies = 8;
  const Libraries libraries(device);
  BenchPlace place{suite.name,  device.name(),        device.description().model,
                   target.name, libraries.versions(), options.bench.rounds};
  for (const PlugIn& plug_in : brought) place.libraries.push_back(plug_in.version);
  for (const std::string& version : place.libraries) fmt::print(stderr, "{}\n", version);
  std::vector<Contestant> contestants = contestants_of(
      suite, device, target, libraries, chosen_recipes(suite, options.recipes, options.overlap_launches),
      options.sweep ? std::optional(Sweep{options.points}) : std::nullopt);
  for (const std::string& folder : options.packages) contestants.push_back(package_contestant(folder));
  for (const PlugIn& plug_in : brought) contestants.push_back(plug_in.contestant);
  std::size_t number = 0;
  BenchProgress progress;
  progress.started = [&](std::size_t kernels) {
    fmt::print(stderr, "compiling up to {} kernels\n", kernels);
  };
  progress.finished = [&](const CaseResult& result) {
    log.add(json_line(result, place));
    const Entry* ours = best_of_weft(result);
    const SuiteProblem& problem = result.chosen.problem;
    fmt::print(stderr, "[{}/{}] {} {}x{}x{} {:.1f} % ({}): {}{}\n", ++number, cases.size(), problem.id,
               problem.m, problem.k, problem.n, 100 * result.sparsity, result.source,
               ours != nullptr ? text_of_microseconds(ours->timing.median) + ", " : "", verdict_of(result));
  };
  const std::vector<CaseResult> results =
      measure(suite, cases, real, device, contestants, options.bench, progress);
  print_summary(suite, results, contestants);
  return exit_code_of(results);
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  const auto [verb, options] = new_verb<BenchVerb>(
      app, action, "bench",
      "measure a suite beside the vendor's libraries: results are verified, then timed in turns",
      "Example: weft bench --suite suite.json --sparsity 0.9 --batch 1 --json bench.jsonl", run);
  SuiteSelection& selection = options.selection;
  begin_group(verb, "Problem");
  add_option(verb, "--suite", options.suite, "a JSON file with problems, their sparsities and element type")
      ->required();
  add_option(verb, "--data", options.data,
             "folder of .smtx and .npy weights; generated ones where it has none of a shape");
  begin_group(verb, "Device");
  add_option(verb, "--device", options.device, "cuda, which is what it is unasked, cuda:1 or cpu");
  begin_group(verb, "Problem");
  add_list(verb, "--only", selection.problems,
           "ids, labels or sizes (5120x5120x4096) of problems, with commas between them");
  add_list(verb, "--sparsity", selection.sparsity, "in place of the suite's");
  add_list(verb, "--batch", selection.batch, "in place of n_scale or batch");
  add_list(verb, "--V", selection.group_rows, "in place of the suite's V: rows that share their columns");
  add_list(verb, "--pattern", selection.patterns,
           "in place of the suite's patterns: 2:4 and V:2:M, as 64:2:16");
  begin_group(verb, "Device");
  only_from(add_option(verb, "--rounds", options.bench.rounds,
                       "samples of every contestant; simulated, orders of the warps"),
            1, 10000);
  verb.add_flag("--cold", options.cold, "eight kernels with other weights take turns, so that code is cold");
  begin_group(verb, "Schedule");
  verb.add_flag("--sweep", options.sweep,
                "time the fastest of all points worth trying; in a suite of any kind, of five");
  add_list(verb, "--recipe", options.recipes, "see weft recipes; in place of all that fit the suite");
  verb.add_flag("--overlap-launches", options.overlap_launches,
                "each recipe once more, with launches that begin before the last one ends");
  add_list(verb, "--package", options.packages,
           "a folder of weft export, as one more contestant; built by cc, or $CC");
  add_list(verb, "--contestant", options.plug_ins,
           "a folder with a library around your own kernel: docs/contestants.md");
  add_option(verb, "--points", options.points, "of --sweep: names with this")->needs("--sweep");
  add_list(verb, "--db", options.databases, "trials, for the best found");
  begin_group(verb, "Output");
  add_option(verb, "--plot", options.plot, "of a simulated suite: an SVG file, the problems with K = 16");
  add_option(verb, "--json", options.json, "append one JSON line a case to this file");
}

}  // namespace weft::tool
