// weft plot: speed-ups of measured trials as one picture.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/backends/runtime/process.h>
#include <weft/search/report/trial_charts.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/given_files.h>
#include <weft/search/tool/options.h>
#include <weft/search/trials/record_query.h>

#include <set>

namespace weft::tool {
namespace {

struct PlotVerb {
  std::vector<std::string> databases;
  std::string chart = "recipes";
  std::string over;
  std::int64_t m = 0, k = 0, n = 0;
  std::string output = "speed_ups.svg";
};

/// Names of the products that were timed beside right trials.
std::set<std::string> timed_beside(const std::vector<StoredRecord>& records) {
  std::set<std::string> names;
  for (const StoredRecord& stored : records) {
    for (const Baseline& other : stored.record.baselines) names.insert(other.name);
  }
  return names;
}

report::Chart chart_of(const PlotVerb& options, const std::vector<StoredRecord>& records) {
  if (!options.over.empty() && options.chart == "rates")
    throw UserError("rates are those of all that was timed", "--over", options.over,
                    "no --over, or --chart recipes or problems");
  const std::set<std::string> names = timed_beside(records);
  if (!options.over.empty() && !names.contains(options.over))
    throw UserError(
        "nothing of that name was timed", "--over", options.over,
        names.empty() ? "files with products beside trials" : fmt::format("{}", fmt::join(names, ", ")));
  const std::vector<report::ProblemTrials> problems = report::problems_of(records);
  if (options.chart == "rates") return report::rates_by_problem(problems);
  if (options.chart == "problems") return report::speed_up_by_problem(problems, options.over);
  return report::speed_up_by_recipe(problems, options.over);
}

int run(const PlotVerb& options) {
  require_ending("--out", options.output, "a picture is written as SVG", {".svg"});
  require_place_for("--out", options.output);
  require_apart_from("--out", options.output, files_read("databases", options.databases));
  RecordFilter filter;
  for (const auto& [name, size] : {std::pair{"M", options.m}, {"K", options.k}, {"N", options.n}})
    if (size > 0) filter.sizes[name] = size;
  const std::vector<StoredRecord> records = selected(records_of_files(options.databases), filter);
  const report::Chart chart = chart_of(options, records);
  if (chart.series.empty())
    throw UserError("there is nothing to plot", fmt::format("{}", fmt::join(options.databases, ", ")),
                    fmt::format("{} trials, none that was right beside a dense product", records.size()),
                    "trials of weft tune without --no-dense");
  write_bytes(options.output, report::svg_file_of(chart) + "\n");
  fmt::print(stderr, "wrote {}: {} lines of {} trials\n", options.output, chart.series.size(),
             records.size());
  return exit_ok;
}

}  // namespace

void add_plot(CLI::App& app, Action& action) {
  const auto [verb, options] = new_verb<PlotVerb>(
      app, action, "plot", "speed-ups of measured trials as a picture",
      "Examples: weft plot docs/data/h200_speed_ups.jsonl -o speed_ups.svg\n"
      "          weft plot trials.jsonl --chart problems --over 'cuSPARSE csr' -o over.svg",
      run);
  add_option(verb, "databases", options.databases, "files of trials, as weft tune writes them")->required();
  begin_group(verb, "Trials");
  constexpr std::int64_t most = std::int64_t{1} << 62;
  only_from(add_option(verb, "--M", options.m, "only of so many rows"), 1, most);
  only_from(add_option(verb, "--K", options.k, "only of so many columns of the weights"), 1, most);
  only_from(add_option(verb, "--N", options.n, "only of so many columns of the dense operand"), 1, most);
  begin_group(verb, "Picture");
  only(add_option(
           verb, "--chart", options.chart,
           "recipes: speed-up by sparsity and recipe; problems: of each problem; rates: operations a second"),
       {"recipes", "problems", "rates"});
  add_option(verb, "--over", options.over,
             "speed-up over this product that was timed beside, else over dense");
  begin_group(verb, "Output");
  add_option(verb, "-o,--out", options.output, "an SVG file, light and dark");
}

}  // namespace weft::tool
