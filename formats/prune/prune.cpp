#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>
#include <weft/formats/kept_slots.h>
#include <weft/formats/prune/mixed.h>
#include <weft/formats/prune/n_m.h>
#include <weft/formats/prune/prune.h>
#include <weft/formats/prune/shfl_bw.h>
#include <weft/formats/suggestion.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace weft {
namespace {

using pruning::Chosen;
using pruning::Grouping;
using pruning::Scores;

enum class Structure : std::uint8_t { weights, blocks, vectors, shuffled_vectors, two_of_four, mixed };

struct Prunable {
  std::string_view format;
  Structure structure;
  std::string_view granularity = {};  ///< the parameter; empty for single weights
  std::int64_t usual = 1;             ///< where the parameter is left out, as the format has it
};
constexpr std::array prunable{
    Prunable{"csr", Structure::weights},
    Prunable{"csc", Structure::weights},
    Prunable{"coo", Structure::weights},
    Prunable{"ell", Structure::weights},
    Prunable{"padded_csr", Structure::weights},
    Prunable{"sliced_ell", Structure::weights},
    Prunable{"bitmap", Structure::weights},
    Prunable{"bcsr", Structure::blocks, "b", 16},
    Prunable{"blocked_ell", Structure::blocks, "b", 16},
    Prunable{"vector_wise", Structure::vectors, "V", 64},
    Prunable{"shfl_bw", Structure::shuffled_vectors, "V", 64},
    Prunable{"n_m", Structure::two_of_four},
    Prunable{"v_n_m", Structure::two_of_four, "V", 64},
    Prunable{"mixed", Structure::mixed, "V", 128},
};
constexpr std::int64_t largest_granularity = std::int64_t{1} << 20;
constexpr double usual_sparsity = 0.75;
/// Of tiles of which at most half are left.
constexpr double usual_of_mixed = 0.35, most_of_mixed = 0.5;
constexpr double equal_sparsity = 1e-6;
constexpr std::int64_t widest_block = 256;
/// Rows times groups of a shuffle: the search keeps a number of 4 bytes for each, and asks each many times.
constexpr std::int64_t most_affinities = std::int64_t{1} << 28;

[[noreturn]] void refuse(std::string where, std::string found, std::string accepted) {
  throw UserError("weights cannot be pruned", std::move(where), std::move(found), std::move(accepted));
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
  refuse("the format (--format)", format.text(), accepted);
}

/// The columns of which four are kept.
std::int64_t width_of_block(const Format& format) {
  const auto given = format.parameters.find("M");
  const std::int64_t usual = format.name == "n_m" ? 4 : 8;
  const std::int64_t width = given == format.parameters.end() ? usual : given->second;
  if (format.name == "n_m" && width != 4) refuse("the format (--format)", format.text(), "n_m, two of four");
  if (width < 4 || width > widest_block)
    refuse("the format (--format)", format.text(),
           fmt::format("v_n_m:V=64,M=16, an M from 4 to {}", widest_block));
  return width;
}

/// Columns of a tile, which are those of a block.
std::int64_t width_of_tile(const Format& format) {
  const std::int64_t usual = formats::PairOptions{}.places;
  const auto given = format.parameters.find("k");
  if (given == format.parameters.end()) return usual;
  if (given->second < slots_of_quad || given->second > widest_block || given->second % slots_of_quad != 0)
    refuse("the format (--format)", format.text(),
           fmt::format("mixed:k={}, a multiple of {} up to {}", usual, slots_of_quad, widest_block));
  return given->second;
}

std::int64_t granularity(const Format& format) {
  const Prunable& as = prunable_as(format);
  const auto given = format.parameters.find(std::string(as.granularity));
  if (as.granularity.empty() || given == format.parameters.end()) return as.usual;
  if (given->second >= 1 && given->second <= largest_granularity) return given->second;
  refuse("the format (--format)", format.text(),
         fmt::format("{}:{}=64, a number from 1 to {}", as.format, as.granularity, largest_granularity));
}

std::optional<double> pattern_sparsity(const Format& format) {
  if (prunable_as(format).structure != Structure::two_of_four) return std::nullopt;
  return 1 - 2 / static_cast<double>(width_of_block(format));
}

double sparsity_for(const Format& format, std::optional<double> asked) {
  const std::optional<double> fixed = pattern_sparsity(format);
  if (fixed && asked && !(std::abs(*fixed - *asked) <= equal_sparsity))
    refuse("the sparsity", fmt::format("{} of {}", *asked, format.text()),
           fmt::format("{}, which follows from the pattern, or none", *fixed));
  if (prunable_as(format).structure != Structure::mixed)
    return fixed ? *fixed : asked.value_or(usual_sparsity);
  if (asked && *asked > most_of_mixed)
    refuse(
        "the sparsity", fmt::format("{} of {}", *asked, format.text()),
        fmt::format("at most {}, where two of four are kept in every tile; beyond it v_n_m", most_of_mixed));
  return asked.value_or(usual_of_mixed);
}

std::int64_t budget_of(const WeightMatrix& weights, double sparsity) {
  if (!(sparsity >= 0 && sparsity < 1))
    refuse("the sparsity", fmt::format("{}", sparsity), "at least 0 and below 1" + as_share(sparsity));
  const double places = static_cast<double>(weights.rows) * static_cast<double>(weights.columns);
  return std::llround((1 - sparsity) * places);
}

/// Units are numbered in 32 bits, and their sums are all in memory.
void check_units(std::int64_t down, std::int64_t across) {
  if (across > 0 && down > std::numeric_limits<std::int32_t>::max() / across)
    refuse("the size", fmt::format("{} x {} blocks, or columns of groups", down, across), "fewer than 2^31");
}

/// What the search for a shuffle takes, in memory and time.
void check_shuffle(std::int64_t rows, std::int64_t height) {
  const std::int64_t groups = ceil_divide(rows, height);
  if (groups < 2 || groups <= most_affinities / rows) return;
  std::int64_t enough = height;
  while (ceil_divide(rows, enough) > most_affinities / rows) enough *= 2;
  refuse("the size",
         fmt::format("{} rows in {} groups of {}: {:.0f} GB that say how well each row fits each group", rows,
                     groups, height, 4e-9 * static_cast<double>(rows) * static_cast<double>(groups)),
         fmt::format(
             "at most {:.0f} GB: shfl_bw:V={}, or vector_wise:V={}, which leaves the rows where they are",
             4e-9 * static_cast<double>(most_affinities), enough, height));
}

/// Single entries of the weight.
template <class Flags>
void keep_entries(const Scores& scores, const Flags& kept, Pruning& result) {
  for (std::int64_t row = 0; row < scores.rows; ++row) {
    for (std::size_t entry = scores.first(row); entry < scores.last(row); ++entry) {
      if (kept[entry]) result.column.push_back(scores.column[entry]);
    }
    result.row_begin.push_back(result.kept());
  }
}

/// Every place of the chosen units. Unit `group * across + i` is that of the columns from i * width on, in
/// the rows of the group.
void keep_units(const Scores& scores, const Grouping& grouping, const Chosen& chosen, std::int64_t width,
                Pruning& result) {
  const std::int64_t across = ceil_divide(scores.columns, width);
  std::vector<std::vector<std::int32_t>> columns(grouping.groups());
  for (std::int64_t unit = 0; unit < std::ssize(chosen.kept); ++unit) {
    if (!chosen.kept[unit]) continue;
    const std::int64_t first = unit % across * width;
    for (std::int64_t column = first; column < std::min(first + width, scores.columns); ++column)
      columns[unit / across].push_back(static_cast<std::int32_t>(column));
  }
  result.column.reserve(chosen.places);
  for (const std::int32_t group : grouping.group_of_row) {
    const std::vector<std::int32_t>& of_group = columns[group];
    result.column.insert(result.column.end(), of_group.begin(), of_group.end());
    result.row_begin.push_back(result.kept());
  }
}

/// Fills in the places.
void keep(const Scores& scores, Structure structure, std::int64_t size, std::int64_t budget,
          const PruneOptions& options, Pruning& result) {
  if (structure == Structure::weights)
    return keep_entries(scores, pruning::greatest(scores.value, budget), result);
  if (structure == Structure::two_of_four)
    return keep_entries(scores, pruning::best_two_of_four(scores, {size, width_of_block(result.format)}),
                        result);
  if (structure == Structure::mixed) {
    const std::int64_t dropped = scores.rows * scores.columns - budget;
    return keep_entries(scores, pruning::best_mixed(scores, {size, width_of_tile(result.format)}, dropped),
                        result);
  }
  const std::int64_t width = structure == Structure::blocks ? size : 1;
  check_units(ceil_divide(scores.rows, size), ceil_divide(scores.columns, width));
  if (structure == Structure::shuffled_vectors) {
    check_shuffle(scores.rows, size);
    const auto found = pruning::search_shfl_bw(scores, size, budget, options);
    result.row_order = found.grouping.row_order();
    return keep_units(scores, found.grouping, found.chosen, width, result);
  }
  const Grouping grouping = pruning::neighbours(scores.rows, size);
  const Chosen chosen = structure == Structure::blocks ? pruning::best_blocks(scores, size, budget)
                                                       : pruning::best_vectors(scores, grouping, budget);
  keep_units(scores, grouping, chosen, width, result);
}

/// Calls `visit(place, entry)` for every place of the pruning; -1 where the weight has no entry there.
template <class Visit>
void match(std::span<const std::int64_t> row_begin, std::span<const std::int32_t> column,
           const Pruning& pruning, const Visit& visit) {
  for (std::size_t row = 0; row + 1 < row_begin.size(); ++row) {
    std::int64_t entry = row_begin[row];
    for (std::int64_t place = pruning.row_begin[row]; place < pruning.row_begin[row + 1]; ++place) {
      const std::int32_t wanted = pruning.column[place];
      while (entry < row_begin[row + 1] && column[entry] < wanted) ++entry;
      const bool has = entry < row_begin[row + 1] && column[entry] == wanted;
      visit(place, has ? entry : -1);
    }
  }
}

Pruning chosen(const WeightMatrix& weights, const Format& format, const PruneOptions& options) {
  weights.check();
  if (options.scores != nullptr) options.scores->check();
  const Structure structure = prunable_as(format).structure;
  const std::int64_t size = granularity(format);
  const std::int64_t budget = budget_of(weights, sparsity_for(format, options.sparsity));
  const Scores scores = pruning::scores_of(weights, options.scores);
  Pruning result{format, {0}, {}, 1, {}};
  keep(scores, structure, size, budget, options, result);
  double kept = 0;
  match(scores.begin, scores.column, result, [&](std::int64_t, std::int64_t entry) {
    if (entry >= 0) kept += static_cast<double>(scores.value[entry]);
  });
  if (scores.total > 0) result.kept_score = kept / scores.total;
  return result;
}

WeightMatrix kept_of(const WeightMatrix& weights, const Pruning& pruning) {
  weights.check();
  WeightMatrix result{.shape = weights.shape,
                      .rows = weights.rows,
                      .columns = weights.columns,
                      .row_begin = pruning.row_begin,
                      .column = pruning.column,
                      .values = Array(weights.values.dtype(), {pruning.kept()}),
                      .pattern_only = weights.pattern_only,
                      .origin = weights.origin};
  result.check();
  match(weights.row_begin, weights.column, pruning, [&](std::int64_t place, std::int64_t entry) {
    if (entry >= 0) result.values.copy_element(place, weights.values, entry);
  });
  return result;
}

}  // namespace

std::int64_t granularity_of(const Format& format, CallPlace place) {
  return user_call(place, [&] { return granularity(format); });
}

std::optional<double> sparsity_of_pattern(const Format& format, CallPlace place) {
  return user_call(place, [&] { return pattern_sparsity(format); });
}

Pruning choose_weights(const WeightMatrix& weights, const Format& format, const PruneOptions& options,
                       CallPlace place) {
  return user_call(place, [&] { return chosen(weights, format, options); });
}

WeightMatrix pruned(const WeightMatrix& weights, const Pruning& pruning, CallPlace place) {
  return user_call(place, [&] {
    WeightMatrix kept = kept_of(weights, pruning);
    kept.row_scale = weights.row_scale;
    return kept;
  });
}

}  // namespace weft
