#include <weft/dsl/arithmetic.h>
#include <weft/formats/parallel.h>
#include <weft/formats/prune/affinity.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace weft::pruning {
namespace {

constexpr std::int64_t most_passes = 20;
constexpr std::int64_t rows_at_once = 256;
/// A gain below this share of what a row is worth may be no more than rounding.
constexpr float least_gain = 1e-6F;

/// Added and multiplied at once, as far as the machine can. Left to itself the compiler takes several entries
/// at once in place of several groups, which is four times slower.
using Lanes [[gnu::vector_size(Centroids::lanes * sizeof(float))]] = float;

/// The members of each group, where in its group each row stands, and what each is worth there. Members of a
/// group stand side by side, so that going through them is going through memory.
class Members {
 public:
  Members(const Affinity& affinity, const Grouping& grouping)
      : affinity_(affinity),
        height_(grouping.height),
        row_(grouping.group_of_row.size()),
        worth_(row_.size()),
        place_(row_.size()),
        changes_(static_cast<std::size_t>(grouping.groups())) {
    std::vector<std::int64_t> next(changes_.size());
    for (std::size_t group = 0; group < next.size(); ++group)
      next[group] = static_cast<std::int64_t>(group) * height_;
    for (std::size_t row = 0; row < row_.size(); ++row) {
      const std::int32_t group = grouping.group_of_row[row];
      put(static_cast<std::int32_t>(row), group, next[group]++);
    }
  }
  std::span<const std::int32_t> rows(std::int64_t group) const { return part(row_, group); }
  std::span<const float> worth(std::int64_t group) const { return part(worth_, group); }
  /// How often the group has changed.
  std::uint32_t changes(std::int64_t group) const { return changes_[group]; }

  void exchange(std::int32_t left, std::int32_t right, Grouping& grouping) {
    auto& left_group = grouping.group_of_row[left];
    auto& right_group = grouping.group_of_row[right];
    const std::int64_t left_place = place_[left];
    const std::int64_t right_place = place_[right];
    std::swap(left_group, right_group);
    put(left, left_group, right_place);
    put(right, right_group, left_place);
    ++changes_[left_group];
    ++changes_[right_group];
  }

 private:
  void put(std::int32_t row, std::int64_t group, std::int64_t place) {
    row_[place] = row;
    worth_[place] = affinity_.at(group, row);
    place_[row] = place;
  }
  template <class T>
  std::span<const T> part(const std::vector<T>& values, std::int64_t group) const {
    const std::int64_t first = group * height_;
    const std::int64_t count = std::min(height_, std::ssize(values) - first);
    return std::span(values).subspan(first, static_cast<std::size_t>(count));
  }

  const Affinity& affinity_;
  std::int64_t height_;
  std::vector<std::int32_t> row_;  ///< by group and place
  std::vector<float> worth_;       ///< by group and place
  std::vector<std::int64_t> place_;
  std::vector<std::uint32_t> changes_;
};

/// What the member of one group that gains most, or loses least, by going to another gains there. Kept until
/// the group it leaves changes: most rows find at a glance that no exchange with a group is worth while.
class BestGains {
 public:
  BestGains(const Affinity& affinity, const Members& members)
      : affinity_(affinity),
        members_(members),
        groups_(affinity.groups()),
        known_(static_cast<std::size_t>(groups_ * groups_)) {}

  float gain(std::int64_t from, std::int64_t to) {
    Known& known = known_[to * groups_ + from];
    const std::uint32_t now = members_.changes(from) + 1;
    if (known.at_change != now) known = {now, look(from, to)};
    return known.gain;
  }

 private:
  struct Known {
    std::uint32_t at_change = 0;
    float gain = 0;
  };
  float look(std::int64_t from, std::int64_t to) const {
    const std::span<const std::int32_t> rows = members_.rows(from);
    const std::span<const float> worth = members_.worth(from);
    const std::span<const float> there = affinity_.of_group(to);
    float best = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < rows.size(); ++i) best = std::max(best, there[rows[i]] - worth[i]);
    return best;
  }

  const Affinity& affinity_;
  const Members& members_;
  std::int64_t groups_;
  std::vector<Known> known_;
};

/// The same numbers with those of a row side by side: each row asks for its own in every group.
std::vector<float> by_row(const Affinity& affinity) {
  const auto rows = static_cast<std::size_t>(affinity.rows());
  const auto groups = static_cast<std::size_t>(affinity.groups());
  constexpr std::size_t at_once = 32;
  std::vector<float> result(rows * groups);
  for (std::size_t first = 0; first < rows; first += at_once) {
    for (std::size_t group = 0; group < groups; ++group) {
      const std::span<const float> worth = affinity.of_group(static_cast<std::int64_t>(group));
      for (std::size_t row = first; row < std::min(rows, first + at_once); ++row)
        result[row * groups + group] = worth[row];
    }
  }
  return result;
}

/// The row with which `row`, worth `in_groups`, changes places to the greatest gain of both; -1 where there
/// is none. Of two rows that gain together one gains alone, so it is enough to look where `row` does.
std::int32_t best_partner(const Affinity& affinity, const Members& members, BestGains& gains,
                          std::span<const float> in_groups, std::int64_t own) {
  const float worth = in_groups[own];
  const std::span<const float> in_own = affinity.of_group(own);
  float best = least_gain * std::abs(worth);
  std::int32_t partner = -1;
  for (std::int64_t group = 0; group < affinity.groups(); ++group) {
    const float gain = in_groups[group] - worth;
    // Rounding keeps the order, so that this leaves out no row that the loop below would take.
    if (!(gain > 0) || gain + gains.gain(group, own) <= best) continue;
    const std::span<const std::int32_t> others = members.rows(group);
    const std::span<const float> worth_of = members.worth(group);
    for (std::size_t i = 0; i < others.size(); ++i) {
      const float both = gain + (in_own[others[i]] - worth_of[i]);
      if (both <= best) continue;
      best = both;
      partner = others[i];
    }
  }
  return partner;
}

}  // namespace

Centroids::Centroids(std::int64_t groups, std::int64_t columns)
    : groups_(groups),
      columns_(columns),
      values_(static_cast<std::size_t>(ceil_divide(groups, lanes) * lanes * columns)) {}

Affinity::Affinity(const Scores& scores, const Centroids& centroids)
    : groups_(centroids.groups()), rows_(scores.rows), values_(static_cast<std::size_t>(groups_ * rows_)) {
  constexpr std::int64_t lanes = Centroids::lanes;
  const std::int64_t bundles = ceil_divide(groups_, lanes);
  const std::int64_t parts = ceil_divide(rows_, rows_at_once);
  const auto add_up = [&](std::int64_t row, std::int64_t bundle) {
    const float* numbers = centroids.bundle(bundle);
    Lanes sum{};
    for (std::size_t entry = scores.first(row); entry < scores.last(row); ++entry) {
      Lanes of_column;
      std::memcpy(&of_column, numbers + static_cast<std::ptrdiff_t>(scores.column[entry]) * lanes,
                  sizeof of_column);
      sum += scores.value[entry] * of_column;
    }
    for (std::int64_t lane = 0; lane < std::min(lanes, groups_ - bundle * lanes); ++lane)
      values_[(bundle * lanes + lane) * rows_ + row] = sum[lane];
  };
  parallel_for(bundles * parts, std::ssize(scores.value) * groups_, [&](std::int64_t task) {
    const std::int64_t first = task % parts * rows_at_once;
    for (std::int64_t row = first; row < std::min(rows_, first + rows_at_once); ++row)
      add_up(row, task / parts);
  });
}

std::span<float> Affinity::of_group(std::int64_t group) {
  return std::span(values_).subspan(group * rows_, static_cast<std::size_t>(rows_));
}

std::span<const float> Affinity::of_group(std::int64_t group) const {
  return std::span(values_).subspan(group * rows_, static_cast<std::size_t>(rows_));
}

Grouping first_grouping(const Affinity& affinity, std::int64_t height) {
  constexpr float none = -std::numeric_limits<float>::infinity();
  const auto rows = static_cast<std::size_t>(affinity.rows());
  std::vector<float> best(rows, none);
  std::vector<float> second(rows, none);
  for (std::int64_t group = 0; group < affinity.groups(); ++group) {
    const std::span<const float> worth = affinity.of_group(group);
    for (std::size_t row = 0; row < rows; ++row) {
      second[row] = std::max(second[row], std::min(best[row], worth[row]));
      best[row] = std::max(best[row], worth[row]);
    }
  }
  std::vector<std::int32_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](auto left, auto right) {
    const auto l = static_cast<std::size_t>(left);
    const auto r = static_cast<std::size_t>(right);
    return best[l] - second[l] > best[r] - second[r];
  });
  Grouping result{height, std::vector<std::int32_t>(rows)};
  std::vector<std::int64_t> room(affinity.groups());
  for (std::size_t group = 0; group < room.size(); ++group)
    room[group] = result.rows_in(static_cast<std::int64_t>(group));
  for (const std::int32_t row : order) {
    std::int64_t chosen = -1;
    for (std::int64_t group = 0; group < affinity.groups(); ++group) {
      if (room[group] == 0) continue;
      if (chosen < 0 || affinity.at(group, row) > affinity.at(chosen, row)) chosen = group;
    }
    --room[chosen];
    result.group_of_row[row] = static_cast<std::int32_t>(chosen);
  }
  return result;
}

std::int64_t turns_for(std::int64_t rows, std::int64_t most) {
  // What a turn costs grows with the square of the rows.
  return rows <= usual_rows ? most : std::max<std::int64_t>(1, most * usual_rows / rows * usual_rows / rows);
}

bool exchange_rows(const Affinity& affinity, Grouping& grouping) {
  Members members(affinity, grouping);
  BestGains gains(affinity, members);
  const std::vector<float> worth = by_row(affinity);
  const auto groups = static_cast<std::size_t>(affinity.groups());
  bool any = false;
  const std::int64_t passes = turns_for(affinity.rows(), most_passes);
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    bool changed = false;
    for (std::int32_t row = 0; row < static_cast<std::int32_t>(affinity.rows()); ++row) {
      const auto number = static_cast<std::size_t>(row);
      const auto in_groups = std::span(worth).subspan(number * groups, groups);
      const std::int32_t partner =
          best_partner(affinity, members, gains, in_groups, grouping.group_of_row[number]);
      if (partner < 0) continue;
      members.exchange(row, partner, grouping);
      changed = true;
    }
    any = any || changed;
    if (!changed) break;
  }
  return any;
}

}  // namespace weft::pruning
