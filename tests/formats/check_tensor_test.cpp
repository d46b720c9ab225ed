#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/synthetic.h>

#include <set>

#include "formats/damage.h"
#include "formats/generated_matrices.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// rows of columns: {0, 2}, {}, {1, 3, 4}, {0}
SparseTensor packed(const Format& format) {
  return pack(from_coordinates(4, 5, {0, 0, 2, 2, 2, 3}, {0, 2, 1, 3, 4, 0},
                               Array::of(std::vector<float>{1, 2, 3, 4, 5, 6}), "small"),
              format);
}

TEST(CheckTensor, NamesOffsetsThatAreWrong) {
  const SparseTensor csr = packed(formats::csr());
  EXPECT_EQ(complaint(csr), "none");
  EXPECT_THAT(complaint(damaged(csr, "begin", 2, 1)), HasSubstr("row 1, begin[2] | offset 1 after 2"));
  EXPECT_THAT(complaint(damaged(csr, "begin", 1, 9)),
              AllOf(HasSubstr("row 0, begin[1]"), HasSubstr("end by 6")));
  EXPECT_THAT(complaint(damaged(csr, "begin", 4, 5)), HasSubstr("begin[4] | 5 | 6"));
  EXPECT_THAT(complaint(damaged(csr, "begin", 0, 1)), HasSubstr("begin[0] | 1 | 0"));
  EXPECT_THAT(complaint(damaged(csr, "begin", 3, -7)), HasSubstr("row 2, begin[3] | offset -7 after 2"));
}

TEST(CheckTensor, NamesCoordinatesThatAreOutOfRange) {
  EXPECT_THAT(complaint(damaged(packed(formats::csr()), "column", 3, 5)),
              HasSubstr("row 2, column[3] | column 5 | 0 to 4"));
  EXPECT_THAT(complaint(damaged(packed(formats::csr()), "column", 0, -1)),
              HasSubstr("row 0, column[0] | column -1"));
  EXPECT_THAT(complaint(damaged(packed(formats::csc()), "row", 1, 4)),
              HasSubstr("column 0, row[1] | row 4 | 0 to 3"));
  EXPECT_THAT(complaint(damaged(packed(formats::coo()), "row", 5, -2)), HasSubstr("row[5] | row -2"));
  EXPECT_THAT(complaint(damaged(packed(formats::coo()), "column", 0, 2147483647)),
              HasSubstr("row 0, column[0] | column 2147483647"));
  EXPECT_THAT(complaint(damaged(packed(formats::ell()), "column", 2, -2)),
              AllOf(HasSubstr("row 0, column[2] | column -2"), HasSubstr("or -1 for padding")));
}

TEST(CheckTensor, NamesPlacesThatAreStoredTwice) {
  EXPECT_THAT(complaint(damaged(packed(formats::csr()), "column", 3, 1)),
              HasSubstr("row 2, column 1, values[3] | stored before, as values[2]"));
  EXPECT_THAT(complaint(damaged(packed(formats::csc()), "row", 1, 0)),
              HasSubstr("row 0, column 0, values[1]"));
  EXPECT_THAT(complaint(damaged(packed(formats::ell()), "column", 8, 1)),
              HasSubstr("row 2, column 1, values[8]"));
  // Out of order is not twice.
  const SparseTensor swapped = damaged(damaged(packed(formats::csr()), "column", 2, 4), "column", 4, 1);
  EXPECT_EQ(complaint(swapped), "none");
}

/// So many entries that threads share them: the first that is wrong is named, and twice is twice across
/// parts.
TEST(CheckTensor, FindsTheSameWhereThreadsShareTheEntries) {
  const WeightMatrix weights = synthetic_layer({.rows = 1500, .columns = 1000, .sparsity = 0.2, .seed = 3});
  for (const Format& format : {formats::csr(), formats::csc(), formats::coo(), formats::shfl_bw({.rows = 8}),
                               formats::bcsr(4), formats::pair_words(), formats::column_blocks(128)}) {
    const SparseTensor tensor = pack(weights, format);
    EXPECT_EQ(complaint(SparseTensor(tensor.format(), tensor.shape(), tensor.rows(), tensor.columns(),
                                     tensor.levels(), tensor.arrays(), tensor.value_order())),
              "none")
        << format.text();
  }
  const SparseTensor csr = pack(weights, formats::csr());
  const std::int64_t last = csr.array("column").size() - 1;
  EXPECT_THAT(complaint(damaged(csr, "column", last, 1000)), HasSubstr("row 1499"));
  EXPECT_THAT(complaint(damaged(damaged(csr, "column", last, 1000), "column", 3, 2000)),
              HasSubstr("row 0, column[3]"));
  const SparseTensor coo = pack(weights, formats::coo());
  const auto first = [&](const char* array) { return static_cast<double>(coo.array(array).get_integer(0)); };
  EXPECT_THAT(complaint(damaged(damaged(coo, "row", last, first("row")), "column", last, first("column"))),
              HasSubstr("every place at most once"));
}

TEST(CheckTensor, NamesPaddingThatHoldsAValue) {
  EXPECT_THAT(complaint(damaged(packed(formats::ell()), "values", 2, 1)), HasSubstr("row 0, values[2]"));
  EXPECT_THAT(complaint(damaged(packed(formats::ell()), "values", 4, -0.0)), HasSubstr("row 1, values[4]"));
}

TEST(CheckTensor, NamesArraysOfTheWrongSizeOrType) {
  const SparseTensor csr = packed(formats::csr());
  EXPECT_THAT(complaint(with_array(csr, "values", Array(DType::f32, {5}))),
              HasSubstr("array values | 5 elements | 6 elements"));
  EXPECT_THAT(complaint(with_array(csr, "begin", Array(DType::i32, {4}))),
              HasSubstr("array begin | 4 elements"));
  EXPECT_THAT(complaint(with_array(csr, "column", csr.array("column").converted(DType::i64))),
              HasSubstr("array column | i64 | i32"));
  EXPECT_THAT(complaint(with_array(packed(formats::dense()), "values", Array(DType::f32, {19}))),
              HasSubstr("array values | 19 elements | 20 elements"));
  EXPECT_THAT(complaint(with_array(packed(formats::ell()), "column", Array(DType::i32, {11}))),
              HasSubstr("array column | 11 elements | 12 elements"));
  const SparseTensor missing(csr.format(), csr.shape(), 4, 5, csr.levels(), {csr.arrays().back()});
  EXPECT_THAT(complaint(missing), HasSubstr("array begin | it is missing"));
  const SparseTensor reshaped(csr.format(), {4, 6}, 4, 5, csr.levels(), csr.arrays());
  EXPECT_THAT(complaint(reshaped), HasSubstr("the shape"));
}

/// What makes each format valid, said again without levels.
class Rules {
 public:
  explicit Rules(const SparseTensor& tensor) : tensor_(tensor) {}

  bool hold() {
    const std::string& name = tensor_.format().name;
    const std::int64_t stored = tensor_.array("values").size();
    if (name == "csr" || name == "csc") {
      const std::int64_t lists = name == "csr" ? tensor_.rows() : tensor_.columns();
      if (element("begin", 0) != 0 || element("begin", lists) != stored) return false;
      for (std::int64_t list = 0; list < lists; ++list) {
        if (element("begin", list) > element("begin", list + 1) || element("begin", list + 1) > stored)
          return false;
        for (std::int64_t i = element("begin", list); i < element("begin", list + 1); ++i) {
          if (!(name == "csr" ? take(list, element("column", i)) : take(element("row", i), list)))
            return false;
        }
      }
      return true;
    }
    if (name == "coo") {
      bool good = element("begin", 0) == 0 && element("begin", 1) == stored;
      for (std::int64_t i = 0; i < stored; ++i) good = good && take(element("row", i), element("column", i));
      return good;
    }
    if (name == "padded_csr") {
      const std::int64_t pad = tensor_.levels()[2].extent;
      if (element("begin", 0) != 0 || element("begin", tensor_.rows()) * pad != stored) return false;
      for (std::int64_t row = 0; row < tensor_.rows(); ++row) {
        const std::int64_t end = element("begin", row + 1) * pad;
        if (element("begin", row) * pad > end || end > stored) return false;
        for (std::int64_t i = element("begin", row) * pad; i < end; ++i) {
          const bool good = element("column", i) == -1 ? tensor_.array("values").is_zero_bits(i)
                                                       : take(row, element("column", i));
          if (!good) return false;
        }
      }
      return true;
    }
    const std::int64_t width = tensor_.levels()[1].extent;
    for (std::int64_t i = 0; i < stored; ++i) {
      const bool good = element("column", i) == -1 ? tensor_.array("values").is_zero_bits(i)
                                                   : take(i / width, element("column", i));
      if (!good) return false;
    }
    return true;
  }

 private:
  std::int64_t element(const std::string& name, std::int64_t index) const {
    return tensor_.array(name).get_integer(index);
  }
  bool take(std::int64_t row, std::int64_t column) {
    const bool inside = row >= 0 && row < tensor_.rows() && column >= 0 && column < tensor_.columns();
    return inside && taken_.emplace(row, column).second;
  }

  const SparseTensor& tensor_;
  std::set<std::pair<std::int64_t, std::int64_t>> taken_;
};

TEST(CheckTensor, AgreesWithTheRulesOfEachFormatUnderSeededDamage) {
  Random random(20);
  for (const Format& format :
       {formats::csr(), formats::csc(), formats::coo(), formats::ell(), formats::padded_csr({.pad = 2})}) {
    int found = 0;
    int harmless = 0;
    for (int trial = 0; trial < 500; ++trial) {
      WeightMatrix weights = random_matrix(1 + random.below(8), 1 + random.below(8), 0.4, random.bits());
      weights = with_random_values(weights, DType::f32, random.bits());
      const SparseTensor tensor = pack(weights, format);
      const auto& named =
          tensor.arrays()[static_cast<std::size_t>(random.below(std::ssize(tensor.arrays())))];
      if (named.array.size() == 0) continue;
      const SparseTensor changed = damaged(tensor, named.name, random.below(named.array.size()),
                                           static_cast<double>(random.below(14) - 3));
      const bool accepted = complaint(changed) == "none";
      EXPECT_EQ(accepted, Rules(changed).hold()) << format.name << ", " << named.name << ", trial " << trial;
      ++(accepted ? harmless : found);
    }
    EXPECT_GT(found, 50) << format.name;
    EXPECT_GT(harmless, 20) << format.name;
  }
}

}  // namespace
}  // namespace weft
