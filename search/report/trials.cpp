#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/format.h>
#include <weft/search/model/dense_bound.h>
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

void lend_dense(std::vector<ProblemTrials>& problems) {
  std::map<std::string, Baseline> measured;
  const auto key_of = [](const ProblemTrials& problem) {
    Record record = problem.trials.front()->record;
    record.pattern = {};
    return record.problem_key();
  };
  for (const ProblemTrials& problem : problems) {
    if (problem.dense && problem.dense->whose == BaselineOf::library)
      measured.try_emplace(key_of(problem), *problem.dense);
  }
  for (ProblemTrials& problem : problems) {
    if (problem.dense) continue;
    const auto found = measured.find(key_of(problem));
    if (found != measured.end()) problem.dense = found->second;
  }
}

void compare_with_dense(ProblemTrials& problem) {
  const Target& target = target_named(problem.trials.front()->record.target.name);
  if (problem.best == nullptr) return;
  const Record& best = problem.best->record;
  if (target.is_gpu()) {
    const Ceilings ceilings = ceilings_of(problem.summary.dtype, target);
    if (!problem.dense && best.measure == "model")
      problem.dense =
          Baseline{"dense, by the model", true, dense_bound(problem.summary, ceilings), BaselineOf::model};
    problem.bound = bound_of(problem.summary, best.recipe, best.config, target, ceilings);
  }
  if (!problem.dense) return;
  const Format format = best.pattern.kind.empty() ? formats::csr() : parse_format(best.pattern.kind);
  problem.standing = standing_of({best, problem.summary, format, target}, *problem.dense);
}

/// Once all trials are there: the best one says what the problem is drawn as.
void describe(ProblemTrials& problem) {
  const Record& first = problem.trials.front()->record;
  problem.summary = summary_of(problem.best != nullptr ? problem.best->record : first);
  ProblemSummary named = problem.summary;
  const bool one_format = std::ranges::all_of(problem.trials, [&](const StoredRecord* stored) {
    return stored->record.pattern.kind == first.pattern.kind;
  });
  if (!one_format) named.group_rows = named.kept_of = 0;
  problem.name = name_of(named, first.kernel);
  for (const StoredRecord* stored : problem.trials) {
    if (stored->record.source.contains("layer")) problem.of_layer = stored;
    const Baseline* dense = dense_beside(stored->record);
    if (dense != nullptr && !problem.dense) problem.dense = *dense;
  }
  if (problem.of_layer != nullptr)
    problem.name = problem.of_layer->record.source.at("layer") + ": " + problem.name;
}

/// Whether a report can say anything of it.
bool is_known(const Record& record) {
  try {
    summary_of(record);
    target_named(record.target.name);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace

std::optional<double> ProblemTrials::best_time() const {
  return best == nullptr ? std::nullopt : best->record.time_of_correct();
}

std::optional<double> ProblemTrials::speed_up() const {
  return standing ? std::optional(standing->ratio) : std::nullopt;
}

std::vector<ProblemTrials> problems_of(std::span<const StoredRecord> records) {
  std::vector<ProblemTrials> problems;
  std::map<std::string, std::size_t> known;
  for (const StoredRecord& stored : records) {
    if (!is_known(stored.record)) continue;
    const auto [at, fresh] = known.try_emplace(stored.record.problem_key(), problems.size());
    if (fresh) problems.emplace_back();
    ProblemTrials& problem = problems[at->second];
    problem.trials.push_back(&stored);
    const std::optional<double> time = stored.record.time_of_correct();
    if (time && (!problem.best_time() || *time < *problem.best_time())) problem.best = &stored;
  }
  for (ProblemTrials& problem : problems) describe(problem);
  lend_dense(problems);
  for (ProblemTrials& problem : problems) compare_with_dense(problem);
  return problems;
}

const ProblemTrials* most_tried(const std::vector<ProblemTrials>& problems) {
  const auto most =
      std::ranges::max_element(problems, {}, [](const ProblemTrials& p) { return p.trials.size(); });
  return most == problems.end() ? nullptr : &*most;
}

}  // namespace weft::report
