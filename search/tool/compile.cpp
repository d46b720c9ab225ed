// weft compile: a kernel's program, PTX, CUDA source and resources as files.
#include <fmt/format.h>
#include <weft/backends/export/object.h>
#include <weft/scheduler/recipes/list.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/table.h>

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

/// Those that were named; else a CPU and two GPUs, or one of both where a recipe for it alone is named.
std::vector<std::string> targets_of(const CompileVerb& options) {
  if (!options.targets.empty()) return options.targets;
  const Recipe* recipe = recipe_named(options.problem.recipe.substr(0, options.problem.recipe.find(':')));
  if (recipe != nullptr && recipe->of_gpus) return {"sm_80", "sm_90"};
  if (recipe != nullptr && recipe->of_cpus) return {"cpu"};
  return {"cpu", "sm_80", "sm_90"};
}

/// What a program without weft is linked with, of a kernel for a CPU.
void add_object(std::vector<std::string>& files, const Kernel& kernel, const std::string& folder) {
  if (kernel.schedule().target().is_gpu()) return;
  try {
    for (const std::string& file : export_object(kernel, folder)) files.push_back(file);
  } catch (const UserError& error) {
    fmt::print(stderr, "note: no kernel.o: {}\n", error.what());
  }
}

int run(const CompileVerb& options) {
  const std::vector<std::string> targets = targets_of(options);
  const Emitter emitter = emitter_named(options.emitter, std::ranges::any_of(targets, [](const auto& name) {
                                          return named_target(name).is_gpu();
                                        }));
  ChosenFor chosen_for;
  for (const std::string& name : targets) chosen_for.targets.push_back(&named_target(name));
  const Problem problem = make_problem(options.problem, chosen_for);
  auto document = nlohmann::ordered_json::array();
  Table table({"target", "registers", "spilled bytes", "shared bytes", "files"});
  for (const std::string& name : targets) {
    const Target& target = named_target(name);
    const Kernel kernel =
        kernel_of(problem.algorithm, problem, options.problem, target, {.emitter = emitter});
    const std::string folder = (std::filesystem::path(options.out) / target.name).string();
    std::vector<std::string> files = of_option("--out", [&] { return kernel.write_to(folder); });
    add_object(files, kernel, folder);
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
  const auto [verb, options] = new_verb<CompileVerb>(
      app, action, "compile", "lower one schedule and write what it becomes",
      "Example: weft compile --op spmm --weights layer.npy --n 256 --target cpu,sm_80,sm_90a -o out", run);
  add_problem_flags(verb, options.problem);
  add_list(verb, "--target", options.targets,
           "see weft targets; several joined by commas; cpu,sm_80,sm_90 where it is left out", "TARGET");
  add_choice_flags(verb, options.problem);
  add_emitter_flag(verb, options.emitter);
  begin_group(verb, "Output");
  add_option(verb, "-o,--out", options.out, "folder for the files");
  add_json_flag(verb, options.json);
}

}  // namespace weft::tool
