// column_vectors: what it stores where, at every number of rows and odd shapes, and what is found wrong in
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/synthetic.h>

#include "formats/damage.h"
#include "formats/generated_matrices.h"
#include "formats/integers.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Rows {0, 9}, {}, {0, 9}, {}, {5}, {9}, {0} of 10 columns.
WeightMatrix rows_that_share() {
  return from_coordinates(7, 10, {0, 0, 2, 2, 4, 5, 6}, {0, 9, 0, 9, 5, 9, 0},
                          Array::of(std::vector<float>{1, 2, 3, 4, 5, 6, 7}), "small");
}

TEST(ColumnVectors, ValuesOfAColumnLieSideBySide) {
  const SparseTensor tensor = pack(rows_that_share(), formats::column_vectors(4));
  // The rows that keep 0 or 9 alone are one group; the others, with nothing or 5, are filled up by none.
  EXPECT_THAT(test::integers(tensor, "begin"), ElementsAre(0, 2, 3));
  EXPECT_THAT(test::integers(tensor, "column"), ElementsAre(0, 9, 5));
  EXPECT_THAT(tensor.array("values").shape(), ElementsAre(3, 4));
  EXPECT_THAT(test::integers(tensor, "row_order").back(), -1);
}

TEST(ColumnVectors, GiveBackEveryOddShape) {
  std::uint64_t seed = 0;
  for (const std::int64_t rows : {1, 3, 8, 33, 65}) {
    for (const std::int64_t columns : {1, 7, 31, 129}) {
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        const WeightMatrix weights = synthetic_layer(
            {.rows = rows, .columns = columns, .sparsity = 0.7, .dtype = dtype, .seed = ++seed});
        for (const char* format : {"column_vectors:V=4", "column_vectors", "column_vectors:V=64,index=16"}) {
          const SparseTensor tensor = pack(weights, parse_format(format));
          EXPECT_TRUE(same_bits(tensor.to_dense(), to_dense(weights)))
              << format << ", " << rows << " x " << columns;
        }
      }
    }
  }
}

TEST(ColumnVectors, ParametersAndDamageAreSaid) {
  for (const char* format : {"column_vectors:V=2", "column_vectors:V=12", "column_vectors:k=16"})
    EXPECT_THROW(static_cast<void>(pack(rows_that_share(), parse_format(format))), UserError) << format;
  const SparseTensor tensor = pack(rows_that_share(), formats::column_vectors(4));
  EXPECT_EQ(complaint(tensor), "none");
  EXPECT_THAT(complaint(damaged(tensor, "column", 1, 10)), HasSubstr("column[1]"));
  EXPECT_THAT(complaint(damaged(tensor, "begin", 1, 9)), HasSubstr("begin[1]"));
}

}  // namespace
}  // namespace weft
