#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>
#include <weft/formats/merged.h>
#include <weft/formats/pattern_rules.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <ranges>

namespace weft {
namespace {

constexpr std::array<std::int64_t, 4> widths_of_rows{2, 4, 8, 16};
constexpr std::array<std::int64_t, 8> widths_of_blocks{4, 8, 10, 16, 20, 32, 40, 100};
constexpr std::array<std::int64_t, 4> heights{16, 32, 64, 128};
constexpr std::int64_t kept_columns = 4;
constexpr std::int64_t kept_of_row = 2;

using Break = PatternRule::Break;

void count(PatternRule& rule, bool keeps, const Break& otherwise) {
  ++rule.blocks;
  rule.fulfilled += keeps ? 1 : 0;
  if (!keeps && !rule.first_break) rule.first_break = otherwise;
}

/// The rules of one width for single rows.
void count_rows(const WeightMatrix& weights, std::int64_t width, std::vector<PatternRule>& rules) {
  const std::size_t first_rule = rules.size();
  for (std::int64_t n = 1; n <= width / 2; n *= 2) rules.push_back({1, n, width, 0, 0, {}});
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    auto entry = static_cast<std::size_t>(weights.row_begin[row]);
    const auto end = static_cast<std::size_t>(weights.row_begin[static_cast<std::size_t>(row) + 1]);
    while (entry < end) {
      const std::int64_t part = weights.column[entry] / width;
      std::int64_t stored = 0;
      for (; entry < end && weights.column[entry] / width == part; ++entry) ++stored;
      for (std::size_t rule = first_rule; rule < rules.size(); ++rule)
        count(rules[rule], stored <= rules[rule].n, {row, part * width, stored, true});
    }
  }
}

/// What some rows store in the columns of one block.
struct Cell {
  std::int64_t block = 0;
  std::array<std::uint64_t, 2> columns{};  ///< a bit each
  std::int64_t crowded_row = -1;           ///< the first with more than two
  std::int64_t crowded = 0;                ///< how many that one has

  std::int64_t used() const { return std::popcount(columns[0]) + std::popcount(columns[1]); }
};
/// By block, only those with an entry: the work follows the entries and not the columns.
using Cells = std::vector<Cell>;

/// `more` is of rows below.
Cell joined(Cell cell, const Cell& more) {
  for (std::size_t i = 0; i < cell.columns.size(); ++i) cell.columns[i] |= more.columns[i];
  if (cell.crowded_row >= 0) return cell;
  cell.crowded_row = more.crowded_row;
  cell.crowded = more.crowded;
  return cell;
}

/// The next part of a row, from `entry` on, which is moved behind it.
Cell part_of_row(const WeightMatrix& weights, std::int64_t width, std::int64_t row, std::size_t& entry,
                 std::size_t end) {
  Cell part{weights.column[entry] / width, {}, -1, 0};
  for (; entry < end && weights.column[entry] / width == part.block; ++entry) {
    const std::int64_t column = weights.column[entry] % width;
    part.columns[column / 64] |= std::uint64_t{1} << (column % 64);
  }
  if (part.used() > kept_of_row) {
    part.crowded_row = row;
    part.crowded = part.used();
  }
  return part;
}

/// Those of the rows from `first` to before `end`.
Cells cells_of(const WeightMatrix& weights, std::int64_t width, std::int64_t first, std::int64_t end) {
  struct Row {
    std::size_t next;
    std::size_t end;
  };
  std::vector<Row> rows;
  for (auto row = static_cast<std::size_t>(first); row < static_cast<std::size_t>(end); ++row)
    rows.push_back({static_cast<std::size_t>(weights.row_begin[row]),
                    static_cast<std::size_t>(weights.row_begin[row + 1])});
  Cells cells;
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  while (true) {
    std::int64_t block = none;
    for (const Row& row : rows) {
      if (row.next < row.end) block = std::min(block, weights.column[row.next] / width);
    }
    if (block == none) return cells;
    cells.push_back({block, {}, -1, 0});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Row& row = rows[i];
      if (row.next == row.end || weights.column[row.next] / width != block) continue;
      cells.back() = joined(
          cells.back(), part_of_row(weights, width, first + static_cast<std::int64_t>(i), row.next, row.end));
    }
  }
}

void count(PatternRule& rule, const Cells& cells, std::int64_t first_row) {
  for (const Cell& cell : cells) {
    const bool crowded = cell.crowded_row >= 0;
    const Break otherwise{crowded ? cell.crowded_row : first_row, cell.block * rule.m,
                          crowded ? cell.crowded : cell.used(), crowded};
    count(rule, !crowded && cell.used() <= kept_columns, otherwise);
  }
}

/// The rules of one width for blocks of every height: each height is two of the one before.
void count_blocks(const WeightMatrix& weights, std::int64_t width, std::vector<PatternRule>& rules) {
  std::vector<PatternRule> of_heights;
  for (const std::int64_t height : heights) of_heights.push_back({height, kept_of_row, width, 0, 0, {}});
  const std::int64_t tallest = heights.back();
  for (std::int64_t first = 0; first < weights.rows; first += tallest) {
    const std::int64_t end = first + std::min(tallest, weights.rows - first);
    std::vector<Cells> parts;
    for (std::int64_t row = first; row < end; row += heights.front())
      parts.push_back(cells_of(weights, width, row, std::min(row + heights.front(), end)));
    for (PatternRule& rule : of_heights) {
      for (std::size_t i = 0; i < parts.size(); ++i)
        count(rule, parts[i], first + static_cast<std::int64_t>(i) * rule.v);
      std::vector<Cells> taller;
      for (std::size_t i = 0; i < parts.size(); i += 2)
        taller.push_back(i + 1 < parts.size() ? merged(parts[i], parts[i + 1], &Cell::block, joined)
                                              : std::move(parts[i]));
      parts = std::move(taller);
    }
  }
  rules.insert(rules.end(), of_heights.begin(), of_heights.end());
}

/// Whether rows that keep `known` keep `rule`, too.
bool implies(const PatternRule& known, const PatternRule& rule) {
  if (known.m >= rule.m) return known.n <= rule.n;
  return known.n * (rule.m / known.m) <= rule.n;
}

}  // namespace

double PatternRule::share() const {
  return blocks == 0 ? 1 : static_cast<double>(fulfilled) / static_cast<double>(blocks);
}

std::string PatternRule::name() const {
  return v == 1 ? fmt::format("{}:{}", n, m) : fmt::format("{}:{}:{}", v, n, m);
}

std::vector<PatternRule> pattern_rules(const WeightMatrix& weights) {
  std::vector<PatternRule> rules;
  for (const std::int64_t width : widths_of_rows) count_rows(weights, width, rules);
  for (const std::int64_t width : widths_of_blocks) count_blocks(weights, width, rules);
  return rules;
}

std::vector<PatternRule> strictest_rows(const std::vector<PatternRule>& rules) {
  std::vector<PatternRule> holding;
  for (const PatternRule& rule : rules) {
    if (rule.v == 1 && rule.holds()) holding.push_back(rule);
  }
  std::vector<PatternRule> result;
  for (const PatternRule& rule : holding) {
    const bool implied = std::ranges::any_of(holding, [&](const PatternRule& other) {
      return (other.n != rule.n || other.m != rule.m) && implies(other, rule);
    });
    if (!implied) result.push_back(rule);
  }
  return result;
}

std::vector<PatternRule> tallest_blocks(const std::vector<PatternRule>& rules) {
  std::vector<PatternRule> result;
  for (const PatternRule& rule : rules) {
    if (rule.v == 1 || !rule.holds()) continue;
    const auto same = std::ranges::find(result, rule.m, &PatternRule::m);
    if (same == result.end()) {
      result.push_back(rule);
    } else if (same->v < rule.v) {
      *same = rule;
    }
  }
  return result;
}

bool keeps_two_of_four(const WeightMatrix& weights, std::int64_t v, std::int64_t m) {
  // The columns that the rows of a group use of each block: where more than four would be, no place is left.
  using Used = std::array<std::int32_t, kept_columns>;
  Used none;
  none.fill(-1);
  std::vector<Used> used(ceil_divide(weights.columns, m));
  const auto adds = [](Used& columns, std::int32_t column) {
    const auto place = std::ranges::find_if(columns, [&](auto one) { return one == column || one < 0; });
    if (place == columns.end()) return false;
    *place = column;
    return true;
  };
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    if (row % v == 0) std::ranges::fill(used, none);
    std::int64_t block = -1, end = 0, of_row = 0;
    for (const std::int32_t column : weights.columns_of(row)) {
      if (column >= end) {
        block = column / m;
        end = (block + 1) * m;
        of_row = 0;
      }
      if (++of_row > kept_of_row) return false;
      if (v > 1 && !adds(used[block], column)) return false;
    }
  }
  return weights.stored() > 0;
}

std::optional<PatternRule> widest_two_of_four(const WeightMatrix& weights) {
  for (const std::int64_t m : widths_of_blocks | std::views::reverse) {
    if (m <= kept_columns) break;
    for (const std::int64_t v : heights | std::views::reverse) {
      if (keeps_two_of_four(weights, v, m)) return PatternRule{v, kept_of_row, m, 0, 0, {}};
    }
  }
  return std::nullopt;
}

std::string text_of_break(const PatternRule& rule) {
  const Break& place = rule.first_break.value();
  const std::string columns = fmt::format("columns {} to {}", place.column, place.column + rule.m - 1);
  if (place.in_a_row)
    return fmt::format("row {} has {} in {}, at most {} allowed", place.row, place.found, columns, rule.n);
  return fmt::format("rows {} to {} use {} of {}, at most {} allowed", place.row, place.row + rule.v - 1,
                     place.found, columns, kept_columns);
}

}  // namespace weft
