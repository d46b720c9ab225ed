// weft compile: a kernel's program, PTX, CUDA source and resources as files.
#include <fmt/format.h>
#include <weft/search/tool/help.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/table.h>
#include <weft/search/tool/verbs.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace weft::tool {
namespace {

struct CompileVerb {
  ProblemOptions problem;
  std::vector<std::string> targets;
  std::string out = "weft_out";
  std::string emitter = "llvm";
  bool json = false;
};

/// Those that were named; else a CPU and two GPUs, or the GPUs alone where a recipe for these is named.
std::vector<std::string> targets_of(const CompileVerb& options) {
  if (!options.targets.empty()) return options.targets;
  if (options.problem.recipe != "default") return {"sm_80", "sm_90"};
  return {"cpu", "sm_80", "sm_90"};
}

int run(const CompileVerb& options) {
  const std::vector<std::string> targets = targets_of(options);
  check_emitter(options.emitter,
                std::ranges::any_of(targets, [](const auto& name) { return named_target(name).is_gpu(); }));
  const Problem problem = make_problem(options.problem);
  KernelOptions kernel_options;
  kernel_options.emitter = options.emitter == "cuda" ? Emitter::cuda : Emitter::llvm;
  auto document = nlohmann::ordered_json::array();
  Table table({"target", "registers", "spilled bytes", "shared bytes", "files"});
  for (const std::string& name : targets) {
    const Target& target = named_target(name);
    const Kernel kernel = compile(schedule_of(problem, options.problem, target), kernel_options);
    const std::string folder = (std::filesystem::path(options.out) / target.name).string();
    const std::vector<std::string> files = kernel.write_to(folder);
    const auto& resources = kernel.resources();
    const auto number = [&](auto get) {
      return resources ? std::to_string(get(*resources)) : std::string("unknown");
    };
    table.row({target.name, number([](const Resources& r) { return r.registers; }),
               number([](const Resources& r) { return r.spill_bytes; }),
               std::to_string(kernel.lowered().launch.shared_bytes),
               fmt::format("{}: {}", folder, fmt::join(files, " "))});
    nlohmann::ordered_json entry{{"target", target.name}, {"folder", folder}, {"files", files}};
    if (resources)
      entry["resources"] = {{"registers", resources->registers}, {"spill_bytes", resources->spill_bytes}};
    document.push_back(entry);
  }
  fmt::print("{}", options.json ? document.dump(2) + "\n" : table.text());
  return exit_ok;
}

}  // namespace

void add_compile(CLI::App& app, Action& action) {
  auto options = std::make_shared<CompileVerb>();
  CLI::App* verb = app.add_subcommand("compile", "lower one schedule and write what it becomes");
  verb->footer(
      "Example: weft compile --op spmm --weights layer.npy --n 256 --target cpu,sm_80,sm_90a -o out");
  add_problem_flags(*verb, options->problem);
  verb->add_option("--target", options->targets,
                   "see weft targets; several joined by commas; cpu,sm_80,sm_90 where it is left out")
      ->type_name("TARGET")
      ->delimiter(',');
  verb->add_option("--emitter", options->emitter, "GPU code by llvm or cuda")
      ->check(CLI::IsMember({"llvm", "cuda"}))
      ->capture_default_str();
  begin_group(*verb, "Output");
  verb->add_option("-o,--out", options->out, "folder for the files")->capture_default_str();
  verb->add_flag("--json", options->json, "one JSON document");
  verb->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace weft::tool
