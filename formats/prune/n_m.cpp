#include <weft/dsl/arithmetic.h>
#include <weft/formats/parallel.h>
#include <weft/formats/prune/n_m.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

namespace weft::pruning {
namespace {

constexpr std::size_t columns_of_quad = 4;
constexpr std::size_t lanes = 8;

using Quad = std::array<std::size_t, columns_of_quad>;  ///< numbers of columns of a tile

/// Scores of so many rows, worked on side by side.
using ScoresOfRows [[gnu::vector_size(lanes * sizeof(float))]] = float;
struct Rows {
  ScoresOfRows score;
};

/// The scores of a block, column by column, for the columns that have an entry.
class Tile {
 public:
  /// `rows` of `columns`, which ascend; all 0.
  void start(std::size_t rows, const std::vector<std::int32_t>& columns) {
    height_ = ceil_divide(rows, lanes);
    columns_ = columns;
    values_.assign(columns.size() * height_, Rows{});
  }
  void set(std::size_t row, std::size_t number, float value) {
    values_[number * height_ + row / lanes].score[row % lanes] = value;
  }

  std::size_t height() const { return height_; }  ///< in `Rows`
  std::size_t columns() const { return columns_.size(); }
  std::int32_t column(std::size_t number) const { return columns_[number]; }
  std::span<const Rows> of(std::size_t number) const {
    return std::span(values_).subspan(number * height_, height_);
  }

 private:
  std::size_t height_ = 0;
  std::vector<std::int32_t> columns_;
  std::vector<Rows> values_;
};

/// The best and the second best of some columns, row by row.
struct BestTwo {
  std::vector<Rows> first;
  std::vector<Rows> second;

  void clear(std::size_t height) {
    first.assign(height, Rows{});
    second.assign(height, Rows{});
  }
  /// As `before` with one column more.
  void extend(const BestTwo& before, std::span<const Rows> column) {
    first.resize(column.size());
    second.resize(column.size());
    for (std::size_t i = 0; i < column.size(); ++i) {
      const ScoresOfRows& best = before.first[i].score;
      const ScoresOfRows& next = before.second[i].score;
      const ScoresOfRows& added = column[i].score;
      const ScoresOfRows smaller = best < added ? best : added;
      first[i].score = best > added ? best : added;
      second[i].score = next > smaller ? next : smaller;
    }
  }
};

float total(const ScoresOfRows& sums) {
  float result = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) result += sums[lane];
  return result;
}

/// The score that the best two of some columns and one more leave, without the share of the very best of the
/// former: in each row the column takes the place of the second best if it exceeds it.
float with_column(const BestTwo& kept, std::span<const Rows> column) {
  ScoresOfRows sums{};
  for (std::size_t i = 0; i < column.size(); ++i) {
    const ScoresOfRows& next = kept.second[i].score;
    const ScoresOfRows& added = column[i].score;
    sums += next > added ? next : added;
  }
  return total(sums);
}

float sum_of_best(const BestTwo& kept) {
  ScoresOfRows sums{};
  for (const Rows& rows : kept.first) sums += rows.score;
  return total(sums);
}

/// Chooses four columns of one tile after the other; the memory is used again.
class Chooser {
 public:
  /// Numbers of columns of the tile, ascending: all where there are no more than four.
  std::vector<std::size_t> choose(const Tile& tile) {
    std::vector<std::size_t> all(tile.columns());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    if (all.size() <= columns_of_quad) return all;
    Quad quad = all.size() <= widest_exhaustive ? best_of_all(tile) : searched(tile);
    std::ranges::sort(quad);
    return {quad.begin(), quad.end()};
  }

 private:
  Quad best_of_all(const Tile& tile) {
    const std::size_t count = tile.columns();
    Quad best{};
    float greatest = -1;
    none_.clear(tile.height());
    for (std::size_t a = 0; a + 3 < count; ++a) {
      one_.extend(none_, tile.of(a));
      for (std::size_t b = a + 1; b + 2 < count; ++b) {
        two_.extend(one_, tile.of(b));
        for (std::size_t c = b + 1; c + 1 < count; ++c) {
          three_.extend(two_, tile.of(c));
          const float of_best = sum_of_best(three_);
          for (std::size_t d = c + 1; d < count; ++d) {
            const float with = of_best + with_column(three_, tile.of(d));
            if (with <= greatest) continue;
            greatest = with;
            best = {a, b, c, d};
          }
        }
      }
    }
    return best;
  }

  /// The column that adds most to `three_`, those of `taken` aside.
  std::size_t best_addition(const Tile& tile, std::span<const std::size_t> taken) const {
    std::size_t best = tile.columns();
    float most = -1;
    for (std::size_t column = 0; column < tile.columns(); ++column) {
      if (std::ranges::find(taken, column) != taken.end()) continue;
      const float with = with_column(three_, tile.of(column));
      if (with <= most) continue;
      most = with;
      best = column;
    }
    return best;
  }

  Quad searched(const Tile& tile) {
    Quad quad{};
    three_.clear(tile.height());
    for (std::size_t i = 0; i < quad.size(); ++i) {
      quad[i] = best_addition(tile, std::span(quad).first(i));
      two_ = three_;
      three_.extend(two_, tile.of(quad[i]));
    }
    while (improve(tile, quad)) {
    }
    return quad;
  }

  /// One column for another, if any such change raises the score.
  bool improve(const Tile& tile, Quad& quad) {
    for (std::size_t& out : quad) {
      three_.clear(tile.height());
      for (const std::size_t kept : quad) {
        if (kept == out) continue;
        std::swap(two_, three_);
        three_.extend(two_, tile.of(kept));
      }
      const std::size_t in = best_addition(tile, quad);
      if (with_column(three_, tile.of(in)) <= with_column(three_, tile.of(out))) continue;
      out = in;
      return true;
    }
    return false;
  }

  BestTwo none_;
  BestTwo one_;
  BestTwo two_;
  BestTwo three_;
};

/// The entries of one group of rows, block by block from left to right.
class GroupOfRows {
 public:
  GroupOfRows(const Scores& scores, FourOfBlock block, std::int64_t group, std::vector<char>& kept)
      : scores_(scores), width_(block.width), kept_(kept) {
    const std::int64_t first = group * block.height;
    const std::int64_t end = first + std::min(block.height, scores.rows - first);
    for (std::int64_t row = first; row < end; ++row) rows_.push_back({scores.first(row), scores.last(row)});
  }

  void prune() {
    while (true) {
      std::int64_t block = std::numeric_limits<std::int64_t>::max();
      for (const Entries& row : rows_) {
        if (row.next < row.end) block = std::min(block, scores_.column[row.next] / width_);
      }
      if (block == std::numeric_limits<std::int64_t>::max()) return;
      prune_block(block);
    }
  }

 private:
  struct Entries {
    std::size_t next;
    std::size_t end;
    std::size_t end_of_block = 0;
  };

  void prune_block(std::int64_t block) {
    number_of_.assign(width_, 0);
    for (Entries& row : rows_) {
      row.end_of_block = row.next;
      while (row.end_of_block < row.end && scores_.column[row.end_of_block] / width_ == block)
        number_of(scores_.column[row.end_of_block++]) = 1;
    }
    columns_.clear();
    for (std::int64_t i = 0; i < width_; ++i) {
      std::size_t& number = number_of_[i];
      if (std::exchange(number, columns_.size()) != 0)
        columns_.push_back(static_cast<std::int32_t>(block * width_ + i));
    }
    tile_.start(rows_.size(), columns_);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      for (std::size_t entry = rows_[row].next; entry < rows_[row].end_of_block; ++entry)
        tile_.set(row, number_of(scores_.column[entry]), scores_.value[entry]);
    }
    std::vector<std::int32_t> chosen;
    for (const std::size_t number : chooser_.choose(tile_)) chosen.push_back(tile_.column(number));
    for (Entries& row : rows_) keep_two(row, chosen);
  }

  std::size_t& number_of(std::int32_t column) { return number_of_[column % width_]; }

  void keep_two(Entries& row, std::span<const std::int32_t> chosen) {
    constexpr std::size_t nothing = std::numeric_limits<std::size_t>::max();
    std::size_t first = nothing;
    std::size_t second = nothing;
    for (std::size_t entry = row.next; entry < row.end_of_block; ++entry) {
      if (!std::ranges::binary_search(chosen, scores_.column[entry])) continue;
      if (first == nothing || scores_.value[entry] > scores_.value[first]) {
        second = std::exchange(first, entry);
      } else if (second == nothing || scores_.value[entry] > scores_.value[second]) {
        second = entry;
      }
    }
    if (first != nothing) kept_[first] = 1;
    if (second != nothing) kept_[second] = 1;
    row.next = row.end_of_block;
  }

  const Scores& scores_;
  std::int64_t width_;
  std::vector<char>& kept_;
  std::vector<Entries> rows_;
  std::vector<std::size_t> number_of_;  ///< numbers of the block's columns in the tile
  std::vector<std::int32_t> columns_;   ///< columns of the tile
  Tile tile_;
  Chooser chooser_;
};

}  // namespace

std::vector<char> best_two_of_four(const Scores& scores, FourOfBlock block) {
  std::vector<char> kept(scores.value.size());
  // Groups of 2:4 are single rows as far as choosing goes; a task is to be some rows nevertheless.
  if (block.width == static_cast<std::int64_t>(columns_of_quad)) block.height = 64;
  const std::int64_t groups = ceil_divide(scores.rows, block.height);
  parallel_for(groups, std::ssize(scores.value) * block.width,
               [&](std::int64_t group) { GroupOfRows(scores, block, group, kept).prune(); });
  return kept;
}

}  // namespace weft::pruning
