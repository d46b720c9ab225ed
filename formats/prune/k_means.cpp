#include <weft/dsl/arithmetic.h>
#include <weft/formats/prune/affinity.h>
#include <weft/formats/prune/k_means.h>

#include <bit>
#include <limits>

namespace weft::pruning {
namespace {

constexpr std::int64_t most_rounds = 16;

/// The columns of each row as bits, to count what two rows share.
class BitRows {
 public:
  explicit BitRows(const Scores& mask)
      : words_(static_cast<std::size_t>((mask.columns + 63) / 64)),
        bits_(static_cast<std::size_t>(mask.rows) * words_) {
    for (std::int64_t row = 0; row < mask.rows; ++row) {
      for (std::size_t entry = mask.first(row); entry < mask.last(row); ++entry) {
        const auto column = static_cast<std::size_t>(mask.column[entry]);
        bits_[static_cast<std::size_t>(row) * words_ + column / 64] |= std::uint64_t{1} << (column % 64);
      }
    }
  }
  /// Columns that one of the rows has and the other lacks: their squared distance.
  std::int64_t distance(std::int64_t left, std::int64_t right) const {
    const std::uint64_t* l = bits_.data() + static_cast<std::size_t>(left) * words_;
    const std::uint64_t* r = bits_.data() + static_cast<std::size_t>(right) * words_;
    std::int64_t count = 0;
    for (std::size_t word = 0; word < words_; ++word) count += std::popcount(l[word] ^ r[word]);
    return count;
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

/// One row for each group, drawn with a chance in proportion to the squared distance from those drawn before
/// (Arthur and Vassilvitskii, "k-means++: the advantages of careful seeding", 2007).
std::vector<std::int64_t> seeds(const Scores& mask, std::int64_t count, Random& random) {
  const BitRows bits(mask);
  std::vector<std::int64_t> distance(mask.rows, std::numeric_limits<std::int64_t>::max());
  std::vector<std::int64_t> chosen{random.below(mask.rows)};
  while (std::ssize(chosen) < count) {
    for (std::int64_t row = 0; row < mask.rows; ++row) {
      std::int64_t& nearest = distance[row];
      nearest = std::min(nearest, bits.distance(row, chosen.back()));
    }
    std::int64_t sum = 0;
    for (const std::int64_t d : distance) sum += d;
    // Rows that are all alike are equally good.
    std::int64_t drawn = sum > 0 ? random.below(sum) : 0;
    std::int64_t row = sum > 0 ? 0 : random.below(mask.rows);
    for (; sum > 0 && drawn >= distance[row]; ++row) drawn -= distance[row];
    chosen.push_back(row);
  }
  return chosen;
}

Centroids rows_as_centroids(const Scores& mask, const std::vector<std::int64_t>& rows) {
  Centroids result(std::ssize(rows), mask.columns);
  for (std::int64_t group = 0; group < result.groups(); ++group) {
    const std::int64_t row = rows[group];
    for (std::size_t entry = mask.first(row); entry < mask.last(row); ++entry)
      result.at(group, mask.column[entry]) = 1;
  }
  return result;
}

Centroids means(const Scores& mask, const Grouping& grouping) {
  Centroids result(grouping.groups(), mask.columns);
  for (std::int64_t row = 0; row < mask.rows; ++row) {
    const std::int64_t group = grouping.group_of_row[row];
    const float share = 1.0F / static_cast<float>(grouping.rows_in(group));
    for (std::size_t entry = mask.first(row); entry < mask.last(row); ++entry)
      result.at(group, mask.column[entry]) += share;
  }
  return result;
}

float square_of(const Centroids& centroids, std::int64_t group, std::int64_t columns) {
  float square = 0;
  for (std::int64_t column = 0; column < columns; ++column)
    square += centroids.at(group, column) * centroids.at(group, column);
  return square;
}

/// Twice the product of row and centroid less the centroid's square: the squared distance, turned round, but
/// for the square of the row, which is the same in every group.
Affinity nearness(const Scores& mask, const Centroids& centroids) {
  Affinity result(mask, centroids);
  for (std::int64_t group = 0; group < centroids.groups(); ++group) {
    const float square = square_of(centroids, group, mask.columns);
    for (float& value : result.of_group(group)) value = 2 * value - square;
  }
  return result;
}

/// A row is part of the mean of its own group, which is why it seems to fit there even if no other row does.
/// Its share is taken out, or rows of many columns and few entries would hardly ever move.
void leave_itself_out(const Scores& mask, const Grouping& grouping, Affinity& near) {
  for (std::int64_t row = 0; row < mask.rows; ++row) {
    const std::int64_t group = grouping.group_of_row[row];
    const auto entries = static_cast<float>(mask.last(row) - mask.first(row));
    near.of_group(group)[row] -= 2 * entries / static_cast<float>(grouping.rows_in(group));
  }
}

/// The squares of the means, each as often as its group has rows: the greater it is, the smaller is the sum
/// of the squared distances.
double tightness(const Grouping& grouping, const Centroids& means_of_groups, std::int64_t columns) {
  double sum = 0;
  for (std::int64_t group = 0; group < grouping.groups(); ++group)
    sum += static_cast<double>(square_of(means_of_groups, group, columns)) *
           static_cast<double>(grouping.rows_in(group));
  return sum;
}

}  // namespace

Grouping balanced_k_means(const Scores& mask, std::int64_t height, Random& random,
                          const std::function<void(std::int64_t)>& round) {
  const std::int64_t groups = ceil_divide(mask.rows, height);
  round(1);
  Affinity near = nearness(mask, rows_as_centroids(mask, seeds(mask, groups, random)));
  Grouping grouping = first_grouping(near, height);
  exchange_rows(near, grouping);
  Grouping best;
  double best_tightness = -1;
  bool leaving_out = false;
  for (std::int64_t number = 2;; ++number) {
    const Centroids centroids = means(mask, grouping);
    const double now = tightness(grouping, centroids, mask.columns);
    if (now > best_tightness) {
      best_tightness = now;
      best = grouping;
    }
    if (number > turns_for(mask.rows, most_rounds)) return best;
    round(number);
    near = nearness(mask, centroids);
    if (!leaving_out && exchange_rows(near, grouping)) continue;
    // From here on a turn may lead away from what is best, which is why that was kept.
    leaving_out = true;
    leave_itself_out(mask, grouping, near);
    if (!exchange_rows(near, grouping)) return best;
  }
}

}  // namespace weft::pruning
