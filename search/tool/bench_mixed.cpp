#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/search/measure/report.h>
#include <weft/search/measure/trial_problem.h>
#include <weft/search/tool/bench_mixed.h>
#include <weft/search/tool/help.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/table.h>
#include <weft/search/tool/verbs.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

namespace weft::tool {
namespace {

/// Numbers are seeds, as "weft tune --weights made:…,seed=12" draws them.
std::optional<std::uint64_t> seed_of(const std::string& id) {
  const bool number = !id.empty() && std::ranges::all_of(id, [](char c) { return '0' <= c && c <= '9'; });
  return number && id.size() < 10 ? std::optional(std::stoull(id)) : std::nullopt;
}

struct Line {
  const SuiteProblem* problem = nullptr;
  std::string what;                 ///< "f16, 75 % zero, V = 64"
  std::optional<double> automatic;  ///< microseconds of what was chosen
  std::optional<double> dense;
  std::string dense_by;         ///< "cuDNN f32, nhwc winograd"
  std::optional<double> found;  ///< the best of the database
  std::optional<Choice> choice;
  bool wrong = false;
  std::string reason;
};

std::string what_of(const Suite& suite, const SuiteCase& chosen) {
  std::string what = fmt::format("{}, {:.0f} % zero", name_of(suite.dtype), 100 * chosen.sparsity);
  if (chosen.pattern) return what + ", " + chosen.pattern->text();
  if (chosen.group_rows > 0) return what + fmt::format(", V = {}", chosen.group_rows);
  return chosen.block > 0 ? what + fmt::format(", blocks of {}", chosen.block) : what;
}

/// The fastest right trial of the same weights, columns, type and target, and of the same convolution.
std::optional<double> best_found(const Workload& workload, const Target& target,
                                 const std::vector<StoredRecord>& records) {
  if (records.empty()) return std::nullopt;
  const std::string hash = hash_of_pattern(workload.matrix);
  const std::string convolution =
      workload.problem.convolution ? algorithm_in(workload, workload.problem.layout).text() : "";
  std::optional<double> best;
  for (const auto& [record, line] : records) {
    const auto time = record.time_of_correct();
    const bool same = record.pattern.hash == hash && record.problem.size("N") == workload.problem.n &&
                      record.problem.word("dtype") == name_of(workload.dtype) &&
                      record.target.name == target.name &&
                      record.measure == (target.is_gpu() ? "gpu" : "cpu") &&
                      (convolution.empty() || record.problem.word("algorithm") == convolution);
    if (time && same) best = std::min(best.value_or(*time), *time);
  }
  return best;
}

class Bench {
 public:
  Bench(const Device& device, const MixedBench& options)
      : device_(device), target_(target_of(device)), libraries_(device), options_(options) {}

  Line operator()(const Suite& suite) {
    const SuiteProblem& problem = suite.problems.front();
    SuiteCase chosen = cases_of(suite).front();
    chosen.seed = seed_of(problem.id);
    Line line;
    line.problem = &problem;
    line.what = what_of(suite, chosen);
    std::mutex mutex;
    std::vector<Contestant> contestants = contestants_of(suite, device_, target_, libraries_, {});
    std::erase_if(contestants, [](const Contestant& one) { return one.kind != ContestantKind::dense; });
    const auto hear = [&](const Workload&, const Choice& choice) {
      const std::lock_guard lock(mutex);
      line.choice = choice;
    };
    contestants.push_back(auto_contestant(suite, target_, hear, options_.tries));
    const CaseResult result = measure(suite, chosen, RealWeights(), device_, contestants, options_.bench);
    const std::string measured =
        json_line(result, {suite.name, device_.name(), device_.description().model, target_.name,
                           libraries_.versions(), options_.bench.rounds});
    options_.log(line.choice ? with_expected(measured, *line.choice) : measured);
    take(line, result);
    line.found = best_found(make_workload(chosen, suite.dtype, RealWeights()), target_, options_.records);
    return line;
  }

 private:
  /// What was measured, and what was expected before.
  static std::string with_expected(const std::string& measured, const Choice& choice) {
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(measured);
    const Way& way = choice.first();
    json["expected"] = {{"way", way.text()},
                        {"us", way.microseconds},
                        {"measured", way.measured},
                        {"verdict", choice.verdict()}};
    if (choice.dense) json["expected"]["dense_us"] = choice.dense->microseconds;
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }

  static void take(Line& line, const CaseResult& result) {
    const Entry* own = best_of_weft(result);
    if (own != nullptr) line.automatic = own->timing.median;
    // The first is at the precision of the weights.
    if (const Entry* dense = baseline_of(result)) {
      line.dense = dense->timing.median;
      line.dense_by = dense->name + (dense->tried.empty() ? "" : ", " + dense->variant);
    }
    for (const Entry& entry : result.entries) {
      if (entry.kind != ContestantKind::weft) continue;
      line.wrong |= entry.wrong;
      if (!entry.timed()) line.reason = entry.reason;
    }
  }

  const Device& device_;
  const Target& target_;
  Libraries libraries_;
  const MixedBench& options_;
};

std::string cell(const std::optional<double>& number) {
  return number ? fmt::format("{:.2f}", *number) : "-";
}

std::optional<double> ratio(const std::optional<double>& of, const std::optional<double>& over) {
  return of && over ? std::optional(*of / *over) : std::nullopt;
}

bool has_verdict(const Line& line) {
  return line.automatic && line.dense && line.choice;
}

/// Whether what was said before anything was measured did not hold: nothing within 5 % is wrong, and no
/// verdict never is.
bool is_wrong_verdict(const Line& line) {
  constexpr double close = 1.05;
  if (!has_verdict(line)) return false;
  const Faster faster = line.choice->faster();
  const double over_sparse = *line.dense / *line.automatic;
  return (faster == Faster::dense && over_sparse > close) ||
         (faster == Faster::kernel && 1 / over_sparse > close);
}

std::string verdict_of(const Line& line) {
  if (!has_verdict(line)) return line.reason.empty() ? "-" : line.reason;
  return line.choice->verdict() + (is_wrong_verdict(line) ? ", wrong" : "");
}

void print_mean(const char* name, const std::vector<Line>& lines,
                const std::function<std::optional<double>(const Line&)>& of) {
  double sum = 0;
  const Line* worst = nullptr;
  std::size_t count = 0;
  for (const Line& line : lines) {
    const auto one = of(line);
    if (!one) continue;
    sum += std::log(*one);
    ++count;
    if (worst == nullptr || *one < *of(*worst)) worst = &line;
  }
  if (count == 0) return;
  fmt::print("{}: {:.3f} in the geometric mean of {} problems, {:.3f} at least, problem {}\n", name,
             std::exp(sum / static_cast<double>(count)), count, *of(*worst), worst->problem->id);
}

void print(const std::vector<Line>& lines) {
  Table table({"id", "op", "M x K x N", "weights", "auto us", "best found us", "found / auto", "dense us",
               "dense by", "dense / auto", "verdict", "chosen"});
  for (const Line& line : lines)
    table.row({line.problem->id, line.problem->op,
               fmt::format("{} x {} x {}", line.problem->m, line.problem->k, line.problem->n), line.what,
               cell(line.automatic), cell(line.found), cell(ratio(line.found, line.automatic)),
               cell(line.dense), line.dense_by.empty() ? "-" : line.dense_by,
               cell(ratio(line.dense, line.automatic)), verdict_of(line),
               line.choice ? line.choice->ways.front().text() : "-"});
  fmt::print("{}\n", table.text());
  print_mean("best found over auto", lines,
             [](const Line& line) { return ratio(line.found, line.automatic); });
  print_mean("dense over auto", lines, [](const Line& line) { return ratio(line.dense, line.automatic); });
  Table verdicts({"stay dense", "sparse is faster", "no verdict", "wrong by more than 5 %"});
  const auto count = [&](Faster faster) {
    return std::to_string(std::ranges::count_if(
        lines, [&](const Line& line) { return has_verdict(line) && line.choice->faster() == faster; }));
  };
  verdicts.row({count(Faster::dense), count(Faster::kernel), count(Faster::none),
                std::to_string(std::ranges::count_if(lines, is_wrong_verdict))});
  fmt::print("{}\n", verdicts.text());
  const auto cut = std::ranges::count_if(lines, [](const Line& line) { return line.problem->follows_sum; });
  if (cut > 0)
    fmt::print("note: of {} problems the suite names a bias or an activation; all measured the sum alone\n",
               cut);
}

}  // namespace

int bench_mixed(const std::vector<Suite>& suites, const Device& device, const MixedBench& options) {
  Bench bench(device, options);
  std::vector<Line> lines;
  int code = exit_ok;
  for (const Suite& suite : suites) {
    const std::string& id = suite.problems.front().id;
    if (!options.problems.empty() && std::ranges::find(options.problems, id) == options.problems.end())
      continue;
    lines.push_back(bench(suite));
    const Line& line = lines.back();
    fmt::print(stderr, "[{}] {}: auto {} us, dense {} us, {}\n", id, line.what, cell(line.automatic),
               cell(line.dense), verdict_of(line));
    if (line.wrong) code = exit_mismatch;
  }
  if (lines.empty())
    throw UserError("the suite has no such problem", "--only, suite " + suites.front().name,
                    options.problems.front(), "an id of the file");
  print(lines);
  return code;
}

}  // namespace weft::tool
