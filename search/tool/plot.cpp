// weft plot: speed-ups of measured trials as one picture.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/backends/runtime/process.h>
#include <weft/search/report/trial_charts.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/given_files.h>
#include <weft/search/tool/options.h>

namespace weft::tool {
namespace {

struct PlotVerb {
  std::vector<std::string> databases;
  std::string output = "speed_ups.svg";
};

int run(const PlotVerb& options) {
  require_ending("--out", options.output, "a picture is written as SVG", {".svg"});
  require_place_for("--out", options.output);
  require_apart_from("--out", options.output, files_read("databases", options.databases));
  const std::vector<StoredRecord> records = records_of_files(options.databases);
  const report::Chart chart = report::speed_up_by_recipe(report::problems_of(records));
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
  const auto [verb, options] =
      new_verb<PlotVerb>(app, action, "plot", "speed-ups over dense by sparsity and recipe, as a picture",
                         "Example: weft plot docs/data/h200_speed_ups.jsonl -o speed_ups.svg", run);
  add_option(verb, "databases", options.databases, "files of trials, as weft tune writes them")->required();
  begin_group(verb, "Output");
  add_option(verb, "-o,--out", options.output, "an SVG file, light and dark");
}

}  // namespace weft::tool
