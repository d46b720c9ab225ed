#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/prune.h>
#include <weft/formats/prune/shfl_bw.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace weft {
namespace {

using pruning::Chosen;
using pruning::Grouping;
using pruning::Scores;

enum class Structure : std::uint8_t { weights, blocks, vectors, shuffled_vectors };

struct Prunable {
  std::string_view format;
  Structure structure;
  std::string_view granularity;  ///< the parameter; empty for single weights
};
constexpr std::array prunable{
    Prunable{"csr", Structure::weights, {}},
    Prunable{"csc", Structure::weights, {}},
    Prunable{"coo", Structure::weights, {}},
    Prunable{"ell", Structure::weights, {}},
    Prunable{"padded_csr", Structure::weights, {}},
    Prunable{"bcsr", Structure::blocks, "b"},
    Prunable{"blocked_ell", Structure::blocks, "b"},
    Prunable{"vector_wise", Structure::vectors, "V"},
    Prunable{"shfl_bw", Structure::shuffled_vectors, "V"},
};
constexpr std::int64_t largest_granularity = std::int64_t{1} << 20;

[[noreturn]] void refuse(std::string where, std::string found, std::string accepted) {
  throw UserError({"weights cannot be pruned", std::move(where), std::move(found), std::move(accepted)});
}

const Prunable& prunable_as(const Format& format) {
  const auto found = std::ranges::find(prunable, format.name, &Prunable::format);
  if (found != prunable.end()) return *found;
  std::string accepted;
  for (const Prunable& known : prunable) {
    accepted += accepted.empty() ? "" : ", ";
    accepted += known.format;
    if (!known.granularity.empty()) accepted += fmt::format(":{}=32", known.granularity);
  }
  refuse("the format", format.text(), accepted);
}

std::int64_t budget_of(const WeightMatrix& weights, double sparsity) {
  if (!(sparsity >= 0 && sparsity < 1))
    refuse("the sparsity", fmt::format("{}", sparsity), "at least 0 and below 1");
  const double places = static_cast<double>(weights.rows) * static_cast<double>(weights.columns);
  return std::llround((1 - sparsity) * places);
}

/// Units are numbered in 32 bits, and their sums are all in memory.
void check_units(std::int64_t down, std::int64_t across, std::string_view what) {
  if (across > 0 && down > std::numeric_limits<std::int32_t>::max() / across) {
    refuse("the size", fmt::format("{} x {} {}", down, across, what), "fewer than 2^31");
  }
}

std::int64_t parts(std::int64_t extent, std::int64_t size) {
  return (extent + size - 1) / size;
}

/// Marks every entry whose unit was chosen; `unit_of(row, column)` is its number.
template <class Unit>
void keep_units(const Scores& scores, const Chosen& chosen, const Unit& unit_of, Pruning& result) {
  result.kept_places = chosen.places;
  for (std::int64_t row = 0; row < scores.rows; ++row) {
    for (std::size_t entry = scores.first(row); entry < scores.last(row); ++entry)
      result.kept[entry] = chosen.kept[static_cast<std::size_t>(unit_of(row, scores.column[entry]))];
  }
}

void keep_vectors(const Scores& scores, const Grouping& grouping, const Chosen& chosen, Pruning& result) {
  const auto unit_of = [&](std::int64_t row, std::int64_t column) {
    return grouping.group_of_row[static_cast<std::size_t>(row)] * scores.columns + column;
  };
  keep_units(scores, chosen, unit_of, result);
}

void keep(const Scores& scores, Structure structure, std::int64_t size, std::int64_t budget,
          const PruneOptions& options, Pruning& result) {
  switch (structure) {
    case Structure::weights:
      result.kept = pruning::greatest(scores.value, budget);
      result.kept_places = std::ranges::count(result.kept, true);
      return;
    case Structure::blocks: {
      const std::int64_t across = parts(scores.columns, size);
      check_units(parts(scores.rows, size), across, "blocks");
      const auto unit_of = [&](std::int64_t row, std::int64_t column) {
        return row / size * across + column / size;
      };
      return keep_units(scores, pruning::best_blocks(scores, size, budget), unit_of, result);
    }
    case Structure::vectors: {
      check_units(parts(scores.rows, size), scores.columns, "columns of groups");
      const Grouping grouping = pruning::neighbours(scores.rows, size);
      return keep_vectors(scores, grouping, pruning::best_vectors(scores, grouping, budget), result);
    }
    case Structure::shuffled_vectors: {
      check_units(parts(scores.rows, size), scores.columns, "columns of groups");
      const auto found = pruning::search_shfl_bw(scores, size, budget, options);
      result.row_order = found.grouping.row_order();
      return keep_vectors(scores, found.grouping, found.chosen, result);
    }
  }
}

}  // namespace

std::int64_t granularity_of(const Format& format) {
  const Prunable& as = prunable_as(format);
  if (as.granularity.empty()) return 1;
  const auto found = format.parameters.find(std::string(as.granularity));
  const std::string accepted =
      fmt::format("{}:{}=64, a number from 1 to {}", as.format, as.granularity, largest_granularity);
  if (found == format.parameters.end()) refuse("the format", format.text(), accepted);
  if (found->second < 1 || found->second > largest_granularity) refuse("the format", format.text(), accepted);
  return found->second;
}

Pruning choose_weights(const WeightMatrix& weights, const Format& format, const PruneOptions& options) {
  weights.check();
  if (options.scores != nullptr) options.scores->check();
  const Structure structure = prunable_as(format).structure;
  const std::int64_t size = granularity_of(format);
  const std::int64_t budget = budget_of(weights, options.sparsity);
  const Scores scores = pruning::scores_of(weights, options.scores);
  Pruning result{format, std::vector<bool>(scores.value.size()), 0, 1, {}};
  keep(scores, structure, size, budget, options, result);
  double kept = 0;
  for (std::size_t entry = 0; entry < scores.value.size(); ++entry)
    kept += result.kept[entry] ? static_cast<double>(scores.value[entry]) : 0;
  if (scores.total > 0) result.kept_score = kept / scores.total;
  return result;
}

WeightMatrix pruned(const WeightMatrix& weights, const Pruning& pruning) {
  if (pruning.kept.size() != weights.column.size()) {
    refuse("the choice of weights", fmt::format("made of {} weights", pruning.kept.size()),
           fmt::format("made of these {} weights", weights.column.size()));
  }
  WeightMatrix result = weights;
  std::int64_t next = 0;
  for (std::size_t row = 0; row < static_cast<std::size_t>(weights.rows); ++row) {
    for (auto entry = weights.row_begin[row]; entry < weights.row_begin[row + 1]; ++entry) {
      const auto at = static_cast<std::size_t>(entry);
      if (!pruning.kept[at]) continue;
      result.column[static_cast<std::size_t>(next)] = weights.column[at];
      result.values.copy_element(next++, weights.values, entry);
    }
    result.row_begin[row + 1] = next;
  }
  result.column.resize(static_cast<std::size_t>(next));
  Array values(weights.values.dtype(), {next});
  std::copy_n(result.values.data(), values.bytes(), values.data());
  result.values = std::move(values);
  return result;
}

}  // namespace weft
