#include <weft/formats/prune/affinity.h>
#include <weft/formats/prune/k_means.h>
#include <weft/formats/prune/shfl_bw.h>
#include <weft/formats/random.h>

#include <algorithm>

namespace weft::pruning {
namespace {

constexpr std::int64_t most_refinements = 30;
constexpr std::int64_t most_attempts = 8;
/// Entries times groups that all attempts together may have where their number was left open: seconds.
constexpr std::int64_t quick_work = std::int64_t{1} << 30;

/// The best scores, each now 1. It has its own entries, because most are left out.
struct Mask {
  std::vector<std::int64_t> begin{0};
  std::vector<std::int32_t> column;
  Scores scores;

  Mask(const Scores& from, std::int64_t count) {
    const std::vector<bool> kept = greatest(from.value, count);
    for (std::int64_t row = 0; row < from.rows; ++row) {
      for (std::size_t entry = from.first(row); entry < from.last(row); ++entry) {
        // Where the budget exceeds what there is, weights that are worth nothing are among the best.
        if (kept[entry] && from.value[entry] > 0) column.push_back(from.column[entry]);
      }
      begin.push_back(std::ssize(column));
    }
    scores = {from.rows,
              from.columns,
              begin,
              column,
              std::vector<float>(column.size(), 1.0F),
              static_cast<double>(column.size())};
  }
  Mask(const Mask&) = delete;  // scores borrow begin and column
  Mask& operator=(const Mask&) = delete;
};

/// 1 where a group keeps the column.
Centroids kept_columns(const Scores& scores, const ShuffledVectors& state) {
  Centroids result(state.grouping.groups(), scores.columns);
  std::size_t unit = 0;
  for (std::int64_t group = 0; group < result.groups(); ++group) {
    for (std::int64_t column = 0; column < scores.columns; ++column)
      result.at(group, column) = state.chosen.kept[unit++] ? 1.0F : 0.0F;
  }
  return result;
}

/// By turns, the rows change places for the sake of the columns that are kept, and the columns are chosen
/// anew for the rows. Either raises the kept score, so that it ends.
void refine(const Scores& scores, std::int64_t budget, ShuffledVectors& state,
            const std::function<void(std::int64_t)>& round) {
  const std::int64_t rounds = turns_for(scores.rows, most_refinements);
  for (std::int64_t number = 1; number <= rounds; ++number) {
    round(number);
    const Affinity worth(scores, kept_columns(scores, state));
    Grouping grouping = state.grouping;
    if (!exchange_rows(worth, grouping)) return;
    Chosen chosen = best_vectors(scores, grouping, budget);
    if (chosen.score <= state.chosen.score) return;
    state = {std::move(grouping), std::move(chosen)};
  }
}

std::int64_t attempts_of(const Scores& scores, std::int64_t groups, const PruneOptions& options) {
  if (options.attempts > 0) return options.attempts;
  if (scores.rows > usual_rows) return 1;
  const std::int64_t work = std::max<std::int64_t>(1, std::ssize(scores.value)) * groups;
  return std::clamp<std::int64_t>(quick_work / work, 1, most_attempts);
}

}  // namespace

ShuffledVectors search_shfl_bw(const Scores& scores, std::int64_t height, std::int64_t budget,
                               const PruneOptions& options) {
  ShuffledVectors best;
  best.grouping = neighbours(scores.rows, height);
  best.chosen = best_vectors(scores, best.grouping, budget);
  if (best.grouping.groups() < 2) return best;
  const std::int64_t attempts = attempts_of(scores, best.grouping.groups(), options);
  const Mask mask(scores, std::min(2 * budget, scores.rows * scores.columns));
  Random random(options.seed);
  for (std::int64_t attempt = 1; attempt <= attempts; ++attempt) {
    const auto tell = [&](std::string_view stage) {
      return [&options, attempt, attempts, stage](std::int64_t round) {
        if (options.progress) options.progress({attempt, attempts, stage, round});
      };
    };
    ShuffledVectors found;
    found.grouping = balanced_k_means(mask.scores, height, random, tell("k-means"));
    found.chosen = best_vectors(scores, found.grouping, budget);
    // Rows that are in a good order already may be what the search should start from.
    if (attempt == 1 && found.chosen.score <= best.chosen.score) found = best;
    if (options.refine) refine(scores, budget, found, tell("refinement"));
    if (found.chosen.score > best.chosen.score) best = std::move(found);
  }
  return best;
}

}  // namespace weft::pruning
