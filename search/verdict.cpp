#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/search/model/bound.h>
#include <weft/search/verdict.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace weft {
namespace {

/// The smallest number from `low` to `high` at which `holds` does, where it holds from some number on.
std::optional<std::int64_t> first_that(std::int64_t low, std::int64_t high,
                                       const std::function<bool(std::int64_t)>& holds) {
  if (!holds(high)) return std::nullopt;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    holds(middle) ? high = middle : low = middle + 1;
  }
  return low;
}

/// Sparse against dense by the bound, at the measured ratio where the problem is the measured one.
class TurningPoints {
 public:
  TurningPoints(ProblemSummary summary, const Record& best, double dense, const Target& target)
      : summary_(summary), best_(best), target_(target), ceilings_(ceilings_of(summary.dtype, target)) {
    scale_ = *best.time_of_correct() / sparse(summary) * dense_bound(summary, ceilings_) / dense;
  }

  std::optional<std::int64_t> columns() const {
    constexpr std::int64_t most = 1 << 20;
    if (summary_.convolution) return std::nullopt;
    const auto first = first_that(1, most, [&](std::int64_t n) {
      ProblemSummary other = summary_;
      other.n = n;
      other.dense_elements = other.k * n;
      return sparse_wins(other);
    });
    return first && *first > 1 ? first : std::nullopt;
  }

  std::optional<double> sparsity() const {
    constexpr std::int64_t parts = 1000;
    const auto all = static_cast<double>(summary_.m * summary_.k);
    const auto first = first_that(0, parts - 1, [&](std::int64_t part) {
      ProblemSummary other = summary_;
      other.stored = std::llround(all * (1 - static_cast<double>(part) / parts));
      other.row_mean =
          static_cast<double>(other.stored) / static_cast<double>(std::max<std::int64_t>(1, other.m));
      return sparse_wins(other);
    });
    if (!first || *first == 0) return std::nullopt;
    return static_cast<double>(*first) / parts;
  }

 private:
  double sparse(const ProblemSummary& summary) const {
    return bound_of(summary, best_.recipe, best_.config, target_, ceilings_).microseconds;
  }
  bool sparse_wins(const ProblemSummary& summary) const {
    return sparse(summary) * scale_ < dense_bound(summary, ceilings_);
  }

  ProblemSummary summary_;
  const Record& best_;
  const Target& target_;
  Ceilings ceilings_;
  double scale_ = 1;
};

/// The same weights, kernel, target and measure with other numbers of columns.
void find_measured(Verdict& verdict, const Record& best, const std::vector<StoredRecord>& records) {
  std::map<std::int64_t, std::pair<double, double>> by_columns;  // the best, dense
  for (const StoredRecord& stored : records) {
    Record record = stored.record;
    const auto time = record.time_of_correct();
    const auto columns = record.problem.sizes.find("N");
    if (!time || record.baselines.empty() || !record.baselines.front().dense ||
        columns == record.problem.sizes.end())
      continue;
    const std::int64_t n = columns->second;
    // With the same number of columns, and what follows from it, the keys are those of one problem.
    record.problem = best.problem;
    if (record.problem_key() != best.problem_key()) continue;
    const auto [place, added] = by_columns.try_emplace(n, *time, record.baselines.front().microseconds);
    if (!added) place->second.first = std::min(place->second.first, *time);
  }
  if (by_columns.size() < 2) return;
  for (const auto& [n, times] : by_columns)
    (times.second < times.first ? verdict.measured_dense_n : verdict.measured_sparse_n).push_back(n);
}

std::string how_measured(const Record& best) {
  if (best.measure == "model") return "by the analytic model";
  if (best.measure == "sim") return "by the simulator's time model";
  return "median on " + best.target.gpu;
}

}  // namespace

Verdict verdict_of(const TuneResult& result, const TrialProblem& problem, const Target& target,
                   const std::vector<StoredRecord>& records) {
  internal_check(result.best.has_value(), "a verdict without a kernel");
  const Record& best = *result.best;
  Verdict verdict;
  verdict.fastest = result.fastest;
  verdict.microseconds = *best.time_of_correct();
  if (!result.baselines.empty() && result.baselines.front().dense) verdict.dense = result.baselines.front();
  if (target.is_gpu()) {
    const ProblemSummary summary =
        summary_of(problem.what.algorithm, *problem.what.matrix, problem.what.format);
    const Bound bound =
        bound_of(summary, best.recipe, best.config, target, ceilings_of(problem.output().dtype, target));
    verdict.bound = bound.microseconds;
    verdict.bound_by = name_of(bound.by);
    if (verdict.dense) {
      const TurningPoints turning(summary, best, verdict.dense->microseconds, target);
      verdict.dense_below_n = turning.columns();
      verdict.dense_below_sparsity = turning.sparsity();
    }
  }
  find_measured(verdict, best, records);
  return verdict;
}

std::string text_of(const Verdict& verdict, const Record& best) {
  std::string text =
      fmt::format("fastest: {}, {:.2f} us {}\n", verdict.fastest, verdict.microseconds, how_measured(best));
  if (verdict.dense) {
    const double ratio = verdict.dense->microseconds / verdict.microseconds;
    text += ratio >= 1 ? fmt::format("against dense: {:.2f}x faster than {} ({:.2f} us)\n", ratio,
                                     verdict.dense->name, verdict.dense->microseconds)
                       : fmt::format("against dense: {} is {:.2f}x faster ({:.2f} us): stay dense\n",
                                     verdict.dense->name, 1 / ratio, verdict.dense->microseconds);
  } else {
    text += "against dense: not measured\n";
  }
  if (!verdict.measured_dense_n.empty() || !verdict.measured_sparse_n.empty())
    text += fmt::format(
        "measured with these weights: dense wins at N = {}; sparse at N = {}\n",
        verdict.measured_dense_n.empty() ? "none"
                                         : fmt::format("{}", fmt::join(verdict.measured_dense_n, ", ")),
        verdict.measured_sparse_n.empty() ? "none"
                                          : fmt::format("{}", fmt::join(verdict.measured_sparse_n, ", ")));
  if (verdict.dense_below_n)
    text += fmt::format("where dense wins, by the model: N below {}\n", *verdict.dense_below_n);
  if (verdict.dense_below_sparsity)
    text += fmt::format("where dense wins, by the model: sparsity below {:.1f} %\n",
                        100 * *verdict.dense_below_sparsity);
  if (verdict.bound)
    text += fmt::format("bounded by: {} ({:.2f} us, of which the kernel reaches {:.0f} %)\n",
                        verdict.bound_by, *verdict.bound, 100 * *verdict.bound / verdict.microseconds);
  return text;
}

}  // namespace weft
