#include <weft/formats/pruned_for.h>
#include <weft/formats/row_groups.h>
#include <weft/formats/row_order.h>

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <utility>

namespace weft {
namespace {

using Rows = std::vector<std::int32_t>;

/// Of two rows of one group: what both keep over what either keeps. Rows with a tenth of their kept values
/// zero have 0.8; rows that have nothing to do with one another have that only where little is pruned.
constexpr double alike_enough = 0.7;

class GroupFinder {
 public:
  GroupFinder(const WeightMatrix& weights, std::int64_t rows)
      : weights_(weights), rows_(static_cast<std::size_t>(rows)) {}

  Rows operator()() {
    const std::span<const std::int32_t> known =
        row_order_in_groups(weights_, static_cast<std::int64_t>(rows_));
    Rows last(known.begin(), known.end());
    if (last.empty()) {
      take_equal();
      take_alike();
      last = similar();
    }
    // In an order that does not depend on what was found first.
    for (; last.size() >= rows_; last.erase(last.begin(), last.begin() + std::ssize(groups_.back())))
      groups_.emplace_back(last.begin(), last.begin() + static_cast<std::ptrdiff_t>(rows_));
    for (Rows& group : groups_) std::ranges::sort(group);
    std::ranges::sort(groups_);
    std::ranges::sort(last);
    Rows order;
    for (const Rows& group : longest_first()) order.insert(order.end(), group.begin(), group.end());
    order.insert(order.end(), last.begin(), last.end());
    return order;
  }

 private:
  std::span<const std::int32_t> columns_of(std::int32_t row) const { return weights_.columns_of(row); }

  /// Groups of rows with the same columns.
  void take_equal() {
    const auto less = [&](std::int32_t a, std::int32_t b) {
      return std::ranges::lexicographical_compare(columns_of(a), columns_of(b));
    };
    std::map<std::int32_t, Rows, decltype(less)> by_columns(less);
    for (std::int32_t row = 0; row < weights_.rows; ++row) by_columns[row].push_back(row);
    for (const auto& [first, rows] : by_columns) {
      std::size_t next = 0;
      for (; next + rows_ <= rows.size(); next += rows_)
        groups_.emplace_back(rows.begin() + static_cast<std::ptrdiff_t>(next),
                             rows.begin() + static_cast<std::ptrdiff_t>(next + rows_));
      rest_.insert(rest_.end(), rows.begin() + static_cast<std::ptrdiff_t>(next), rows.end());
    }
  }

  /// Groups of rows with nearly the same columns as the longest row that is left. Of a weight made of groups,
  /// only the last one may lack rows: where more rows than a group has are like no others, it is none.
  void take_alike() {
    std::ranges::stable_sort(rest_,
                             [&](auto a, auto b) { return columns_of(a).size() > columns_of(b).size(); });
    std::vector<std::int32_t> marked(weights_.columns, -1);
    Rows alone;
    while (rest_.size() >= rows_ && alone.size() < rows_) {
      const std::int32_t first = rest_.front();
      for (const std::int32_t column : columns_of(first)) marked[column] = first;
      std::vector<std::pair<double, std::int32_t>> likeness;  // the most alike first
      for (const std::int32_t row : rest_) {
        const auto common = std::ranges::count_if(
            columns_of(row), [&](std::int32_t column) { return marked[column] == first; });
        const auto either =
            std::ssize(columns_of(row)) + std::ssize(columns_of(first)) - static_cast<std::ptrdiff_t>(common);
        likeness.emplace_back(either == 0 ? -1 : -static_cast<double>(common) / static_cast<double>(either),
                              row);
      }
      const auto last = likeness.begin() + static_cast<std::ptrdiff_t>(rows_) - 1;
      std::ranges::nth_element(likeness, last);
      if (-last->first < alike_enough) {
        alone.push_back(first);
        rest_.erase(rest_.begin());
        continue;
      }
      Rows& group = groups_.emplace_back();
      for (auto each = likeness.begin(); each <= last; ++each) group.push_back(each->second);
      std::ranges::sort(group);
      std::erase_if(rest_, [&](std::int32_t row) { return std::ranges::binary_search(group, row); });
    }
    rest_.insert(rest_.end(), alone.begin(), alone.end());
    std::ranges::sort(rest_);
  }

  /// By the columns that a group's rows keep together: where blocks go through groups, the last ones are
  /// short.
  std::vector<Rows> longest_first() const {
    std::vector<std::pair<std::ptrdiff_t, const Rows*>> kept;
    std::vector<std::int32_t> seen(weights_.columns, -1);
    for (const Rows& group : groups_) {
      std::ptrdiff_t columns = 0;
      for (const std::int32_t row : group) {
        for (const std::int32_t column : columns_of(row))
          columns += std::exchange(seen[column], group.front()) != group.front() ? 1 : 0;
      }
      kept.emplace_back(columns, &group);
    }
    std::ranges::stable_sort(kept, std::greater(), &std::pair<std::ptrdiff_t, const Rows*>::first);
    std::vector<Rows> sorted;
    for (const auto& [columns, group] : kept) sorted.push_back(*group);
    return sorted;
  }

  /// What is left, in an order that puts similar rows together.
  Rows similar() const {
    WeightMatrix left;
    left.rows = std::ssize(rest_);
    left.columns = weights_.columns;
    left.row_begin = {0};
    for (const std::int32_t row : rest_) {
      const auto columns = columns_of(row);
      left.column.insert(left.column.end(), columns.begin(), columns.end());
      left.row_begin.push_back(left.stored());
    }
    Rows order = row_order(left, RowOrder::similar, static_cast<std::int64_t>(rows_));
    for (std::int32_t& row : order) row = rest_[row];
    return order;
  }

  const WeightMatrix& weights_;
  std::size_t rows_;
  std::vector<Rows> groups_;
  Rows rest_;
};

}  // namespace

std::vector<std::int32_t> group_rows(const WeightMatrix& weights, std::int64_t rows) {
  return GroupFinder(weights, rows)();
}

}  // namespace weft
