// weft report: what was measured, as one page for a browser.
#include <fmt/format.h>
#include <weft/backends/kernel.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>
#include <weft/search/report/page.h>
#include <weft/search/report/trials.h>
#include <weft/search/spaces/space.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/given_files.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/report.h>
#include <weft/search/tool/tuning.h>
#include <weft/search/trials/verdict.h>

namespace weft::tool {
namespace {

struct ReportVerb {
  std::vector<std::string> databases;
  std::string output = "report.html";
  bool no_kernel = false;
};

TuneResult result_of(const report::ProblemTrials& problem) {
  TuneResult result;
  result.best = problem.best->record;
  for (const StoredRecord* stored : problem.trials) {
    if (result.baselines.empty()) result.baselines = stored->record.baselines;
  }
  return result;
}

/// Its CUDA C++; PTX where it is too long for that.
void add_source(report::ChosenKernel& shown, const Kernel& kernel) {
  try {
    shown.source = kernel.cuda_source();
  } catch (const UserError&) {
    shown.source = kernel.ptx();
    shown.language = "PTX";
  }
}

/// Makes the kernel of the fastest record again, where its weights are still there.
void add_kernel(report::PageInput& page, const report::ProblemTrials& problem) {
  const Record& best = problem.best->record;
  if (best.source.empty()) {
    page.kernel.note = "The records do not say where the weights are, so only the configuration is shown.";
    return;
  }
  try {
    const TrialProblem made = make_trial_problem(options_of_source(best.source));
    const Target& target = target_named(best.target.name);
    const Space space = space_of(best.recipe, made.what, target);
    TuneResult result = result_of(problem);
    result.fastest = space.text(best.config);
    page.verdict = problem.name + "\n" + text_of(verdict_of(result, made, target, page.records), best);
    const Schedule schedule = space.schedule(best.config);
    page.kernel.schedule = schedule.cpp();
    const Kernel kernel = compile(schedule, {.assemble = false});
    page.kernel.program = kernel.program_text();
    if (target.is_gpu()) add_source(page.kernel, kernel);
  } catch (const std::exception& error) {
    page.kernel.note += fmt::format("The kernel could not be made again in full: {}", error.what());
  }
}

int run(const ReportVerb& options) {
  require_place_for("--out", options.output);
  require_apart_from("--out", options.output, files_read("--db", options.databases));
  require_ending("--out", options.output, "a page is written as HTML", {".html", ".htm"});
  const std::string text = page_of_databases(options.databases, !options.no_kernel);
  write_bytes(options.output, text);
  fmt::print(stderr, "wrote {}, {} KB\n", options.output, text.size() / 1024);
  return exit_ok;
}

}  // namespace

std::string page_of_databases(const std::vector<std::string>& paths, bool with_kernel) {
  report::PageInput page;
  page.files = paths;
  page.records = of_option("--db", [&] { return records_of_files(paths); });
  const std::vector<report::ProblemTrials> problems = report::problems_of(page.records);
  const report::ProblemTrials* chosen = report::most_tried(problems);
  if (with_kernel && chosen != nullptr && chosen->best != nullptr) add_kernel(page, *chosen);
  return report::page_of(page);
}

void add_report(CLI::App& app, Action& action) {
  const auto [verb, options] = new_verb<ReportVerb>(
      app, action, "report", "one HTML page about measured trials",
      "What a network gains, layer by layer; the best of every problem; speed-up over sparsity, roofline,\n"
      "predicted against measured; verdict, trials, the fastest schedule beside its program and source;\n"
      "commands for what comes next. It opens from disk, loads nothing.\n"
      "Example: weft report --db trials.jsonl -o report.html",
      run);
  begin_group(verb, "Problem");
  add_option(verb, "--db", options.databases, "files of trials, as weft tune writes them")->required();
  begin_group(verb, "Output");
  add_option(verb, "-o,--out", options.output, "the page");
  verb.add_flag("--no-kernel", options.no_kernel, "do not make the fastest kernel again to show its texts");
}

}  // namespace weft::tool
