#include <weft/dsl/arithmetic.h>
#include <weft/formats/mixed_tiles.h>
#include <weft/formats/prune/mixed.h>
#include <weft/formats/prune/n_m.h>

#include <algorithm>

namespace weft::pruning {
namespace {

struct TileLoss {
  std::int64_t group = 0, number = 0;
  std::int64_t left = 0;  ///< places without a weight once two of four are kept
  double lost = 0;        ///< score of what is dropped for that

  double lost_of_each() const { return lost / static_cast<double>(left); }
};

class TileChoice {
 public:
  TileChoice(const Scores& scores, Tiles tiles)
      : scores_(scores),
        tiles_(tiles),
        across_(ceil_divide(scores.columns, tiles.width)),
        kept_(best_two_of_four(scores, {})) {}

  std::vector<char> operator()(std::int64_t dropped) {
    if (across_ > 0) choose(dropped);
    std::vector<char> result(kept_.size(), 1);
    each_entry([&](std::int64_t tile, std::size_t entry) {
      if (is_pruned_[static_cast<std::size_t>(tile)]) result[entry] = kept_[entry];
    });
    return result;
  }

 private:
  std::int64_t groups() const { return ceil_divide(scores_.rows, tiles_.height); }

  /// `visit(tile, entry)`.
  template <class Visit>
  void each_entry(const Visit& visit) const {
    for (std::int64_t row = 0; row < scores_.rows; ++row) {
      const std::int64_t first = row / tiles_.height * across_;
      for (std::size_t entry = scores_.first(row); entry < scores_.last(row); ++entry)
        visit(first + scores_.column[entry] / tiles_.width, entry);
    }
  }

  /// Those of each group, the one that loses least first.
  std::vector<std::vector<TileLoss>> sorted_tiles() const {
    std::vector<std::vector<TileLoss>> result(static_cast<std::size_t>(groups()));
    for (std::int64_t group = 0; group < groups(); ++group) {
      const std::int64_t rows = std::min(tiles_.height, scores_.rows - group * tiles_.height);
      for (std::int64_t number = 0; number < across_; ++number) {
        const std::int64_t columns = std::min(tiles_.width, scores_.columns - number * tiles_.width);
        result[static_cast<std::size_t>(group)].push_back(
            {group, number, rows * (columns - places_of_pairs(columns)), 0});
      }
    }
    each_entry([&](std::int64_t tile, std::size_t entry) {
      if (kept_[entry] == 0)
        result[static_cast<std::size_t>(tile / across_)][static_cast<std::size_t>(tile % across_)].lost +=
            static_cast<double>(scores_.value[entry]);
    });
    for (std::vector<TileLoss>& of_group : result) {
      std::erase_if(of_group, [](const TileLoss& tile) { return tile.left == 0; });
      std::ranges::stable_sort(of_group, {}, &TileLoss::lost_of_each);
    }
    return result;
  }

  /// The share of each group, and then of all groups' next tiles those that lose least.
  void choose(std::int64_t dropped) {
    is_pruned_.assign(static_cast<std::size_t>(groups() * across_), false);
    const std::vector<std::vector<TileLoss>> tiles = sorted_tiles();
    const double share = static_cast<double>(dropped) / static_cast<double>(scores_.rows * scores_.columns);
    std::vector<TileLoss> next;
    for (std::size_t group = 0; group < tiles.size(); ++group) {
      const auto first = static_cast<std::int64_t>(group) * tiles_.height;
      const auto places =
          static_cast<double>(std::min(tiles_.height, scores_.rows - first) * scores_.columns);
      double left = share * places;
      for (const TileLoss& tile : tiles[group]) {
        if (left < static_cast<double>(tile.left)) {
          next.push_back(tile);
          break;
        }
        left -= static_cast<double>(tile.left);
        dropped -= prune(tile);
      }
    }
    std::ranges::stable_sort(next, {}, &TileLoss::lost_of_each);
    for (const TileLoss& tile : next) {
      if (dropped <= 0) return;
      dropped -= prune(tile);
    }
  }

  std::int64_t prune(const TileLoss& tile) {
    is_pruned_[static_cast<std::size_t>(tile.group * across_ + tile.number)] = true;
    return tile.left;
  }

  const Scores& scores_;
  Tiles tiles_;
  std::int64_t across_;
  std::vector<char> kept_;       ///< by entry, were all of them two of four
  std::vector<bool> is_pruned_;  ///< by tile
};

}  // namespace

std::vector<char> best_mixed(const Scores& scores, Tiles tiles, std::int64_t dropped) {
  return TileChoice(scores, tiles)(dropped);
}

}  // namespace weft::pruning
