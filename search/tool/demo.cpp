// weft demo: the main job from a weight file to a verdict.
#include <fmt/format.h>
#include <weft/backends/runtime/driver.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/safetensors.h>
#include <weft/formats/statistics/statistics.h>
#include <weft/formats/synthetic.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/measure.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/table.h>
#include <weft/search/tool/trying.h>

#include <filesystem>

namespace weft::tool {
namespace {

struct DemoVerb {
  std::string weights;
  std::string tensor;
  std::int64_t n = 784;
  std::int64_t tries = 5;
  std::string out = "weft_out";
};

/// A layer of weft's own where the user gave none, kept in the folder so that it can be looked at.
std::string weights_file(const DemoVerb& options) {
  if (!options.weights.empty()) return options.weights;
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) refuse_path("make the folder", options.out, error);
  const std::string file = (std::filesystem::path(options.out) / "layer.safetensors").string();
  const WeightMatrix layer = synthetic_layer({.rows = 512, .columns = 1152, .sparsity = 0.9});
  write_safetensors(file, {{"weight", to_dense(layer)}}, {{"origin", "weft, synthetic pruned layer"}});
  fmt::print("No weights given: {} is a generated layer with the row lengths of a pruned network.\n\n", file);
  return file;
}

Device best_device() {
  return driver::status().ready() ? Device::cuda() : Device::cpu();
}

struct Row {
  std::string name;
  double microseconds = 0;
  double operations = 0;
  Verification verification;
};

void add_row(Table& table, const Row& row, double dense_microseconds) {
  table.row({row.name, fmt::format("{:.2f}", row.microseconds),
             fmt::format("{:.1f}", giga_per_second(row.operations, row.microseconds)),
             fmt::format("{:.2f}", dense_microseconds / row.microseconds),
             fmt::format("{:.1e}", row.verification.difference.relative),
             row.verification.passed ? "right" : "WRONG"});
}

void write_kernels(const DemoVerb& options, const Problem& problem) {
  fmt::print("\nCompiling\n");
  for (const char* name : {"cpu", "sm_80", "sm_90"}) {
    const Target& target = target_named(name);
    const Kernel kernel = kernel_of(problem.algorithm, problem, {}, target);
    const std::string folder = (std::filesystem::path(options.out) / target.name).string();
    const auto files = kernel.write_to(folder);
    const std::string note = kernel.resources()
                                 ? fmt::format(", {} registers, {} bytes spilled",
                                               kernel.resources()->registers, kernel.resources()->spill_bytes)
                                 : std::string();
    fmt::print("  {}: {}{}\n", folder, fmt::join(files, " "), note);
  }
}

int run(const DemoVerb& options) {
  ProblemOptions problem_options;
  problem_options.weights = weights_file(options);
  problem_options.weights_word = "weights";
  problem_options.tensor = options.tensor;
  problem_options.n = options.n;
  const Device device = best_device();
  const Problem problem = make_problem(problem_options, {.targets = {&target_of(device)}});
  for (const std::string& note : problem.notes) fmt::print("note: {}\n", note);
  fmt::print("{}\n{}", problem.matrix.origin, report_text(statistics(problem.matrix)));
  fmt::print("\n{}\nformat: {}\n", problem.algorithm.text(), problem.weights->format().text());
  write_kernels(options, problem);
  fmt::print("\nRunning on {} ({})\n\n", device.name(), device.description().model);
  const Kernel kernel = fastest_kernel(problem, problem_options, device, target_of(device), {},
                                       static_cast<std::size_t>(options.tries));
  Row sparse{"weft, " + kernel.schedule().weights()->format().text(), 0, sparse_operations(problem),
             verify(kernel, device, problem.arguments)};
  sparse.microseconds = time_kernel(device, kernel.bind(device, problem.arguments)).median;
  const auto dense_time = time_dense(device, problem);
  Row dense{dense_time->name, dense_time->timing.median, dense_operations(problem), dense_time->verification};
  Table table({"kernel", "us", "GFLOP/s", "over dense", "error", "result"});
  add_row(table, dense, dense.microseconds);
  add_row(table, sparse, dense.microseconds);
  fmt::print("{}\n", table.text());
  const double ratio = dense.microseconds / sparse.microseconds;
  const bool library = dense_time->whose == BaselineOf::library;
  fmt::print("Verdict: at n = {} on this device, the sparse kernel is {:.2f} times {} than {}.\n",
             problem.columns, ratio >= 1 ? ratio : 1 / ratio, ratio >= 1 ? "faster" : "slower",
             library ? dense.name : "weft's own dense kernel; no library was measured");
  fmt::print("Everything is in {}.\n", options.out);
  return sparse.verification.passed && dense.verification.passed ? exit_ok : exit_mismatch;
}

}  // namespace

void add_demo(CLI::App& app, Action& action) {
  const auto [verb, options] =
      new_verb<DemoVerb>(app, action, "demo", "from pruned weights to a verified kernel and a verdict",
                         "Example: weft demo layer.safetensors --n 512 --out weft_out", run);
  add_option(verb, "weights", options.weights, "pruned weights; a generated layer where they are left out");
  begin_group(verb, "Problem");
  add_option(verb, "--tensor", options.tensor, "which tensor of the file");
  only_from(add_option(verb, "--n", options.n, "columns of the dense operand"), 1, 1'000'000'000);
  only_from(add_option(verb, "--try", options.tries, "kernels that are measured before one is taken"), 1,
            1000);
  begin_group(verb, "Output");
  add_option(verb, "-o,--out", options.out, "folder for the kernels");
}

}  // namespace weft::tool
