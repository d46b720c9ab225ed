#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/search/model/bound.h>
#include <weft/search/model/dense_bound.h>
#include <weft/search/trials/verdict.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
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
    constexpr std::int64_t most = 1 << 20, of_row = 8;
    if (summary_.convolution) return std::nullopt;
    // Numbers of one alignment: rows that are no multiple of 16 bytes take longer, sparse and dense.
    const auto aligned = [&](std::int64_t n) {
      return n + (summary_.n % of_row - n % of_row + of_row) % of_row;
    };
    const auto first = first_that(1, most, [&](std::int64_t n) {
      ProblemSummary other = summary_;
      other.n = aligned(n);
      other.dense_elements = other.k * other.n;
      return sparse_wins(other);
    });
    return first && *first > 1 ? std::optional(aligned(*first)) : std::nullopt;
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

/// The same weights, kernel, target and measure with other numbers of columns, where a library was measured.
void find_measured(Verdict& verdict, const Record& best, const std::vector<StoredRecord>& records) {
  std::map<std::int64_t, std::pair<double, double>> by_columns;  // the best, dense
  for (const StoredRecord& stored : records) {
    Record record = stored.record;
    const auto time = record.time_of_correct();
    const auto columns = record.problem.sizes.find("N");
    const Baseline* dense = dense_beside(record);
    if (!time || dense == nullptr || dense->whose != BaselineOf::library ||
        columns == record.problem.sizes.end())
      continue;
    const std::int64_t n = columns->second;
    // With the same number of columns, and what follows from it, the keys are those of one problem.
    record.problem = best.problem;
    if (record.problem_key() != best.problem_key()) continue;
    const auto [place, added] = by_columns.try_emplace(n, *time, dense->microseconds);
    if (!added) place->second.first = std::min(place->second.first, *time);
  }
  if (by_columns.size() < 2) return;
  for (const auto& [n, times] : by_columns)
    (times.second < times.first ? verdict.measured_dense_n : verdict.measured_sparse_n).push_back(n);
}

std::size_t ties_of(const Record& best, const std::vector<StoredRecord>& records) {
  const std::string key = best.problem_key();
  const double time = *best.time_of_correct();
  std::size_t count = 0;
  for (const StoredRecord& stored : records) {
    const auto other = stored.record.time_of_correct();
    if (other && *other == time && stored.record.problem_key() == key) ++count;
  }
  return count > 0 ? count - 1 : 0;
}

std::vector<OfFormat> formats_of(const Record& best, const std::vector<StoredRecord>& records) {
  const std::string key = best.problem_key();
  std::map<std::string, OfFormat> by_name;
  for (const StoredRecord& stored : records) {
    const Record& record = stored.record;
    if (record.problem_key() != key) continue;
    OfFormat& format = by_name[record.pattern.kind];
    format.format = record.pattern.kind;
    ++format.trials;
    const auto time = record.time_of_correct();
    if (time && (!format.best || *time < *format.best)) format.best = time;
  }
  std::vector<OfFormat> all;
  for (auto& [name, format] : by_name) all.push_back(std::move(format));
  std::ranges::stable_sort(all, {}, [](const OfFormat& one) {
    return one.best.value_or(std::numeric_limits<double>::infinity());
  });
  return all;
}

std::string text_of_formats(const std::vector<OfFormat>& formats) {
  std::string text = "formats:";
  for (const OfFormat& one : formats)
    text += fmt::format("{} {} {} in {} {}", &one == &formats.front() ? "" : ",", one.format,
                        one.best ? fmt::format("{:.2f} us", *one.best) : "none right", one.trials,
                        one.trials == 1 ? "trial" : "trials");
  return text + "\n";
}

std::string how_measured(const Record& best) {
  if (best.measure == "model") return "by the analytic model";
  if (best.measure == "sim") return "by the simulator's time model";
  return "median on " + best.target.gpu;
}

Verdict made_verdict(const TuneResult& result, const TrialProblem& problem, const Target& target,
                     const std::vector<StoredRecord>& records) {
  const Record& best = *result.best;
  Verdict verdict;
  verdict.fastest = result.fastest;
  verdict.format = best.pattern.kind;
  verdict.microseconds = *best.time_of_correct();
  verdict.points = result.points;
  verdict.ties = ties_of(best, records);
  verdict.formats = formats_of(best, records);
  Record compared = best;
  compared.baselines = result.baselines;
  if (const Baseline* dense = dense_beside(compared)) verdict.dense = *dense;
  // The best may be of another format than the search, which then took all that is known of the problem.
  const Format format = best.pattern.kind.empty() ? problem.what.format : parse_format(best.pattern.kind);
  const ProblemSummary summary = summary_of(problem.what.algorithm, *problem.what.matrix, format);
  if (verdict.dense) verdict.standing = standing_of({best, summary, format, target}, *verdict.dense);
  if (target.is_gpu()) {
    const Bound bound =
        bound_of(summary, best.recipe, best.config, target, ceilings_of(problem.output().dtype, target));
    verdict.bound = bound.microseconds;
    verdict.bound_by = name_of(bound.by);
    // From a ratio that says nothing there is nothing to scale.
    if (verdict.standing && verdict.standing->winner != Faster::none &&
        verdict.dense->whose != BaselineOf::weft) {
      const TurningPoints turning(summary, best, verdict.dense->microseconds, target);
      verdict.dense_below_n = turning.columns();
      verdict.dense_below_sparsity = turning.sparsity();
    }
  }
  find_measured(verdict, best, records);
  return verdict;
}

}  // namespace

Verdict verdict_of(const TuneResult& result, const TrialProblem& problem, const Target& target,
                   const std::vector<StoredRecord>& records, CallPlace place) {
  return user_call(place, [&] {
    if (!result.best || !result.best->time_of_correct())
      throw UserError("there is no verdict without a kernel", "a search in which no trial was right",
                      "a result whose `best` is set; the records of its file say why trials failed");
    return made_verdict(result, problem, target, records);
  });
}

std::string text_of(const Verdict& verdict, const Record& best) {
  const std::string in_format = verdict.format.empty() ? "" : " in " + verdict.format;
  std::string text = fmt::format("fastest: {}{}, {:.2f} us {}\n", verdict.fastest, in_format,
                                 verdict.microseconds, how_measured(best));
  if (verdict.formats.size() > 1) text += text_of_formats(verdict.formats);
  if (verdict.points == 1)
    text += fmt::format("there was nothing to choose: one point for {} on {}\n",
                        verdict.format.empty() ? "these weights" : verdict.format, best.target.name);
  if (verdict.ties > 0)
    text += fmt::format("{} other {} as long: these times do not choose between them\n", verdict.ties,
                        verdict.ties == 1 ? "trial takes" : "trials take");
  text += verdict.standing ? text_of(*verdict.standing, *verdict.dense) : "against dense: not measured\n";
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
  if (verdict.bound) text += text_of_bound(*verdict.bound, verdict.bound_by, best);
  return text;
}

}  // namespace weft
