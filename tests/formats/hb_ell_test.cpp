// hb_ell: what it stores where, in every width and at odd shapes; how it says what is damaged; that threads
// change nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/named/hb_ell_blocks.h>
#include <weft/formats/random.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/statistics/statistics.h>
#include <weft/formats/synthetic.h>

#include <chrono>
#include <cstring>
#include <iostream>

#include "formats/damage.h"
#include "formats/generated_matrices.h"
#include "formats/integers.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<double> values(const SparseTensor& tensor) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < tensor.array("values").size(); ++i)
    result.push_back(tensor.array("values").get(i));
  return result;
}

Format every(Format format, std::int64_t number) {
  format.parameters["every"] = number;
  return format;
}

std::vector<Format> every_form() {
  std::vector<Format> forms;
  for (const std::int64_t offset : {8, 4}) {
    for (const std::int64_t step : {1, 2, 4}) {
      for (const bool uniform : {false, true})
        forms.push_back(formats::hb_ell({.offset = offset, .step = step, .uniform = uniform}));
      forms.push_back(every(formats::hb_ell({.offset = offset, .step = step}), 4));
    }
    for (const std::int64_t size : {2, 4, 8})
      forms.push_back(formats::hb_ell({.size = size, .offset = offset}));
  }
  return forms;
}

/// Blocks of 2: a full one; one with an entry a row, in other columns; one with an entry in its second row;
/// two at the edge, of which one has a single row and column.
WeightMatrix small_for_hb_ell() {
  return from_coordinates(5, 7, {0, 0, 0, 1, 1, 1, 3, 4, 4}, {0, 1, 4, 0, 1, 5, 2, 3, 6},
                          Array::of(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9}), "small");
}

TEST(HbEll, StoresEllBlocksFirstAndDenseOnesBehind) {
  const SparseTensor tensor = pack(small_for_hb_ell(), formats::hb_ell({.size = 2}));
  EXPECT_THAT(test::integers(tensor, "brow_ptr"), ElementsAre(0, 2, 3, 5));
  EXPECT_THAT(test::integers(tensor, "bridx"), ElementsAre(0, 0, 1, 2, 2));
  EXPECT_THAT(test::integers(tensor, "bcidx"), ElementsAre(0, 2, 1, 1, 3));
  EXPECT_THAT(test::integers(tensor, "bcols"), ElementsAre(2, 1, 1, 1, 1));
  EXPECT_THAT(test::integers(tensor, "brow_valptr"), ElementsAre(8, 0, 2, 4, 6, 12));
  EXPECT_THAT(test::integers(tensor, "offset"), ElementsAre(0, 1, 0, 0, 1, 0, 0, 0));
  EXPECT_THAT(values(tensor), ElementsAre(3, 6, 0, 7, 8, 0, 9, 0, 1, 2, 4, 5));
  EXPECT_EQ(tensor.row_levels(), 2U);
  const SparseTensor halves = pack(small_for_hb_ell(), formats::hb_ell({.size = 2, .offset = 4}));
  EXPECT_THAT(test::integers(halves, "offset"), ElementsAre(16, 0, 1, 0))
      << "two in a byte, the first in its low half";
  EXPECT_TRUE(same_bits(halves.array("values"), tensor.array("values")));
}

TEST(HbEll, PadsWithTheLastOffsetOfTheRow) {
  const WeightMatrix weights = from_coordinates(3, 20, {0, 0, 0, 1, 1}, {2, 5, 9, 4, 11},
                                                Array::of(std::vector<float>{1, 2, 3, 4, 5}), "padded");
  const SparseTensor tensor = pack(weights, formats::hb_ell());
  EXPECT_THAT(test::integers(tensor, "bcols"), ElementsAre(3));
  const std::vector<std::int64_t> offset = test::integers(tensor, "offset");
  EXPECT_THAT(std::vector(offset.begin(), offset.begin() + 9), ElementsAre(2, 5, 9, 4, 11, 11, 0, 0, 0));
  EXPECT_THAT(test::integers(pack(weights, formats::hb_ell({.step = 4})), "bcols"), ElementsAre(4));
}

/// A block of 16 in which `entries` are stored, none of its rows longer than `longest`.
WeightMatrix block(std::int64_t entries, std::int64_t longest) {
  std::vector<std::int64_t> row, column;
  for (std::int64_t i = 0; i < entries; ++i) {
    row.push_back(i / longest);
    column.push_back(i % longest);
  }
  Array ones(DType::f16, {entries});
  for (std::int64_t i = 0; i < entries; ++i) ones.set(i, 1);
  return from_coordinates(16, 16, row, column, ones, "block");
}

TEST(HbEll, IsDenseBelowAQuarterOfZeros) {
  const auto width = [](std::int64_t entries, std::int64_t longest, std::int64_t step) {
    return test::integers(pack(block(entries, longest), formats::hb_ell({.step = step})), "bcols").front();
  };
  EXPECT_EQ(width(192, 12, 1), 12) << "a quarter of 256 is zero";
  EXPECT_EQ(width(193, 13, 1), 16);
  EXPECT_EQ(width(16, 16, 1), 16) << "a row without zeros";
  EXPECT_EQ(width(15, 15, 1), 15);
  EXPECT_EQ(width(15, 5, 2), 6);
  EXPECT_EQ(width(16, 8, 4), 8);
  EXPECT_EQ(width(18, 9, 4), 16) << "wider than half";
  EXPECT_EQ(width(1, 1, 4), 4);
}

TEST(HbEll, GivesBackEveryGeneratedMatrixInEveryForm) {
  for (const auto& [name, weights] : generated_matrices()) {
    for (const Format& format : every_form()) {
      const SparseTensor tensor = pack(weights, format);
      ASSERT_TRUE(same_bits(tensor.to_dense(), to_dense(weights))) << name << " in " << format.text();
    }
  }
}

TEST(HbEll, GivesBackOddShapes) {
  std::uint64_t seed = 0;
  for (const std::int64_t rows : {1, 15, 16, 17, 33, 70}) {
    for (const std::int64_t columns : {1, 15, 16, 17, 31, 100}) {
      for (const double density : {0.02, 0.3, 0.8, 1.0}) {
        const WeightMatrix weights = random_matrix(rows, columns, density, ++seed, DType::f16);
        for (const Format& format : every_form())
          ASSERT_TRUE(same_bits(pack(weights, format).to_dense(), to_dense(weights)))
              << rows << " x " << columns << " at " << density << " in " << format.text();
      }
    }
  }
}

TEST(HbEll, LeavesOutZerosButNotNegativeOnes) {
  const WeightMatrix weights = from_coordinates(2, 40, {0, 0, 1}, {3, 35, 20},
                                                Array::of(std::vector<float>{0.0F, -0.0F, 0.0F}), "zeros");
  const SparseTensor tensor = pack(weights, formats::hb_ell());
  EXPECT_THAT(test::integers(tensor, "bcidx"), ElementsAre(2));
  std::int64_t visits = 0;
  tensor.walk([&](std::int64_t row, std::int64_t column, std::int64_t) {
    EXPECT_EQ(row, 0);
    EXPECT_EQ(column, 35);
    ++visits;
  });
  EXPECT_EQ(visits, 1);
}

TEST(HbEll, OneWidthForAllStoresEveryBlock) {
  const SparseTensor tensor = pack(small_for_hb_ell(), formats::hb_ell({.size = 4, .uniform = true}));
  EXPECT_THAT(test::integers(tensor, "bcidx"), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(test::integers(tensor, "bcols"), ElementsAre(2, 2, 2, 2));
}

TEST(HbEll, OneWidthInStepsComesInPieces) {
  // The longest row of a block has five entries: three pieces of two for every block.
  const WeightMatrix weights =
      from_coordinates(2, 9, {0, 0, 0, 0, 0, 1, 1, 1}, {0, 1, 3, 5, 7, 2, 6, 8},
                       Array::of(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}), "two rows");
  const SparseTensor packed = pack(weights, formats::hb_ell({.size = 8, .step = 2, .uniform = true}));
  EXPECT_THAT(test::integers(packed, "brow_ptr"), ElementsAre(0, 6));
  EXPECT_THAT(test::integers(packed, "bcidx"), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(test::integers(packed, "bcols"), ElementsAre(2, 2, 2, 2, 2, 2));
  const std::vector<double> stored = values(packed);
  EXPECT_THAT(std::vector<double>(stored.begin(), stored.begin() + 4), ElementsAre(1, 2, 6, 7));
  EXPECT_THAT(std::vector<double>(stored.begin() + 16, stored.begin() + 20), ElementsAre(3, 4, 0, 0));
  EXPECT_THAT(std::vector<double>(stored.begin() + 32, stored.begin() + 36), ElementsAre(5, 0, 0, 0));
  EXPECT_TRUE(same_bits(packed.to_dense(), to_dense(weights)));
}

TEST(HbEll, StoresEveryBlockWhereAsked) {
  const SparseTensor tensor = pack(small_for_hb_ell(), every(formats::hb_ell({.size = 2}), 2));
  EXPECT_THAT(test::integers(tensor, "brow_ptr"), ElementsAre(0, 4, 8, 12, 16));
  EXPECT_THAT(test::integers(tensor, "bcols"), ElementsAre(2, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0));
  EXPECT_TRUE(same_bits(tensor.array("values"),
                        pack(small_for_hb_ell(), formats::hb_ell({.size = 2})).array("values")));
  EXPECT_THAT(complaint(damaged(tensor, "bcidx", 5, 2)), HasSubstr("bcidx[5] | 2 | 1"));
  EXPECT_THAT(complaint(damaged(tensor, "brow_ptr", 1, 3)), HasSubstr("brow_ptr[1] | 3 | 4"));
  EXPECT_THAT(complaint(damaged(tensor, "bridx", 5, 0)), HasSubstr("bridx[5] | 0 | 1"));
}

TEST(HbEll, AnyNumberOfThreadsGivesTheSameBytes) {
  const WeightMatrix weights =
      synthetic_layer({.rows = 1000, .columns = 700, .sparsity = 0.8, .row_spread = {}});
  for (const Format& format : every_form()) {
    const SparseTensor one = named::pack_hb_ell(weights, format, 1);
    for (const std::int64_t threads : {2, 3, 16}) {
      const SparseTensor several = named::pack_hb_ell(weights, format, threads);
      for (const SparseTensor::NamedArray& named : one.arrays())
        ASSERT_TRUE(same_bits(named.array, several.array(named.name)))
            << named.name << " on " << threads << " threads";
    }
  }
}

TEST(HbEll, TakesTheBytesThatStatisticsSay) {
  for (const auto& [name, weights] : generated_matrices()) {
    const Statistics found = statistics(weights);
    EXPECT_EQ(found.bytes_hb_ell, static_cast<std::int64_t>(pack(weights, formats::hb_ell()).bytes()))
        << name;
    EXPECT_EQ(found.bytes_uniform_ell,
              static_cast<std::int64_t>(pack(weights, formats::hb_ell({.uniform = true})).bytes()))
        << name;
  }
}

TEST(HbEll, IsPackedQuickly) {
  const WeightMatrix weights = converted(
      synthetic_layer({.rows = 4096, .columns = 4096, .sparsity = 0.9, .row_spread = {}}), DType::f16);
  const double megabytes = 2.0 * 4096 * 4096 / 1e6;
  for (const std::int64_t threads : {1, 2}) {
    const auto start = std::chrono::steady_clock::now();
    const SparseTensor tensor = named::pack_hb_ell(weights, formats::hb_ell(), threads);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    std::cout << threads << " threads: " << megabytes / taken.count() << " MB/s of the dense matrix\n";
    EXPECT_GT(tensor.array("values").size(), weights.stored());
    EXPECT_LT(taken.count(), 10);
  }
}

TEST(HbEll, CheckNamesWhatIsDamaged) {
  const SparseTensor tensor = pack(small_for_hb_ell(), formats::hb_ell({.size = 2}));
  EXPECT_EQ(complaint(tensor), "none");
  EXPECT_THAT(complaint(damaged(tensor, "bcols", 1, 3)), HasSubstr("bcols[1] | 3 | 0 to 2"));
  EXPECT_THAT(complaint(damaged(tensor, "bcols", 1, -1)), HasSubstr("bcols[1]"));
  EXPECT_THAT(complaint(damaged(tensor, "bcols", 1, 0)), HasSubstr("array brow_valptr"));
  EXPECT_THAT(complaint(damaged(tensor, "brow_valptr", 1, 8)), HasSubstr("brow_valptr[1] | places 8 to 9"));
  EXPECT_THAT(complaint(damaged(tensor, "brow_valptr", 1, 2)), HasSubstr("array brow_valptr"));
  EXPECT_THAT(complaint(damaged(tensor, "brow_valptr", 5, 2000000000)), HasSubstr("array "));
  EXPECT_THAT(complaint(damaged(tensor, "brow_ptr", 1, 9)), HasSubstr("brow_ptr[1]"));
  EXPECT_THAT(complaint(damaged(tensor, "bcidx", 1, 4)), HasSubstr("bcidx[1] | column 8 | 0 to 6"));
  EXPECT_THAT(complaint(damaged(tensor, "bcidx", 1, 0)), HasSubstr("stored before"));
  EXPECT_THAT(complaint(damaged(tensor, "bridx", 2, 0)), HasSubstr("bridx[2] | 0 | 1"));
  EXPECT_THAT(complaint(damaged(tensor, "offset", 1, 2)),
              HasSubstr("row 1, column 4, offset[1] | offset 2 | 0 to 1"));
  EXPECT_THAT(complaint(damaged(tensor, "offset", 2, 1)),
              HasSubstr("row 2, offset[2] | 1 | 0, the row's last"));
  // Column 7 and row 5 do not exist.
  EXPECT_THAT(complaint(damaged(tensor, "offset", 6, 1)), HasSubstr("offset[6] | column 7 | 0 to 6"));
  EXPECT_THAT(complaint(damaged(tensor, "values", 7, 1)), HasSubstr("values[7]"));
  const SparseTensor wide = pack(block(15, 5), formats::hb_ell());
  EXPECT_THAT(complaint(damaged(wide, "offset", 1, 0)),
              HasSubstr("row 0, column 0, values[1] | stored before"));
  EXPECT_THAT(complaint(damaged(wide, "offset", 1, 3)), AllOf(HasSubstr("row 0, "), HasSubstr("values[3]")));
  EXPECT_THAT(complaint(damaged(wide, "offset", 6, 0)), HasSubstr("stored before"));
  EXPECT_THAT(complaint(damaged(wide, "values", 0, 0)), HasSubstr("values[1] | an entry behind a +0"));
  std::vector<Level> levels = tensor.levels();
  levels[3].across = 2;
  EXPECT_THAT(complaint(SparseTensor(tensor.format(), tensor.shape(), 5, 7, levels, tensor.arrays())),
              HasSubstr("level 3 | a bucketed level"));
}

TEST(HbEll, RefusesParametersThatItDoesNotHave) {
  for (const char* text :
       {"hb_ell:b=32", "hb_ell:offset=2", "hb_ell:step=8", "hb_ell:uniform=2", "hb_ell:every=3",
        "hb_ell:every=4,uniform=1", "hb_ell:pairs=2", "hb_ell:pairs=1,every=8", "hb_ell:pairs=1,b=8",
        "hb_ell:pairs=1,V=32", "hb_ell:pairs=1,k=32", "hb_ell:k=64", "hb_ell:V=16"})
    EXPECT_THROW(pack(small_for_hb_ell(), parse_format(text)), UserError) << text;
  EXPECT_EQ(formats::hb_ell({.offset = 4, .uniform = true}).text(), "hb_ell:offset=4,uniform=1");
}

}  // namespace
}  // namespace weft
