#include <fmt/format.h>
#include <weft/search/trials/candidates.h>
#include <weft/search/trials/record_query.h>

#include <algorithm>
#include <limits>

namespace weft {
namespace {

/// What a search chooses for, without the versions of tools.
std::string key_without_tools(Record record) {
  record.toolchain.clear();
  return record.packed_key();
}

/// Times of the right trials by recipe and configuration; of repeated ones the fastest.
std::map<std::string, double> times_of(const std::vector<const StoredRecord*>& trials) {
  std::map<std::string, double> times;
  for (const StoredRecord* trial : trials) {
    const auto time = trial->record.time_of_correct();
    if (!time) continue;
    const auto [place, added] = times.try_emplace(text_of_config(trial->record), *time);
    if (!added) place->second = std::min(place->second, *time);
  }
  return times;
}

std::map<std::string, std::vector<const StoredRecord*>> by_problem(const std::vector<StoredRecord>& records) {
  std::map<std::string, std::vector<const StoredRecord*>> all;
  for (const StoredRecord& stored : records) all[key_without_tools(stored.record)].push_back(&stored);
  return all;
}

double least_of(const std::map<std::string, double>& times) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [name, time] : times) least = std::min(least, time);
  return least;
}

/// One search on known times: the time of the best that it met.
double play(const std::vector<const StoredRecord*>& known, std::int64_t trials, std::uint64_t seed) {
  std::vector<Candidate> points;
  std::map<std::string, const Record*> records;
  std::map<std::string, std::size_t> spaces;  // by recipe
  for (const StoredRecord* stored : known) {
    const Record& record = stored->record;
    if (!records.try_emplace(text_of_config(record), &record).second) continue;
    const std::size_t space = spaces.try_emplace(record.recipe, spaces.size()).first->second;
    points.push_back({{space, record.config}, record.recipe, record.predicted_microseconds.value_or(1)});
  }
  Candidates candidates(std::move(points), Strategy::ranked, seed);
  double best = std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < trials; ++i) {
    const auto choice = candidates.next();
    if (!choice) break;
    const auto time = records.at(text_of(*choice->candidate))->time_of_correct();
    candidates.learn(*choice->candidate, time);
    if (time) best = std::min(best, *time);
  }
  return best;
}

}  // namespace

bool RecordFilter::takes(const Record& record) const {
  const auto fits = [](const std::string& wanted, std::string_view found) {
    return wanted.empty() || wanted == found;
  };
  const bool fits_target = fits(target, record.target.name) || target == architecture_of(record.target.name);
  return fits(kernel, record.kernel) && fits_target && fits(measure, record.measure) &&
         fits(recipe, record.recipe) && fits(format, record.pattern.kind) &&
         fits(status, name_of(record.status)) && std::ranges::all_of(sizes, [&](const auto& size) {
           return record.problem.size(size.first) == size.second;
         });
}

std::vector<StoredRecord> selected(const std::vector<StoredRecord>& records, const RecordFilter& filter) {
  std::vector<StoredRecord> all;
  std::ranges::copy_if(records, std::back_inserter(all),
                       [&](const StoredRecord& stored) { return filter.takes(stored.record); });
  return all;
}

std::string name_of_problem(const Record& record) {
  const auto [m, k] = std::pair(record.problem.size("M"), record.problem.size("K"));
  const auto elements = static_cast<double>(m) * static_cast<double>(k);
  const double zero = elements > 0 ? 100 - 100 * static_cast<double>(record.pattern.stored) / elements : 0;
  const auto layer = record.source.find("layer");
  const std::string of_layer = layer != record.source.end() ? layer->second + ": " : "";
  return fmt::format("{}{} {}x{}x{} {}, {:.1f} % zero{}, {}, {}", of_layer, record.kernel, m, k,
                     record.problem.size("N"), record.problem.word("dtype"), zero,
                     record.pattern.group > 0 ? fmt::format(", V={}", record.pattern.group) : "",
                     record.target.name, record.measure);
}

std::vector<ProblemTrials> problems_of(const std::vector<StoredRecord>& records) {
  std::vector<ProblemTrials> all;
  std::map<std::string, std::size_t> numbers;
  for (const StoredRecord& stored : records) {
    const auto [place, fresh] = numbers.try_emplace(stored.record.problem_key(), all.size());
    if (fresh) all.push_back({name_of_problem(stored.record), {}, nullptr, {}});
    ProblemTrials& problem = all[place->second];
    problem.trials.push_back(&stored);
    // Formats of several groups of rows have only the matrix in common.
    if (stored.record.pattern.group != problem.trials.front()->record.pattern.group) {
      Record without = stored.record;
      without.pattern.group = 0;
      problem.name = name_of_problem(without);
    }
    ++problem.ends[stored.record.status];
    const auto time = stored.record.time_of_correct();
    if (time && (problem.best == nullptr || *time < *problem.best->record.time_of_correct()))
      problem.best = &stored;
  }
  return all;
}

std::vector<Regret> regrets_of(const std::vector<StoredRecord>& oracle,
                               const std::vector<StoredRecord>& searched) {
  std::vector<Regret> all;
  const auto known = by_problem(oracle);
  for (const auto& [key, trials] : by_problem(searched)) {
    const auto found = known.find(key);
    if (found == known.end()) continue;
    const std::map<std::string, double> times = times_of(found->second);
    const std::map<std::string, double> own = times_of(trials);
    if (times.empty() || own.empty()) continue;
    const double measured = least_of(own);
    std::string chosen;
    for (const auto& [name, time] : own) {
      if (time == measured) chosen = name;
    }
    const auto by_oracle = times.find(chosen);
    const double reached = by_oracle == times.end() ? measured : by_oracle->second;
    const double oracle_time = least_of(times);
    all.push_back({name_of_problem(trials.front()->record), times.size(), oracle_time, trials.size(), chosen,
                   measured, reached, oracle_time / reached});
  }
  return all;
}

std::vector<Regret> played_through(const std::vector<StoredRecord>& oracle, std::int64_t trials, int seeds) {
  std::vector<Regret> all;
  for (const auto& [key, known] : by_problem(oracle)) {
    const std::map<std::string, double> times = times_of(known);
    if (times.empty()) continue;
    std::vector<double> reached;
    for (int seed = 1; seed <= std::max(1, seeds); ++seed)
      reached.push_back(play(known, trials, static_cast<std::uint64_t>(seed)));
    std::ranges::sort(reached);
    const double oracle_time = least_of(times), median = reached[reached.size() / 2];
    all.push_back({name_of_problem(known.front()->record), times.size(), oracle_time,
                   static_cast<std::size_t>(trials), "played through", median, median, oracle_time / median});
  }
  return all;
}

}  // namespace weft
