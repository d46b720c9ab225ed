// Tiles of a weight that keep two of each four columns, beside tiles that do not.
#pragma once

#include <weft/formats/format.h>
#include <weft/formats/weight_matrix.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft {

/// Places of a row that two of every four of so many columns keep.
std::int64_t places_of_pairs(std::int64_t columns);

/// What the rows of a group have in a block of columns.
struct TileFilling {
  std::array<bool, 2> halves{};  ///< which have entries
  bool is_dense = false;         ///< a row has more than two in four columns

  bool any() const { return halves[0] || halves[1]; }
};

/// Of `rows` rows from `first` on, block by block of `columns`, a multiple of 8. Entries that are +0 count
/// for nothing.
std::vector<TileFilling> tile_fillings(const WeightMatrix& weights, std::int64_t first, std::int64_t rows,
                                       std::int64_t columns);

/// How weights are mixed of tiles of V rows and 64 columns.
struct MixedTiles {
  std::int64_t rows = 0;    ///< V
  std::int64_t tiles = 0;   ///< with an entry
  std::int64_t pairs = 0;   ///< those that keep two of each four columns
  std::int64_t places = 0;  ///< that the tiles leave: two of four, or all

  Format format() const;  ///< mixed, with V where it is not the usual one
};

/// The tiles that leave fewest places, of 256, 128, 64 or 32 rows; of equal ones the tallest. Nothing where
/// fewer than a tenth of them keep two of four, or all do, or where the places are not nearly all stored:
/// then it is no structure that the weights were given.
std::optional<MixedTiles> mixed_tiles(const WeightMatrix& weights);

}  // namespace weft
