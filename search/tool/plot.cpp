// weft plot: speed-ups of measured trials as one picture.
#include <fmt/format.h>
#include <weft/backends/runtime/process.h>
#include <weft/search/report/trial_charts.h>
#include <weft/search/tool/verbs.h>

#include <CLI/CLI.hpp>
#include <memory>

namespace weft::tool {
namespace {

struct PlotVerb {
  std::vector<std::string> databases;
  std::string output = "speed_ups.svg";
};

int run(const PlotVerb& options) {
  std::vector<StoredRecord> records;
  for (const std::string& path : options.databases) {
    const RecordFile file(path, RecordFile::Mode::read);
    for (const std::string& warning : file.warnings()) fmt::print(stderr, "{}\n", warning);
    records.insert(records.end(), file.records().begin(), file.records().end());
  }
  const report::Chart chart = report::speed_up_by_recipe(report::problems_of(records));
  write_bytes(options.output, report::svg_file_of(chart) + "\n");
  fmt::print(stderr, "wrote {}: {} lines of {} trials\n", options.output, chart.series.size(),
             records.size());
  return exit_ok;
}

}  // namespace

void add_plot(CLI::App& app, Action& action) {
  auto options = std::make_shared<PlotVerb>();
  CLI::App* verb = app.add_subcommand("plot", "speed-ups over dense by sparsity and recipe, as a picture");
  verb->footer("Example: weft plot docs/data/h200_speed_ups.jsonl -o speed_ups.svg");
  verb->add_option("databases", options->databases, "files of trials, as weft tune writes them")->required();
  verb->add_option("-o,--out", options->output, "an SVG file, light and dark")->capture_default_str();
  verb->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace weft::tool
