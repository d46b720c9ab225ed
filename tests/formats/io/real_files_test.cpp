// Every real file beside the checkout, against the table that came with it.
#include <gtest/gtest.h>
#include <weft/formats/io/read.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <string>

namespace weft {
namespace {

const std::filesystem::path data = WEFT_DATA_DIR;

bool absent() {
  if (std::filesystem::exists(data / "README.md")) return false;
  std::cout << "[SKIP] no real matrices in " << data << "\n";
  return true;
}

std::int64_t empty_rows(const WeightMatrix& matrix) {
  std::int64_t count = 0;
  for (std::size_t row = 0; row + 1 < matrix.row_begin.size(); ++row) {
    count += matrix.row_begin[row] == matrix.row_begin[row + 1] ? 1 : 0;
  }
  return count;
}

TEST(RealFiles, EveryMatrixOfTheTable) {
  if (absent()) GTEST_SKIP();
  // | file | M x K | nnz | sparsity | min/mean/max | empty rows | empty cols | bytes |
  const std::regex row(R"(\| (\S+) \| (\d+) x (\d+) \| (\d+) \|[^|]*\|[^|]*\| (\d+) \| \d+ \| \d+ \|)");
  std::ifstream table(data / "README.md");
  int matrices = 0;
  for (std::string line; std::getline(table, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, row)) continue;
    SCOPED_TRACE(match.str(1));
    const WeightMatrix matrix = read((data / match.str(1)).string());
    matrix.check();
    EXPECT_EQ(matrix.rows, std::stoll(match.str(2)));
    EXPECT_EQ(matrix.columns, std::stoll(match.str(3)));
    EXPECT_EQ(matrix.stored(), std::stoll(match.str(4)));
    EXPECT_EQ(empty_rows(matrix), std::stoll(match.str(5)));
    EXPECT_EQ(matrix.pattern_only, match.str(1).ends_with(".smtx"));
    ++matrices;
  }
  EXPECT_GE(matrices, 70);
}

TEST(RealFiles, EveryArrayAndMatrixMarketFile) {
  if (absent()) GTEST_SKIP();
  int arrays = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data)) {
    if (entry.path().extension() != ".npy") continue;
    const Array array = read_array(entry.path().string());
    EXPECT_EQ(array.dtype(), DType::f32) << entry.path();
    EXPECT_GT(array.size(), 0) << entry.path();
    ++arrays;
  }
  EXPECT_GT(arrays, 40);
  EXPECT_EQ(read((data / "misc/2tensor.mtx").string()).stored(), 3);
  EXPECT_EQ(read((data / "misc/d33.mtx").string()).stored(), 3);
  EXPECT_EQ(read((data / "misc/ds33.mtx").string()).stored(), 5);
  EXPECT_EQ(read((data / "misc/rua_32.mtx").string()).stored(), 126);
  const WeightMatrix filter = read((data / "sparsert/mobilenet/depthwise_nxn_0.npy").string());
  EXPECT_EQ(filter.shape.size(), 4U);
  EXPECT_EQ(filter.columns, 9);
}

}  // namespace
}  // namespace weft
