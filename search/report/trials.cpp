#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/search/model/recorded_times.h>
#include <weft/search/report/trials.h>

#include <algorithm>
#include <map>

namespace weft::report {
namespace {

std::string name_of(const ProblemSummary& problem, const std::string& kernel) {
  std::string name =
      fmt::format("{}x{}x{}, {:.1f} % zero", problem.m, problem.k, problem.n, 100 * (1 - problem.density()));
  if (problem.group_rows > 0) name += fmt::format(", V={}", problem.group_rows);
  if (problem.kept_of > 0) name += fmt::format(", {}:{}", problem.kept_of, problem.of_group);
  name += fmt::format(", {}", weft::name_of(problem.dtype));
  return kernel == "spmm" ? name : kernel + " " + name;
}

void compare_with_dense(ProblemTrials& problem) {
  const Target& target = target_named(problem.trials.front()->record.target.name);
  for (const StoredRecord* stored : problem.trials) {
    for (const Baseline& baseline : stored->record.baselines) {
      if (!baseline.dense || problem.dense_measured) continue;
      problem.dense = baseline.microseconds;
      problem.dense_name = baseline.name;
      problem.dense_measured = true;
    }
  }
  if (!target.is_gpu()) return;
  const Ceilings ceilings = ceilings_of(problem.summary.dtype, target);
  if (!problem.dense_measured) {
    problem.dense = dense_bound(problem.summary, ceilings);
    problem.dense_name = "the analytic model's dense product";
  }
  if (problem.best == nullptr) return;
  const Record& best = problem.best->record;
  problem.bound = bound_of(problem.summary, best.recipe, best.config, target, ceilings);
}

}  // namespace

std::optional<double> ProblemTrials::best_time() const {
  return best == nullptr ? std::nullopt : best->record.time_of_correct();
}

std::optional<double> ProblemTrials::speed_up() const {
  const std::optional<double> time = best_time();
  if (!time || !(*time > 0) || !(dense > 0)) return std::nullopt;
  return dense / *time;
}

std::vector<ProblemTrials> problems_of(std::span<const StoredRecord> records) {
  std::vector<ProblemTrials> problems;
  std::map<std::string, std::size_t> known;
  for (const StoredRecord& stored : records) {
    const Record& record = stored.record;
    const std::string key = record.problem_key();
    auto found = known.find(key);
    if (found == known.end()) {
      ProblemTrials problem;
      try {
        problem.summary = summary_of(record);
        target_named(record.target.name);
      } catch (const UserError&) {
        continue;
      }
      problem.name = name_of(problem.summary, record.kernel);
      found = known.emplace(key, problems.size()).first;
      problems.push_back(std::move(problem));
    }
    ProblemTrials& problem = problems[found->second];
    problem.trials.push_back(&stored);
    const std::optional<double> time = record.time_of_correct();
    if (time && (!problem.best_time() || *time < *problem.best_time())) problem.best = &stored;
  }
  for (ProblemTrials& problem : problems) compare_with_dense(problem);
  return problems;
}

const ProblemTrials* most_tried(const std::vector<ProblemTrials>& problems) {
  const auto most =
      std::ranges::max_element(problems, {}, [](const ProblemTrials& p) { return p.trials.size(); });
  return most == problems.end() ? nullptr : &*most;
}

}  // namespace weft::report
