// What every recipe makes of the problems of suites: the steps of its schedule and a hash of its code, one
// line a kernel. Lines of two trees are compared where a change is to leave kernels as they are.
//
//   frozen_kernels [--targets sm_75,sm_80,sm_90a,cpu] [--most-weights N] [--part I/N] SUITE... > lines
//
// Weights are drawn, so that lines need no data. A line's "steps" and "code" are hashes; WEFT_FROZEN_STEPS
// names a folder for the steps themselves.
#include <fmt/format.h>
#include <weft/backends/kernel.h>
#include <weft/backends/llvm/cpu.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/file.h>
#include <weft/scheduler/passes/lower.h>
#include <weft/search/measure/recipes.h>
#include <xxhash.h>

#include <fstream>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

struct Settings {
  std::vector<std::string> targets{"sm_75", "sm_80", "sm_90a", "cpu"};
  std::int64_t most_weights = std::numeric_limits<std::int64_t>::max();
  std::int64_t part = 0, parts = 1;
  bool whole_steps = false;
  std::vector<std::string> suites;
};

std::string hash_of(const std::string& text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

/// Without the places in sources where its steps were written.
Json steps_of(const Schedule& schedule) {
  Json steps = Json::parse(schedule.json());
  for (Json& step : steps) step.erase("place");
  return steps;
}

/// One processor, whichever this runs on.
Target one_for_all(Target target) {
  if (target.is_gpu()) return target;
  target.vector_bytes = 64;
  target.first_cache_bytes = 48 * 1024;
  target.second_cache_bytes = 1024 * 1024;
  return target;
}

std::string code_of(const Schedule& schedule) {
  if (schedule.target().is_gpu()) return compile(schedule, {.assemble = false}).ptx();
  // As the emitter makes it, for one processor on every machine.
  const llvm_backend::CpuOptions options{.processor = "x86-64-v3", .optimization = 0};
  return llvm_backend::compile_for_cpu(lower(schedule.program(), schedule.target()), options).llvm_ir();
}

/// Those that every recipe takes: blocks, grouped convolutions and vectors are none.
std::vector<Suite> suites_of(const std::string& path) {
  std::vector<Suite> suites = read_suites(path);
  std::erase_if(suites, [](const Suite& suite) {
    const SuiteProblem& first = suite.problems.front();
    return suite.block > 0 || first.op == "spmv" || first.image_groups != 1;
  });
  return suites;
}

class Frozen {
 public:
  explicit Frozen(const Settings& settings) : settings_(settings) {}

  void print(const Suite& suite) {
    if (suite.simulated) return;
    for (const SuiteCase& chosen : cases_of(suite)) {
      if (chosen.problem.m * chosen.problem.k > settings_.most_weights) continue;
      if (number_++ % settings_.parts != settings_.part) continue;
      const Workload workload = make_workload(chosen, suite.dtype, RealWeights());
      for (const MeasuredRecipe& recipe : measured_recipes()) {
        if (!recipe.is_for(suite)) continue;
        for (const std::string& target : settings_.targets) print(suite, chosen, workload, recipe, target);
      }
    }
  }

 private:
  static std::string name_of(const SuiteCase& chosen) {
    std::string name = fmt::format("{}: {} x {} x {}", chosen.problem.id, chosen.problem.m, chosen.problem.k,
                                   chosen.problem.n * chosen.batch);
    if (chosen.pattern) return name + ", " + chosen.pattern->text();
    name += fmt::format(", {:g} % zeros", 100 * chosen.sparsity);
    return chosen.group_rows > 0 ? name + fmt::format(", V = {}", chosen.group_rows) : name;
  }

  void print(const Suite& suite, const SuiteCase& chosen, const Workload& workload,
             const MeasuredRecipe& recipe, const std::string& target) {
    Json line{{"suite", suite.name}, {"case", name_of(chosen)}, {"recipe", recipe.name}, {"target", target}};
    try {
      const Schedule schedule = recipe.schedule(workload, one_for_all(target_named(target)));
      const Json steps = steps_of(schedule);
      line["steps"] = settings_.whole_steps ? steps : Json(hash_of(steps.dump()));
      line["code"] = hash_of(code_of(schedule));
    } catch (const UserError& error) {
      // Places in weft's sources move with its lines.
      line["refused"] =
          std::regex_replace(std::string(error.what()), std::regex("[a-z_]+\\.(cpp|h):[0-9]+"), "$1");
    }
    std::cout << line.dump() << std::endl;
  }

  const Settings& settings_;
  std::int64_t number_ = 0;
};

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::stringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

Settings settings_of(int count, char** words) {
  Settings settings;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&] { return std::string(i + 1 < count ? words[++i] : ""); };
    if (word == "--targets") {
      settings.targets = words_of(value());
    } else if (word == "--most-weights") {
      settings.most_weights = std::stoll(value());
    } else if (word == "--part") {
      const std::string text = value();
      settings.part = std::stoll(text);
      settings.parts = std::stoll(text.substr(text.find('/') + 1));
    } else if (word == "--whole-steps") {
      settings.whole_steps = true;
    } else {
      settings.suites.push_back(word);
    }
  }
  return settings;
}

}  // namespace
}  // namespace weft

int main(int count, char** words) {
  try {
    const weft::Settings settings = weft::settings_of(count, words);
    std::cout << weft::Json{{"llvm", weft::llvm_backend::version()}}.dump() << "\n";
    weft::Frozen frozen(settings);
    for (const std::string& path : settings.suites)
      for (const weft::Suite& suite : weft::suites_of(path)) frozen.print(suite);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
