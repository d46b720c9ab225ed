// weft model demo: a network from its folder to a verdict, a report and a package.
#include <fmt/format.h>
#include <weft/backends/runtime/process.h>
#include <weft/search/network/made_network.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/model.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/report.h>
#include <weft/search/tool/searching.h>

#include <filesystem>

namespace weft::tool {
namespace {

namespace fs = std::filesystem;

struct DemoModel {
  std::string path;
  std::vector<std::int64_t> columns;
  std::string budget = "40s";
  std::string out = "weft_out";
};

int run(const DemoModel& options) {
  std::error_code error;
  fs::create_directories(options.out, error);
  if (error) refuse_path("make the folder", options.out, error);
  TuneModel tune;
  tune.path = options.path;
  if (tune.path.empty()) {
    tune.path = (fs::path(options.out) / "network").string();
    write_made_network(tune.path);
    fmt::print(
        "No network given: {} is a pruned bottleneck and a pruned transformer block that weft makes.\n",
        tune.path);
  }
  const std::optional<std::string> gpu = target_of_any_gpu();
  fmt::print(
      "Kernels for its layers are searched for on the {}, --budget {}; a report and a package follow.\n\n",
      gpu ? "GPU" : "CPU", options.budget);
  std::fflush(stdout);
  tune.columns = options.columns;
  tune.budget = options.budget;
  tune.measure = gpu ? "gpu" : "cpu";
  tune.database = (fs::path(options.out) / "trials.jsonl").string();
  const int code = tune_model(tune);
  if (code != exit_ok && code != exit_no_gain) return code;
  const std::string report = (fs::path(options.out) / "report.html").string();
  write_bytes(report, page_of_databases({tune.database}));
  fmt::print("\nreport: {}, for a browser\n", report);
  if (code == exit_no_gain) return code;
  ExportModel exported;
  exported.path = tune.path;
  exported.databases = {tune.database};
  exported.name = "network";
  exported.out = (fs::path(options.out) / "package").string();
  exported.with.columns = options.columns;
  // Code for a level takes seconds a layer: the one that this machine has will do for a first look.
  constexpr std::int64_t widest_vector = 64;
  const bool is_wide = target_named("cpu").vector_bytes == widest_vector;
  exported.with.targets = {is_wide ? "x86-64-v4" : "x86-64-v3"};
  if (gpu) exported.with.targets.push_back(*gpu);
  return export_model(exported);
}

}  // namespace

void add_model_demo(CLI::App& verb, Action& action) {
  const auto [part, options] = new_verb<DemoModel>(
      verb, action, "demo", "from a network to a verdict, a report and a package, within minutes",
      "Example: weft model demo llama-pruned --n 1,128 --out weft_out", run);
  add_option(part, "path", options.path,
             "a folder, a file, or a network.json; a made network where it is left out");
  begin_group(part, "Problem");
  only_from(add_list(part, "--n", options.columns, "columns of linear layers, rows of their inputs", "N"), 1,
            1'000'000'000);
  begin_group(part, "Schedule");
  only(add_option(part, "--budget,--time", options.budget, "for all searches together", "TIME"),
       "90, 90s, 10m or 1h30m", [](const std::string& word) { return !word.empty(); });
  begin_group(part, "Output");
  add_option(part, "-o,--out", options.out, "folder for trials, report and package");
}

}  // namespace weft::tool
