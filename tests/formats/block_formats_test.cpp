// bcsr, blocked_ell, vector_wise and shfl_bw: what they store where, at every size of block and odd shapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/prune/prune.h>
#include <weft/formats/random.h>
#include <weft/formats/row_groups.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/synthetic.h>
#include <weft/formats/value_place.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <numeric>
#include <set>

#include "formats/damage.h"
#include "formats/generated_matrices.h"
#include "formats/integers.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Rows 0, 2, 5, … of some blocks are empty, lists are uneven.
WeightMatrix uneven(std::int64_t rows, std::int64_t columns, std::uint64_t seed, DType dtype) {
  Random random(seed);
  Array dense(dtype, {rows, columns});
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto kept = static_cast<std::uint64_t>((row / 8) % 4);  // share in fourths; 0: an empty block
    for (std::int64_t column = 0; column < columns; ++column) {
      if (random.bits() % 4 < kept)
        dense.set(row * columns + column, static_cast<double>(random.below(9) + 1));
    }
  }
  return from_dense(dense, "uneven");
}

/// Groups of rows that keep the same columns, density d, in a random order. `zeros` of the kept values are 0.
WeightMatrix grouped(std::int64_t rows, std::int64_t columns, std::int64_t of_group, double density,
                     double zeros, std::uint64_t seed, DType dtype = DType::f32) {
  Random random(seed);
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  Array dense(dtype, {rows, columns});
  std::vector<char> kept(static_cast<std::size_t>(columns));
  const auto chance = [&] { return static_cast<double>(random.bits() >> 11) * 0x1p-53; };
  for (std::int64_t place = 0; place < rows; ++place) {
    if (place % of_group == 0) {
      for (char& each : kept) each = chance() < density ? 1 : 0;
    }
    const std::int64_t row = order[static_cast<std::size_t>(place)];
    for (std::int64_t column = 0; column < columns; ++column) {
      if (kept[static_cast<std::size_t>(column)] != 0 && chance() >= zeros)
        dense.set(row * columns + column, 1 + chance());
    }
  }
  return from_dense(dense, "grouped");
}

std::vector<Format> formats_of_size(std::int64_t size) {
  return {formats::bcsr(size),
          formats::blocked_ell(size),
          formats::vector_wise({.rows = size}),
          formats::shfl_bw({.rows = size}),
          formats::shfl_bw({.rows = size, .places = 16, .index = 16}),
          formats::vector_wise({.rows = size, .places = 32})};
}

TEST(BlockFormats, GiveBackEveryOddShapeAtEverySize) {
  const std::vector<std::int64_t> extents{1, 7, 8, 9, 31, 33, 63, 65, 127, 129, 200};
  const std::vector<DType> types{DType::f32, DType::f16, DType::bf16};
  std::size_t count = 0;
  for (const std::int64_t size : {8, 16, 32, 64, 128, 256}) {
    for (const std::int64_t rows : extents) {
      for (const std::int64_t columns : extents) {
        const WeightMatrix weights =
            uneven(rows, columns, static_cast<std::uint64_t>(count), types[count % types.size()]);
        ++count;
        const Array dense = to_dense(weights);
        for (const Format& format : formats_of_size(size)) {
          const SparseTensor tensor = pack(weights, format);
          ASSERT_TRUE(same_bits(tensor.to_dense(), dense))
              << format.text() << ", " << rows << " x " << columns;
        }
      }
    }
  }
}

TEST(BlockFormats, GiveBackWhatHasNoRowsOrColumns) {
  for (const auto& [rows, columns] : {std::pair{0, 5}, {5, 0}, {0, 0}, {70, 1}}) {
    const WeightMatrix weights = from_coordinates(rows, columns, {}, {}, Array(DType::f16, {0}), "empty");
    for (const Format& format : formats_of_size(16)) {
      const SparseTensor tensor = pack(weights, format);
      EXPECT_EQ(tensor.array("values").size(), 0) << format.text();
      EXPECT_TRUE(same_bits(tensor.to_dense(), to_dense(weights))) << format.text();
    }
  }
}

/// Rows {0, 9}, {}, {1}, {}, {5} of 10 columns; blocks of 4.
WeightMatrix small_for_blocks() {
  return from_coordinates(5, 10, {0, 0, 2, 4}, {0, 9, 1, 5}, Array::of(std::vector<float>{1, 2, 3, 4}),
                          "small");
}

TEST(BlockFormats, BcsrLaysOutBlocks) {
  const SparseTensor tensor = pack(small_for_blocks(), formats::bcsr(4));
  EXPECT_THAT(test::integers(tensor, "begin"), ElementsAre(0, 2, 3));
  EXPECT_THAT(test::integers(tensor, "column"), ElementsAre(0, 2, 1));
  EXPECT_THAT(tensor.array("values").shape(), ElementsAre(3, 4, 4));
  EXPECT_EQ(tensor.array("values").get(0), 1);
  EXPECT_EQ(tensor.array("values").get(9), 3);
  EXPECT_EQ(tensor.array("values").get(16 + 1), 2);
  EXPECT_EQ(tensor.array("values").get(32 + 1), 4);
  std::int64_t places = 0;
  tensor.walk([&](std::int64_t row, std::int64_t column, std::int64_t) {
    EXPECT_TRUE(row < 5 && column < 10);
    ++places;
  });
  EXPECT_EQ(places, 16 + 8 + 4) << "whole blocks, cut off at the edges";
}

TEST(BlockFormats, BlockedEllPadsBlockRows) {
  const SparseTensor tensor = pack(small_for_blocks(), formats::blocked_ell(4));
  EXPECT_THAT(test::integers(tensor, "column"), ElementsAre(0, 2, 1, -1));
  EXPECT_THAT(tensor.array("values").shape(), ElementsAre(4, 4, 4));
  EXPECT_EQ(tensor.array("values").get(32 + 1), 4);
}

TEST(BlockFormats, VectorWiseListsTheColumnsOfGroups) {
  const SparseTensor tensor = pack(small_for_blocks(), formats::vector_wise({.rows = 8, .places = 16}));
  EXPECT_THAT(test::integers(tensor, "begin"), ElementsAre(0, 1));
  EXPECT_THAT(test::integers(tensor, "column"),
              ElementsAre(0, 1, 5, 9, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
  EXPECT_THAT(tensor.array("values").shape(), ElementsAre(1, 8, 16));
  EXPECT_FALSE(tensor.row_order().has_value());
  EXPECT_EQ(tensor.row_levels(), 2U);
}

TEST(BlockFormats, ValuesLieAsTensorCoresReadThem) {
  struct Layout {
    DType dtype;
    std::int64_t places;  // 0: those of 128 bytes
    int swizzle;
  };
  for (const Layout& layout : {Layout{DType::f16, 0, 3},
                               {DType::f16, 64, 3},
                               {DType::bf16, 32, 2},
                               {DType::f16, 16, 1},
                               {DType::f32, 0, 3},
                               {DType::f32, 16, 2},
                               {DType::f32, 64, 0},
                               {DType::f64, 0, 3},
                               {DType::e4m3, 0, 3},
                               {DType::e5m2, 64, 2},
                               {DType::i8, 128, 3}}) {
    const WeightMatrix weights = grouped(64, 150, 16, 0.6, 0, 5, layout.dtype);
    const SparseTensor tensor = pack(weights, formats::vector_wise({.rows = 16, .places = layout.places}));
    const Array& values = tensor.array("values");
    EXPECT_EQ(tensor.value_order().swizzle, layout.swizzle);
    const auto bytes = static_cast<std::int64_t>(size_of(layout.dtype));
    const std::int64_t places = values.shape()[2];
    const Array dense = to_dense(weights);
    const auto begin = test::integers(tensor, "begin");
    const auto column = test::integers(tensor, "column");
    for (std::int64_t group = 0; group < 4; ++group) {
      for (std::int64_t block = begin[static_cast<std::size_t>(group)];
           block < begin[static_cast<std::size_t>(group) + 1]; ++block) {
        for (std::int64_t row = 0; row < 16; ++row) {
          for (std::int64_t place = 0; place < places; ++place) {
            const std::int64_t k = column[static_cast<std::size_t>(block * places + place)];
            if (k < 0) continue;
            // The image of a block in shared memory, chunk by chunk, as the descriptors of wgmma have it.
            const std::int64_t row_bytes = places * bytes;
            const std::int64_t chunk = place * bytes / 16;
            const std::int64_t line = row * row_bytes / 128;  // number of the line of 128 bytes
            const std::int64_t mixed = layout.swizzle == 0   ? chunk
                                       : layout.swizzle == 1 ? chunk ^ (line & 1)
                                       : layout.swizzle == 2 ? chunk ^ (line & 3)
                                                             : chunk ^ (row & 7);
            const std::int64_t byte = (block * 16 + row) * row_bytes + mixed * 16 + place * bytes % 16;
            ASSERT_EQ(values.get(byte / bytes), dense.get((group * 16 + row) * 150 + k));
          }
        }
      }
    }
  }
}

TEST(BlockFormats, BytesFillLongerBlocks) {
  const Format format = formats::vector_wise({.rows = 16, .places = 128});
  EXPECT_EQ(pack(grouped(64, 150, 16, 0.6, 0, 5, DType::e4m3), format).array("values").shape()[2], 128);
  EXPECT_THROW(pack(grouped(64, 150, 16, 0.6, 0, 5, DType::f16), format), UserError);
}

TEST(BlockFormats, ASwizzleMovesWholeChunksInsideTheirLine) {
  for (const std::size_t bytes : {1U, 2U, 4U, 8U}) {
    for (const int swizzle : {0, 1, 2, 3}) {
      std::set<std::int64_t> places;
      const auto chunk = static_cast<std::int64_t>(16 / bytes);
      const std::int64_t line = 8 * chunk;
      for (std::int64_t place = 0; place < 16 * line; ++place) {
        const std::int64_t moved = swizzled_place(place, bytes, swizzle);
        places.insert(moved);
        EXPECT_EQ(moved / line, place / line);
        EXPECT_EQ(moved % chunk, place % chunk);
        EXPECT_EQ(moved, swizzled_place(place - place % chunk, bytes, swizzle) + place % chunk);
        EXPECT_EQ(swizzled_place(moved, bytes, swizzle), place);
      }
      EXPECT_EQ(std::ssize(places), 16 * line);
    }
  }
}

/// Each group of the packed tensor keeps as many columns as one of the given weight.
void expect_recovered(const WeightMatrix& weights, std::int64_t of_group) {
  const std::vector<std::int32_t> order = group_rows(weights, of_group);
  std::vector<std::int32_t> sorted = order;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], static_cast<std::int32_t>(i));
  ASSERT_EQ(std::ssize(order), weights.rows);
  for (std::int64_t first = 0; first < weights.rows; first += of_group) {
    std::set<std::int32_t> together;
    std::int64_t longest = 0;
    for (std::int64_t i = first; i < std::min(first + of_group, weights.rows); ++i) {
      const auto row = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
      together.insert(weights.column.begin() + weights.row_begin[row],
                      weights.column.begin() + weights.row_begin[row + 1]);
      longest = std::max(longest, weights.row_begin[row + 1] - weights.row_begin[row]);
    }
    EXPECT_LE(std::ssize(together), longest + longest / 8) << "group " << first / of_group;
  }
}

TEST(GroupRows, FindsGroupsThatAreThere) {
  for (const std::int64_t of_group : {8, 32, 64}) {
    for (const double density : {0.5, 0.25, 0.1}) {
      for (const std::int64_t rows : {256, 200, 1000}) {
        expect_recovered(grouped(rows, 400, of_group, density, 0, 3), of_group);
        expect_recovered(grouped(rows, 400, of_group, density, 0.01, 4), of_group);
      }
    }
  }
}

TEST(GroupRows, GivesAnOrderOfWeightsWithoutGroups) {
  for (const auto& [name, weights] : generated_matrices()) {
    for (const std::int64_t rows : {1, 8, 64}) {
      std::vector<std::int32_t> order = group_rows(weights, rows);
      std::ranges::sort(order);
      ASSERT_EQ(std::ssize(order), weights.rows) << name;
      for (std::size_t i = 0; i < order.size(); ++i)
        EXPECT_EQ(order[i], static_cast<std::int32_t>(i)) << name;
    }
  }
}

TEST(GroupRows, GroupsThatKeepMoreComeFirst) {
  constexpr std::int64_t of_group = 8, kept[] = {5, 0, 40, 17, 40};
  WeightMatrix weights;
  weights.rows = of_group * std::ssize(kept) + 3;
  weights.columns = 64;
  weights.row_begin = {0};
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const std::int64_t group = row % std::ssize(kept);  // the rows of a group lie apart
    const std::int64_t columns = row < of_group * std::ssize(kept) ? kept[group] : 64;
    for (std::int64_t i = 0; i < columns; ++i)
      weights.column.push_back(static_cast<std::int32_t>(columns == 64 ? i : (i + group) % 64));
    std::sort(weights.column.end() - columns, weights.column.end());
    weights.row_begin.push_back(std::ssize(weights.column));
  }
  const std::vector<std::int32_t> order = group_rows(weights, of_group);
  ASSERT_EQ(std::ssize(order), weights.rows);
  for (const auto& [place, row] : {std::pair{0, 2}, {8, 4}, {16, 3}, {24, 0}, {32, 1}, {40, 40}})
    EXPECT_EQ(order[static_cast<std::size_t>(place)], row) << place;
}

TEST(GroupRows, KeepsTheOrderOfWhatIsPackedAgain) {
  const SparseTensor tensor = pack(grouped(200, 300, 16, 0.3, 0.02, 9), formats::shfl_bw({.rows = 16}));
  const SparseTensor again = repack(tensor, tensor.format());
  EXPECT_EQ(test::integers(tensor, "row_order"), test::integers(again, "row_order"));
  EXPECT_TRUE(same_bits(tensor.array("values"), again.array("values")));
}

TEST(GroupRows, FindsTheGroupsThatPruningMade) {
  const WeightMatrix weights = synthetic_layer({.rows = 96, .columns = 200, .sparsity = 0, .row_spread = {}});
  for (const std::int64_t of_group : {8, 16, 32}) {
    const Pruning pruning = choose_weights(weights, formats::shfl_bw({.rows = of_group}), {.sparsity = 0.75});
    const SparseTensor tensor =
        pack(pruned(weights, pruning), formats::shfl_bw({.rows = of_group, .places = 16}));
    std::int64_t places = 0;
    tensor.walk([&](std::int64_t, std::int64_t, std::int64_t) { ++places; });
    EXPECT_EQ(places, pruning.kept()) << of_group;
  }
}

TEST(GroupRows, IsQuick) {
  const WeightMatrix structured = grouped(2048, 2048, 64, 0.25, 0.01, 1);
  const WeightMatrix unstructured =
      synthetic_layer({.rows = 2048, .columns = 2048, .sparsity = 0.75, .row_spread = {}});
  for (const WeightMatrix* weights : {&structured, &unstructured}) {
    const auto start = std::chrono::steady_clock::now();
    group_rows(*weights, 64);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    std::cout << weights->origin << ": " << taken.count() << " s\n";
    EXPECT_LT(taken.count(), 10);
  }
}

TEST(BlockFormats, RefuseSizesThatTheyDoNotHave) {
  for (const char* text : {"bcsr:b=3", "bcsr:b=512", "blocked_ell:b=0", "vector_wise:V=4", "shfl_bw:V=48",
                           "shfl_bw:k=8", "vector_wise:k=128", "shfl_bw:V=-8", "shfl_bw:index=8"}) {
    EXPECT_THAT(message_of([&] { pack(small_for_blocks(), parse_format(text)); }),
                HasSubstr("a power of two from"))
        << text;
  }
  const WeightMatrix wide = from_coordinates(1, 32769, {}, {}, Array(DType::f32, {0}), "wide");
  EXPECT_THAT(message_of([&] { pack(wide, parse_format("shfl_bw:index=16")); }), HasSubstr("32769 columns"));
  EXPECT_EQ(pack(wide, parse_format("shfl_bw")).columns(), 32769);
}

// ---- damage ----

TEST(BlockFormats, CheckNamesWhatIsDamaged) {
  const SparseTensor bcsr = pack(small_for_blocks(), formats::bcsr(4));
  EXPECT_EQ(complaint(bcsr), "none");
  EXPECT_THAT(complaint(damaged(bcsr, "column", 1, 3)), HasSubstr("row 0, column[1] | column 12 | 0 to 9"));
  EXPECT_THAT(complaint(damaged(bcsr, "column", 1, 0)), HasSubstr("stored before"));
  EXPECT_THAT(complaint(damaged(bcsr, "begin", 1, 9)), HasSubstr("row 0, begin[1]"));
  // Rows 5 to 7 and columns 10 and 11 do not exist.
  EXPECT_THAT(complaint(damaged(bcsr, "values", 16 + 2, 1)), AllOf(HasSubstr("values[18]"), HasSubstr("+0")));
  EXPECT_THAT(complaint(damaged(bcsr, "values", 32 + 4, 1)), HasSubstr("values[36]"));
  EXPECT_EQ(complaint(damaged(bcsr, "values", 32 + 3, 1)), "none");
  EXPECT_THAT(complaint(with_array(bcsr, "values", Array(DType::f32, {48}))),
              HasSubstr("array values | shape [48] | shape [3, 4, 4]"));

  const SparseTensor ell = pack(small_for_blocks(), formats::blocked_ell(4));
  EXPECT_THAT(complaint(damaged(ell, "values", 48, 1)), HasSubstr("values[48]"));
  EXPECT_THAT(complaint(damaged(ell, "column", 3, -2)), HasSubstr("or -1 for padding"));

  const SparseTensor groups = pack(small_for_blocks(), formats::shfl_bw({.rows = 8, .places = 16}));
  EXPECT_EQ(complaint(groups), "none");
  EXPECT_THAT(complaint(damaged(groups, "row_order", 1, 0)), HasSubstr("appears twice"));
  EXPECT_THAT(complaint(damaged(groups, "row_order", 1, -1)), HasSubstr("array row_order | 4 rows | 5 rows"));
  EXPECT_THAT(complaint(damaged(groups, "row_order", 0, 5)), HasSubstr("row_order[0] | row 5 | 0 to 4"));
  EXPECT_THAT(complaint(damaged(groups, "column", 0, 10)), HasSubstr("column[0] | column 10"));
  EXPECT_THAT(complaint(damaged(groups, "column", 1, 0)), HasSubstr("stored before"));
  EXPECT_THAT(complaint(damaged(groups, "begin", 0, 1)), HasSubstr("begin[0] | 1 | 0"));
  EXPECT_THAT(complaint(damaged(groups, "begin", 1, 2)),
              HasSubstr("array column | 16 elements | 32 elements"));
  // A place of padding, where it lies after the swizzle: row 4, place 8.
  const std::int64_t place = swizzled_place(4 * 16 + 8, 4, groups.value_order().swizzle);
  EXPECT_NE(place, 4 * 16 + 8);
  EXPECT_THAT(complaint(damaged(groups, "values", place, 2)),
              HasSubstr("values[" + std::to_string(place) + "]"));
  // A row that does not exist, in a column that is kept.
  EXPECT_THAT(
      complaint(damaged(groups, "values", swizzled_place(5 * 16, 4, groups.value_order().swizzle), 2)),
      HasSubstr("a value other than +0 in padding"));

  std::vector<Level> levels = bcsr.levels();
  levels[2].parent = 2;
  EXPECT_THAT(
      complaint(SparseTensor(bcsr.format(), bcsr.shape(), 5, 10, levels, bcsr.arrays(), bcsr.value_order())),
      HasSubstr("level 2 | parent 2"));
  EXPECT_THAT(complaint(SparseTensor(bcsr.format(), bcsr.shape(), 5, 10, bcsr.levels(), bcsr.arrays(),
                                     {.levels = {2, 2, 3}})),
              HasSubstr("the order of values | level 2"));
  EXPECT_THAT(complaint(SparseTensor(bcsr.format(), bcsr.shape(), 5, 10, bcsr.levels(), bcsr.arrays(),
                                     {.levels = {2, 1, 3}, .swizzle = 2})),
              HasSubstr("192 bytes, swizzled"));
}

}  // namespace
}  // namespace weft
