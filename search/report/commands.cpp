#include <fmt/format.h>
#include <weft/scheduler/hardware/target.h>
#include <weft/search/model/timing_table.h>
#include <weft/search/report/commands.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

namespace weft::report {
namespace {

/// A word as a shell takes it.
std::string quoted(const std::string& word) {
  const bool plain = std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./:=,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain && !word.empty()) return word;
  std::string inside;
  for (const char c : word) inside += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + inside + "'";
}

std::string flags_of(const std::map<std::string, std::string>& source) {
  std::string flags;
  for (const auto& [flag, value] : source) {
    if (is_flag(flag)) flags += fmt::format(" --{} {}", flag, quoted(value));
  }
  return flags;
}

/// The device of `weft run` that measures as the record was measured; a modelled one is simulated.
std::string device_of(const Record& record) {
  if (record.measure == "cpu") return "cpu";
  return record.measure == "gpu" ? "cuda" : "sim:" + record.target.name;
}

std::string measured_as(const Record& record) {
  return fmt::format(" --target {} --measure {}", record.target.name, record.measure);
}

}  // namespace

std::vector<Command> commands_of(const ProblemTrials& problem, const std::string& database) {
  if (problem.best == nullptr || !problem.best->record.source.contains("weights")) return {};
  const Record& best = problem.best->record;
  std::map<std::string, std::string> source = best.source;
  source.erase("format");
  const Command more{"As many trials again, of any format",
                     fmt::format("weft tune{}{} --trials {} --db {}", flags_of(source), measured_as(best),
                                 2 * problem.trials.size(), quoted(database))};
  // A kernel for a GPU that ran on the CPU by its meaning has no command.
  if (best.measure == "cpu" && target_named(best.target.name).is_gpu()) return {more};
  source["format"] = best.pattern.kind;
  return {{"Its fastest kernel again",
           fmt::format("weft run{} --recipe {} --target {} --device {}", flags_of(source),
                       quoted(Configuration{best.recipe, best.config}.text()), best.target.name,
                       device_of(best))},
          more};
}

std::vector<Command> commands_of_network(const std::vector<ProblemTrials>& problems,
                                         const std::string& database) {
  const auto found = std::ranges::find_if(problems, [](const ProblemTrials& problem) {
    return problem.of_layer != nullptr && problem.of_layer->record.source.contains("network");
  });
  if (found == problems.end()) return {};
  const Record& record = found->of_layer->record;
  const auto columns = record.source.find("columns");
  const std::string what =
      quoted(record.source.at("network")) +
      (columns == record.source.end() ? "" : fmt::format(" --n {}", quoted(columns->second)));
  const bool is_gpu = target_named(record.target.name).is_gpu();
  return {{"Ten minutes more of the search", fmt::format("weft model tune {}{} --budget 10m --db {}", what,
                                                         measured_as(record), quoted(database))},
          {"Its kernels as a package",
           fmt::format("weft model export {}{} --db {} --name network -o package", what,
                       is_gpu ? " --archs " + record.target.name : "", quoted(database))}};
}

}  // namespace weft::report
