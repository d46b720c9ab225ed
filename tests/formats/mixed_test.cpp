// mixed: which blocks of a group are stored as two of four and which whole, what it gives back, what is found
// of weights that are so, and which tiles pruning to it chooses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/mixed_tiles.h>
#include <weft/formats/prune/prune.h>
#include <weft/formats/random.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/structure.h>
#include <weft/formats/synthetic.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "formats/damage.h"
#include "formats/generated_matrices.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Format mixed_of(std::int64_t rows, std::int64_t places = 64) {
  return formats::mixed({.rows = rows, .places = places});
}

std::vector<std::int64_t> numbers_of(const SparseTensor& tensor, const std::string& array) {
  const Array& all = tensor.array(array);
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < all.size(); ++i) result.push_back(all.get_integer(i));
  return result;
}

TEST(Mixed, GivesBackEveryShapeAtEveryFilling) {
  std::uint64_t seed = 0;
  for (const auto& [rows, columns] :
       {std::pair{1, 1}, {1, 203}, {7, 9}, {31, 65}, {129, 101}, {65, 3}, {300, 330}, {64, 96}}) {
    for (const std::int64_t of_group : {16, 32, 128}) {
      for (const std::int64_t places : {64, 128}) {
        const Format format = mixed_of(of_group, places);
        for (const double density : {0.0, 0.05, 0.5, 1.0}) {
          const WeightMatrix weights = random_matrix(rows, columns, density, ++seed, DType::f16);
          EXPECT_TRUE(same_bits(pack(weights, format).to_dense(), to_dense(weights)))
              << format.text() << ", " << rows << " x " << columns << " at " << density;
        }
        const WeightMatrix tiles = mixed_of_tiles(rows, columns, of_group);
        const SparseTensor tensor = pack(tiles, format);
        EXPECT_TRUE(same_bits(tensor.to_dense(), to_dense(tiles))) << format.text();
        // Places that fill up a block are no entries where the weights are packed anew.
        EXPECT_EQ(numbers_of(repack(tensor, format), "block"), numbers_of(tensor, "block"));
      }
    }
  }
}

/// A group's blocks that keep all come first; halves and blocks without entries are not stored.
TEST(Mixed, ListsBlocksByKind) {
  // Of 64 columns each: 2:4, dense, nothing, the second half dense, 2:4.
  const WeightMatrix weights =
      where(random_matrix(20, 320, 1, 1, DType::f16), [](std::int64_t row, std::int64_t column) {
        switch (row < 16 ? column / 64 : 2) {
          case 1: return true;
          case 2: return false;
          case 3: return column % 64 >= 32;
          default: return column % 4 < 2;
        }
      });
  const SparseTensor tensor = pack(weights, mixed_of(16));
  EXPECT_THAT(numbers_of(tensor, "begin"), ElementsAre(0, 5, 5));
  EXPECT_THAT(numbers_of(tensor, "middle"), ElementsAre(3, 5));
  EXPECT_THAT(numbers_of(tensor, "block"), ElementsAre(2, 3, 7, 0, 8));
  EXPECT_THAT(tensor.array("values").shape(), ElementsAre(5, 16, 32));
  EXPECT_EQ(tensor.array("metadata").get_integer(0), 0);
}

TEST(Mixed, RefusesWhatDoesNotFitTogether) {
  const SparseTensor tensor = pack(mixed_of_tiles(40, 300, 16), mixed_of(16));
  EXPECT_EQ(complaint(tensor), "none");
  const std::int64_t middle = tensor.array("middle").get_integer(0);
  ASSERT_GT(middle, 0);
  EXPECT_THAT(complaint(damaged(tensor, "middle", 0, static_cast<double>(middle - 1))),
              AllOf(HasSubstr("metadata"), HasSubstr("no word of 0")));
  EXPECT_THAT(complaint(damaged(tensor, "middle", 1, 4000)), HasSubstr("middle[1]"));
  EXPECT_NE(complaint(damaged(tensor, "metadata", 3, 0x44444444)), "none");
  EXPECT_NE(complaint(damaged(tensor, "block", 0, 400)), "none");
  EXPECT_THAT(message_of([&] { pack(mixed_of_tiles(40, 300, 16), mixed_of(8)); }), HasSubstr("V"));
  // No word of 0 is one of plain 2:4.
  const SparseTensor pairs =
      pack(fitted(random_matrix(16, 64, 0.4, 1, DType::f16), {"n_m", {{"V", 16}}}), {"n_m", {{"V", 16}}});
  EXPECT_THAT(complaint(damaged(pairs, "metadata", 0, 0)), HasSubstr("code 0x0"));
}

TEST(MixedTiles, AreFoundWhereTheyAre) {
  const WeightMatrix layer = synthetic_layer({.rows = 512, .columns = 640, .sparsity = 0});
  for (const std::int64_t rows : {64, 128}) {
    for (const double share : {0.25, 0.45}) {
      const WeightMatrix weights = pruned(layer, choose_weights(layer, mixed_of(rows), {.sparsity = share}));
      const auto found = mixed_tiles(weights);
      ASSERT_TRUE(found.has_value()) << rows << " rows, " << share;
      EXPECT_EQ(found->rows, rows);
      EXPECT_NEAR(static_cast<double>(found->pairs) / static_cast<double>(found->tiles), 2 * share, 0.02);
      const std::vector<FoundStructure> structures = find_structures(weights);
      const auto own =
          std::ranges::find(structures, "mixed", [](const auto& one) { return one.format.name; });
      ASSERT_NE(own, structures.end());
      EXPECT_THAT(text_of(*own), AllOf(HasSubstr("mixed"), HasSubstr("of the tiles 2:4")));
    }
  }
  EXPECT_EQ(mixed_tiles(layer), std::nullopt);
  const auto pruned_to = [&](const Format& format, std::optional<double> sparsity) {
    return pruned(layer, choose_weights(layer, format, {.sparsity = sparsity}));
  };
  EXPECT_EQ(mixed_tiles(pruned_to({"n_m", {}}, {})), std::nullopt);
  EXPECT_EQ(mixed_tiles(pruned_to({"csr", {}}, 0.3)), std::nullopt);
  EXPECT_EQ(mixed_tiles(pruned_to({"vector_wise", {{"V", 64}}}, 0.35)), std::nullopt);
}

/// What two of four lose in each tile, by definition.
double lost_in(const Array& dense, std::int64_t row, std::int64_t rows, std::int64_t column) {
  double lost = 0;
  for (std::int64_t r = row; r < row + rows; ++r) {
    for (std::int64_t c = column; c < column + 64; c += 4) {
      std::array<double, 4> four{};
      for (std::size_t i = 0; i < 4; ++i)
        four[i] = std::abs(dense.get(r * dense.shape()[1] + c + static_cast<std::int64_t>(i)));
      std::ranges::sort(four);
      lost += four[0] + four[1];
    }
  }
  return lost;
}

TEST(PruneMixed, TakesTheTilesThatLoseLeast) {
  const WeightMatrix layer = trained_like(256, 640, 3);
  const Array dense = to_dense(layer);
  const Pruning found = choose_weights(layer, mixed_of(128), {.sparsity = 0.35});
  const Array kept = to_dense(pruned(layer, found));
  for (std::int64_t group = 0; group < 2; ++group) {
    std::vector<double> of_pairs, of_dense;
    for (std::int64_t tile = 0; tile < 10; ++tile) {
      bool is_dense = true;
      for (std::int64_t r = group * 128; r < (group + 1) * 128 && is_dense; ++r)
        for (std::int64_t c = tile * 64; c < (tile + 1) * 64; ++c)
          is_dense = is_dense && kept.get(r * 640 + c) == dense.get(r * 640 + c);
      (is_dense ? of_dense : of_pairs).push_back(lost_in(dense, group * 128, 128, tile * 64));
    }
    // 35 % of 10 tiles are 7 that leave half of their places.
    ASSERT_EQ(of_pairs.size(), 7U);
    EXPECT_LT(*std::ranges::max_element(of_pairs), *std::ranges::min_element(of_dense));
  }
  EXPECT_EQ(found.kept(), 256 * (3 * 64 + 7 * 32));
}

TEST(PruneMixed, LeavesAsManyPlacesAsAskedForAtEveryShape) {
  for (const auto& [rows, columns] : {std::pair{100, 700}, {300, 330}, {129, 1000}, {1, 64}, {64, 7}}) {
    const WeightMatrix layer = synthetic_layer({.rows = rows, .columns = columns, .sparsity = 0});
    const double places = static_cast<double>(rows) * columns;
    double kept_score = 2;
    for (const double share : {0.0, 0.25, 0.4, 0.5}) {
      const Pruning found = choose_weights(layer, mixed_of(64), {.sparsity = share});
      const double zeros = places - static_cast<double>(found.kept());
      // A tile more than asked for at most, and no more than all tiles leave.
      const double tile = 64.0 * 32;
      EXPECT_LE(zeros, share * places + tile) << rows << " x " << columns;
      if (share < 0.5) {
        EXPECT_GE(zeros + 1, std::min(share, 0.45) * places * (columns % 4 == 0 ? 1 : 0.8));
      }
      EXPECT_LE(found.kept_score, kept_score);
      kept_score = found.kept_score;
      const SparseTensor tensor = pack(pruned(layer, found), mixed_of(64));
      EXPECT_TRUE(same_bits(tensor.to_dense(), to_dense(pruned(layer, found))));
    }
    EXPECT_EQ(choose_weights(layer, mixed_of(64), {.sparsity = 0.5}).kept(),
              choose_weights(layer, {"n_m", {}}, {}).kept());
  }
}

TEST(PruneMixed, RefusesMoreThanHalf) {
  const WeightMatrix layer = synthetic_layer({.rows = 64, .columns = 64, .sparsity = 0});
  EXPECT_THAT(message_of([&] { choose_weights(layer, mixed_of(64), {.sparsity = 0.6}); }),
              AllOf(HasSubstr("0.6 of mixed:V=64"), HasSubstr("at most 0.5")));
  EXPECT_THAT(message_of([&] { choose_weights(layer, {"mixed", {{"k", 6}}}, {.sparsity = 0.3}); }),
              HasSubstr("a multiple of 4"));
}

}  // namespace
}  // namespace weft
