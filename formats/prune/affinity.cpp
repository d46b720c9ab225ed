#include <weft/formats/parallel.h>
#include <weft/formats/prune/affinity.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace weft::pruning {
namespace {

constexpr int most_passes = 20;
constexpr std::int64_t rows_at_once = 256;
/// A gain below this share of what a row is worth may be no more than rounding.
constexpr float least_gain = 1e-6F;

/// Added and multiplied at once, as far as the machine can. Left to itself the compiler takes several entries
/// at once in place of several groups, which is four times slower.
using Lanes [[gnu::vector_size(Centroids::lanes * sizeof(float))]] = float;

/// The members of each group, and where in its group each row stands.
class Members {
 public:
  explicit Members(const Grouping& grouping)
      : of_group_(static_cast<std::size_t>(grouping.groups())), place_(grouping.group_of_row.size()) {
    for (std::size_t row = 0; row < place_.size(); ++row) {
      auto& members = of_group_[static_cast<std::size_t>(grouping.group_of_row[row])];
      place_[row] = members.size();
      members.push_back(static_cast<std::int32_t>(row));
    }
  }
  const std::vector<std::int32_t>& of(std::int64_t group) const {
    return of_group_[static_cast<std::size_t>(group)];
  }
  void exchange(std::int32_t left, std::int32_t right, Grouping& grouping) {
    auto& left_group = grouping.group_of_row[static_cast<std::size_t>(left)];
    auto& right_group = grouping.group_of_row[static_cast<std::size_t>(right)];
    std::size_t& left_place = place_[static_cast<std::size_t>(left)];
    std::size_t& right_place = place_[static_cast<std::size_t>(right)];
    std::swap(of_group_[static_cast<std::size_t>(left_group)][left_place],
              of_group_[static_cast<std::size_t>(right_group)][right_place]);
    std::swap(left_group, right_group);
    std::swap(left_place, right_place);
  }

 private:
  std::vector<std::vector<std::int32_t>> of_group_;
  std::vector<std::size_t> place_;
};

/// The row with which `row` changes places to the greatest gain of both; -1 where there is none. Of two rows
/// that gain together one gains alone, so it is enough to look where `row` does.
std::int32_t best_partner(const Affinity& affinity, const Grouping& grouping, const Members& members,
                          std::int32_t row) {
  const std::int64_t own = grouping.group_of_row[static_cast<std::size_t>(row)];
  const float worth = affinity.at(own, row);
  const std::span<const float> in_own = affinity.of_group(own);
  float best = least_gain * std::abs(worth);
  std::int32_t partner = -1;
  for (std::int64_t group = 0; group < affinity.groups(); ++group) {
    const float gain = affinity.at(group, row) - worth;
    if (!(gain > 0)) continue;
    const std::span<const float> in_group = affinity.of_group(group);
    for (const std::int32_t other : members.of(group)) {
      const auto at = static_cast<std::size_t>(other);
      const float both = gain + (in_own[at] - in_group[at]);
      if (both <= best) continue;
      best = both;
      partner = other;
    }
  }
  return partner;
}

}  // namespace

Centroids::Centroids(std::int64_t groups, std::int64_t columns)
    : groups_(groups),
      columns_(columns),
      values_(static_cast<std::size_t>((groups + lanes - 1) / lanes * lanes * columns)) {}

Affinity::Affinity(const Scores& scores, const Centroids& centroids)
    : groups_(centroids.groups()), rows_(scores.rows), values_(static_cast<std::size_t>(groups_ * rows_)) {
  constexpr std::int64_t lanes = Centroids::lanes;
  const std::int64_t bundles = (groups_ + lanes - 1) / lanes;
  const std::int64_t parts = (rows_ + rows_at_once - 1) / rows_at_once;
  const auto add_up = [&](std::int64_t row, std::int64_t bundle) {
    const float* numbers = centroids.bundle(bundle);
    Lanes sum{};
    for (std::size_t entry = scores.first(row); entry < scores.last(row); ++entry) {
      Lanes of_column;
      std::memcpy(&of_column, numbers + static_cast<std::ptrdiff_t>(scores.column[entry]) * lanes,
                  sizeof of_column);
      sum += scores.value[entry] * of_column;
    }
    for (std::int64_t lane = 0; lane < std::min(lanes, groups_ - bundle * lanes); ++lane) {
      values_[static_cast<std::size_t>((bundle * lanes + lane) * rows_ + row)] = sum[lane];
    }
  };
  parallel_for(bundles * parts, std::ssize(scores.value) * groups_, [&](std::int64_t task) {
    const std::int64_t first = task % parts * rows_at_once;
    for (std::int64_t row = first; row < std::min(rows_, first + rows_at_once); ++row)
      add_up(row, task / parts);
  });
}

std::span<float> Affinity::of_group(std::int64_t group) {
  return std::span(values_).subspan(static_cast<std::size_t>(group * rows_), static_cast<std::size_t>(rows_));
}

std::span<const float> Affinity::of_group(std::int64_t group) const {
  return std::span(values_).subspan(static_cast<std::size_t>(group * rows_), static_cast<std::size_t>(rows_));
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
  std::vector<std::int64_t> room(static_cast<std::size_t>(affinity.groups()));
  for (std::size_t group = 0; group < room.size(); ++group)
    room[group] = result.rows_in(static_cast<std::int64_t>(group));
  for (const std::int32_t row : order) {
    std::int64_t chosen = -1;
    for (std::int64_t group = 0; group < affinity.groups(); ++group) {
      if (room[static_cast<std::size_t>(group)] == 0) continue;
      if (chosen < 0 || affinity.at(group, row) > affinity.at(chosen, row)) chosen = group;
    }
    --room[static_cast<std::size_t>(chosen)];
    result.group_of_row[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(chosen);
  }
  return result;
}

bool exchange_rows(const Affinity& affinity, Grouping& grouping) {
  Members members(grouping);
  bool any = false;
  for (int pass = 0; pass < most_passes; ++pass) {
    bool changed = false;
    for (std::int32_t row = 0; row < static_cast<std::int32_t>(affinity.rows()); ++row) {
      const std::int32_t partner = best_partner(affinity, grouping, members, row);
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
