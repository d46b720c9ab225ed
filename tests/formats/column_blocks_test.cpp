// column_blocks: what it stores where, at every width of a block and odd shapes, and what is found wrong in
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

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Rows {0, 9}, {}, {3, 4} of 10 columns.
WeightMatrix three_rows() {
  return from_coordinates(3, 10, {0, 0, 2, 2}, {0, 9, 3, 4}, Array::of(std::vector<float>{1, 2, 3, 4}),
                          "small");
}

TEST(ColumnBlocks, ColumnsCountFromTheFirstOfTheirBlock) {
  const SparseTensor tensor = pack(three_rows(), formats::column_blocks(4));
  EXPECT_THAT(test::integers(tensor, "begin"), ElementsAre(0, 1, 1, 2, 2, 2, 3, 4, 4, 4));
  EXPECT_THAT(test::integers(tensor, "column"), ElementsAre(0, 3, 0, 1));
  const auto values = tensor.array("values").as<float>();
  EXPECT_THAT(std::vector<float>(values.begin(), values.end()), ElementsAre(1, 3, 4, 2));
}

TEST(ColumnBlocks, GiveBackEveryOddShape) {
  std::uint64_t seed = 0;
  for (const std::int64_t rows : {1, 3, 33, 65}) {
    for (const std::int64_t columns : {1, 7, 31, 129, 300}) {
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        const WeightMatrix weights = synthetic_layer(
            {.rows = rows, .columns = columns, .sparsity = 0.7, .dtype = dtype, .seed = ++seed});
        for (const char* format :
             {"column_blocks:columns=4", "column_blocks", "column_blocks:columns=32768"}) {
          const SparseTensor tensor = pack(weights, parse_format(format));
          EXPECT_TRUE(same_bits(tensor.to_dense(), to_dense(weights)))
              << format << ", " << rows << " x " << columns;
        }
      }
    }
  }
}

TEST(ColumnBlocks, ParametersAndDamageAreSaid) {
  for (const char* format : {"column_blocks:columns=2", "column_blocks:columns=12",
                             "column_blocks:columns=65536", "column_blocks:index=16"})
    EXPECT_THROW(static_cast<void>(pack(three_rows(), parse_format(format))), UserError) << format;
  const SparseTensor tensor = pack(three_rows(), formats::column_blocks(4));
  EXPECT_EQ(complaint(tensor), "none");
  EXPECT_THAT(complaint(damaged(tensor, "column", 0, 5)),
              AllOf(HasSubstr("column[0]"), HasSubstr("column 5"), HasSubstr("0 to 3")));
  EXPECT_THAT(complaint(damaged(tensor, "begin", 1, 9)), HasSubstr("begin[1]"));
}

}  // namespace
}  // namespace weft
