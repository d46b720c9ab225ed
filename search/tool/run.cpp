// weft run and weft verify: one kernel on one device.
#include <fmt/format.h>
#include <weft/formats/io/npy.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/given_files.h>
#include <weft/search/tool/measure.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/trying.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace weft::tool {
namespace {

struct RunVerb {
  ProblemOptions problem;
  std::string device = "cpu";
  std::string target;
  std::string emitter = "llvm";
  std::string out;
  std::optional<int> threads;
  std::int64_t tries = 1;
  bool every_lane_arrives = false;
  bool time = false;
  bool json = false;
};

void add_flags(CLI::App& verb, RunVerb& options) {
  add_problem_flags(verb, options.problem);
  add_choice_flags(verb, options.problem);
  begin_group(verb, "Device");
  add_option(verb, "--device", options.device, "cpu, cuda:1, sim:sm_80");
  add_option(verb, "--target", options.target, "see weft targets; the device's own where it is left out",
             "TARGET");
  add_emitter_flag(verb, options.emitter);
  add_option(verb, "--threads", options.threads, "of a CPU; else one a core", "N");
  verb.add_flag("--every-lane-arrives", options.every_lane_arrives,
                "no lane arrives for its warp: racecheck can follow");
  begin_group(verb, "Output");
  add_option(verb, "-o,--out", options.out, "a .npy file", "FILE");
  add_json_flag(verb, options.json);
}

nlohmann::ordered_json json_of(const RunVerb& options, const Problem& problem, const Kernel& kernel,
                               const Device& device) {
  const auto& matrix = problem.matrix;
  return {{"op", options.problem.op},
          {"weights", options.problem.weights},
          {"M", matrix.rows},
          {"K", matrix.columns},
          {"N", problem.columns},
          {"nnz", matrix.stored()},
          {"sparsity", matrix.sparsity()},
          {"dtype", name_of(problem.weights->dtype())},
          {"format", kernel.schedule().weights()->format().text()},
          {"device", device.name()},
          {"model", device.description().model},
          {"target", kernel.schedule().target().name},
          {"notes", problem.notes}};
}

/// Whoever reads the file by its name would take numpy's bytes for something else.
void require_name_of_npy(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending.empty() || ending == ".npy") return;
  throw UserError("a result is written as NumPy does", "--out", path,
                  std::filesystem::path(path).replace_extension(".npy").string());
}

int execute(const RunVerb& options, bool check) {
  require_name_of_npy(options.out);
  require_place_for("--out", options.out);
  const ProblemOptions& given = options.problem;
  require_apart_from("--out", options.out,
                     {{"--weights", given.weights},
                      {"--b", given.b},
                      {"--c", given.c},
                      {"--scale", given.scale},
                      {"--token-scale", given.token_scale},
                      {"--bias", given.bias},
                      {"--schedule", given.schedule}});
  const Device device = named_device(options.device);
  Target target = options.target.empty() ? target_of(device) : named_target(options.target);
  if (options.threads && !target.is_gpu()) target.threads = *options.threads;
  const Problem problem = make_problem(options.problem, {.targets = {&target}});
  for (const std::string& note : problem.notes) fmt::print(stderr, "note: {}\n", note);
  check_threads(options.threads, device.kind() == DeviceKind::cpu);
  if (options.every_lane_arrives && device.kind() == DeviceKind::cpu)
    throw UserError("lanes are of a GPU", "--every-lane-arrives", "the device cpu",
                    "--device sim:sm_80 or another GPU, or no --every-lane-arrives");
  KernelOptions kernel_options;
  kernel_options.emitter = emitter_named(options.emitter, device.kind() != DeviceKind::cpu);
  kernel_options.threads = options.threads.value_or(0);
  if (options.every_lane_arrives) kernel_options.arrivals = Arrivals::of_lanes;
  const Kernel kernel = fastest_kernel(problem, options.problem, device, target, kernel_options,
                                       static_cast<std::size_t>(options.tries));
  auto document = json_of(options, problem, kernel, device);
  std::string text =
      fmt::format("{} {} x {} x {}, {:.2f} % zero, {} {} on {} ({})\n", options.problem.op,
                  problem.matrix.rows, problem.matrix.columns, problem.columns,
                  100 * problem.matrix.sparsity(), kernel.schedule().weights()->format().text(),
                  name_of(problem.weights->dtype()), device.name(), device.description().model);
  bool passed = true;
  if (check) {
    const Verification verification = verify(kernel, device, problem.arguments);
    passed = verification.passed;
    document["verify"] = {{"passed", passed},
                          {"relative", verification.difference.relative},
                          {"largest", verification.difference.largest},
                          {"largest_scaled", verification.difference.largest_scaled},
                          {"allowed", verification.tolerance}};
    text += verification.text() + "\n";
  } else {
    const Timing timing = time_kernel(device, kernel.bind(device, problem.arguments));
    kernel(device, problem.arguments);
    document["us"] = {{"median", timing.median},
                      {"minimum", timing.minimum},
                      {"p95", timing.percentile_95},
                      {"n", timing.count}};
    document["gflops"] = giga_per_second(sparse_operations(problem), timing.median);
    text += fmt::format("{:.2f} us ({}), {:.1f} GFLOP/s of the stored weights\n", timing.median,
                        device.kind() == DeviceKind::simulator ? std::string("by the time model")
                                                               : fmt::format("median of {}", timing.count),
                        giga_per_second(sparse_operations(problem), timing.median));
  }
  if (!options.out.empty()) {
    const Operand& output = problem.algorithm.operands[problem.algorithm.output.operand];
    write_npy(options.out, *problem.arguments.tensors.at(output.name));
    document["out"] = options.out;
  }
  fmt::print("{}", options.json ? document.dump(2) + "\n" : text);
  return passed ? exit_ok : exit_mismatch;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  const auto [verb, options] = new_verb<RunVerb>(
      app, action, "run", "run one kernel and time it",
      "Example: weft run --weights layer.npy --n 256 --dtype f32 --device cpu --b random:7 --out c.npy",
      [](const RunVerb& given) { return execute(given, false); });
  add_flags(verb, options);
  begin_group(verb, "Schedule");
  only_from(add_option(verb, "--try", options.tries, "kernels that are measured before one is taken"), 1,
            1000);
}

void add_verify(CLI::App& app, Action& action) {
  const auto [verb, options] = new_verb<RunVerb>(
      app, action, "verify", "compare one kernel with the f64 reference; exit code 4 when it is wrong",
      "Example: weft verify --op conv2d --weights filter.npy --filter 3x3 --image 56x56 --pad 1",
      [](const RunVerb& given) { return execute(given, true); });
  add_flags(verb, options);
}

}  // namespace weft::tool
