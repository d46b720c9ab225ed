// What the metadata of a file says that its weights were pruned for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/formats/io/pruned_for.h>
#include <weft/formats/io/read.h>
#include <weft/formats/random.h>
#include <weft/formats/sparse_tensor.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;
using Metadata = std::map<std::string, std::string>;

constexpr std::int32_t group = 8, groups = 8, rows = group * groups, columns = 80;

/// Rows eight apart keep the same half of the columns, most of which are zero by chance: no two rows look
/// alike.
Array thinned() {
  Random random(3);
  std::vector<bool> kept(static_cast<std::size_t>(groups * columns));
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = random.uniform() < 0.5;
  Array dense(DType::f16, {rows, columns});
  for (std::int64_t i = 0; i < dense.size(); ++i) {
    const std::int64_t row = i / columns;
    const bool is_kept = kept[static_cast<std::size_t>(row % groups * columns + i % columns)];
    if (is_kept && random.uniform() < 0.4) dense.set(i, 1 + random.uniform());
  }
  return dense;
}

std::vector<std::int32_t> true_order() {
  std::vector<std::int32_t> order;
  for (std::int32_t i = 0; i < rows; ++i) order.push_back(i % group * groups + i / group);
  return order;
}

class PrunedForTest : public ::testing::Test {
 protected:
  ~PrunedForTest() override { fs::remove(path_); }

  WeightMatrix read_with(const Metadata& metadata, const std::string& tensor = {}) const {
    write_safetensors(path_, {{"a.weight", thinned()}, {"b.weight", Array(DType::f16, {4, 4})}}, metadata);
    return read(path_, {.tensor = tensor.empty() ? "a.weight" : tensor});
  }

  std::string path_ =
      (fs::temp_directory_path() / ("weft_pruned_for_" + std::to_string(::getpid()) + ".safetensors"))
          .string();
};

/// Columns that groups of the packed weights have, all groups together.
std::int64_t columns_of_groups(const SparseTensor& packed) {
  const Array& column = packed.array("column");
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < column.size(); ++i) count += column.get_integer(i) >= 0 ? 1 : 0;
  return count;
}

TEST_F(PrunedForTest, RowsArePackedInTheGroupsThatTheyWerePrunedIn) {
  const Format format = formats::shfl_bw({.rows = group});
  const WeightMatrix unsaid = read_with({});
  const WeightMatrix said = read_with(io::metadata_of_pruned(format, true_order(), "a.weight"));
  EXPECT_EQ(unsaid.pruned_for, nullptr);
  ASSERT_NE(said.pruned_for, nullptr);
  EXPECT_EQ(said.pruned_for->format, format);
  EXPECT_EQ(said.pruned_for->row_order, true_order());
  EXPECT_EQ(said.note, "");
  const SparseTensor packed = pack(said, format);
  EXPECT_LT(columns_of_groups(packed), groups * columns * 0.6);
  EXPECT_GT(columns_of_groups(pack(unsaid, format)), columns_of_groups(packed)) << "or nothing is tested";
  for (std::int64_t i = 0; i < rows; ++i)
    EXPECT_EQ(packed.array("row_order").get_integer(i) % groups,
              packed.array("row_order").get_integer(i - i % group) % groups);
  // In groups of fewer rows that divide them, and in the columns of a CPU; never in larger ones.
  EXPECT_LT(columns_of_groups(pack(said, formats::column_vectors(4))),
            columns_of_groups(pack(unsaid, formats::column_vectors(4))));
  EXPECT_EQ(columns_of_groups(pack(said, formats::shfl_bw({.rows = 16}))),
            columns_of_groups(pack(unsaid, formats::shfl_bw({.rows = 16}))));
  const Array dense = thinned(), unpacked = packed.to_dense();
  EXPECT_TRUE(std::equal(dense.data(), dense.data() + dense.bytes(), unpacked.data()));
}

TEST_F(PrunedForTest, ValuesOfAnotherTypeKeepItAndOtherRowsDoNot) {
  const WeightMatrix said =
      read_with(io::metadata_of_pruned(formats::shfl_bw({.rows = group}), true_order(), "a.weight"));
  EXPECT_EQ(converted(said, DType::f32).pruned_for, said.pruned_for);
  WeightMatrix fewer = said;
  fewer.rows = fewer.shape.front() = rows - 1;
  fewer.row_begin.pop_back();
  fewer.column.resize(static_cast<std::size_t>(fewer.row_begin.back()));
  fewer.values = Array(DType::f16, {fewer.stored()});
  EXPECT_EQ(pack(fewer, formats::shfl_bw({.rows = group})).rows(), rows - 1) << "rows that were cut off";
}

TEST_F(PrunedForTest, OfSeveralTensorsEachHasItsOwn) {
  Metadata metadata = io::metadata_of_pruned(formats::bcsr(16), {}, "b.weight");
  metadata.merge(io::metadata_of_pruned(Format{"vector_wise", {}}, {}, "a.weight"));
  EXPECT_EQ(read_with(metadata, "b.weight").pruned_for->format.text(), "bcsr:b=16");
  EXPECT_EQ(read_with(metadata).pruned_for->format.text(), "vector_wise:V=64") << "the usual V, written out";
  metadata.erase("weft.format.a.weight");
  EXPECT_EQ(read_with(metadata).pruned_for, nullptr);
  EXPECT_EQ(read_with(io::metadata_of_pruned(formats::csr(), {})).pruned_for->format.text(), "csr");
}

TEST_F(PrunedForTest, WhatDoesNotFitIsANoteAndNothingElse) {
  const WeightMatrix unsaid = read_with({});
  std::string short_order, twice, far;
  for (const std::int32_t row : true_order()) {
    if (row != rows - 1) short_order += (short_order.empty() ? "" : ",") + std::to_string(row);
  }
  twice = short_order + ",62", far = short_order + ",64";
  const std::vector<std::pair<Metadata, std::string>> cases{
      {{{"weft.format", "nosuch"}}, "nosuch"},
      {{{"weft.format", ""}}, "\"\""},
      {{{"weft.format", "shfl_bw:V"}}, "shfl_bw:V"},
      {{{"weft.format", "shfl_bw:V=48"}}, "V=48"},
      {{{"weft.format", "shfl_bw:V=99999999999999999999"}}, "99999999999999999999"},
      {{{"weft.format", "dense"}}, "dense"},
      {{{"weft.format", "n_m"}}, "at most 2"},
      {{{"weft.format", "v_n_m:M=8,V=16"}}, "v_n_m:M=8,V=16"},
      {{{"weft.format", "shfl_bw:V=8"}, {"weft.row_order", short_order}}, "63 numbers"},
      {{{"weft.format", "shfl_bw:V=8"}, {"weft.row_order", twice}}, "a number twice"},
      {{{"weft.format", "shfl_bw:V=8"}, {"weft.row_order", far}}, "that no row has"},
      {{{"weft.format", "shfl_bw:V=8"}, {"weft.row_order", "-1"}}, "1 numbers"},
      {{{"weft.format", "shfl_bw:V=8"}, {"weft.row_order", ""}}, "0 numbers"},
      {{{"weft.format", "shfl_bw:V=8"}, {"weft.row_order", "0,,1"}}, "\",1\""},
      {{{"weft.format", "shfl_bw:V=8"}, {"weft.row_order", "0,1,"}}, "\"1,\""},
      {{{"weft.format", "shfl_bw:V=8"}, {"weft.row_order", "5000000000"}}, "5000000000"},
      {{{"weft.format", "shfl_bw:V=8"}, {"weft.row_order", "one"}}, "all 64 rows"},
  };
  for (const auto& [metadata, found] : cases) {
    SCOPED_TRACE(found);
    const WeightMatrix matrix = read_with(metadata);
    EXPECT_EQ(matrix.pruned_for, nullptr);
    EXPECT_THAT(matrix.note, AllOf(HasSubstr(path_ + ":a.weight says that it was pruned for"),
                                   HasSubstr("is passed over"), HasSubstr(found)));
    EXPECT_EQ(matrix.column, unsaid.column);
    EXPECT_EQ(pack(matrix, formats::shfl_bw({.rows = group})).array("row_order").get_integer(0),
              pack(unsaid, formats::shfl_bw({.rows = group})).array("row_order").get_integer(0));
  }
  // An order that the format has no use for says nothing.
  EXPECT_THAT(read_with({{"weft.format", "csr"}, {"weft.row_order", "one"}}).note, IsEmpty());
}

}  // namespace
}  // namespace weft
