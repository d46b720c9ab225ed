// Every real file beside the checkout, against the table that came with it.
#include <gtest/gtest.h>
#include <weft/formats/io/read.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace weft {
namespace {

const std::filesystem::path data = WEFT_DATA_DIR;

constexpr const char* no_data = "[SKIP] no folder of real matrices beside the checkout";

bool absent() {
  return !std::filesystem::exists(data / "README.md");
}

std::int64_t empty_rows(const WeightMatrix& matrix) {
  std::int64_t count = 0;
  for (std::size_t row = 0; row + 1 < matrix.row_begin.size(); ++row) {
    count += matrix.row_begin[row] == matrix.row_begin[row + 1] ? 1 : 0;
  }
  return count;
}

/// The cells of a line of the table, without the blanks around them.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, '|');) {
    const std::size_t first = cell.find_first_not_of(' ');
    cells.push_back(first == cell.npos ? "" : cell.substr(first, cell.find_last_not_of(' ') + 1 - first));
  }
  return cells;
}

TEST(RealFiles, EveryMatrixOfTheTable) {
  if (absent()) GTEST_SKIP() << no_data;
  std::ifstream table(data / "README.md");
  int matrices = 0;
  for (std::string line; std::getline(table, line);) {
    // | file | M x K | nnz | sparsity | min/mean/max | empty rows | empty cols | bytes |
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != 9 || cells[2].find(" x ") == std::string::npos) continue;
    if (!cells[1].ends_with(".smtx") && !cells[1].ends_with(".npy")) continue;
    SCOPED_TRACE(cells[1]);
    const WeightMatrix matrix = read((data / cells[1]).string());
    matrix.check();
    EXPECT_EQ(std::to_string(matrix.rows) + " x " + std::to_string(matrix.columns), cells[2]);
    EXPECT_EQ(std::to_string(matrix.stored()), cells[3]);
    EXPECT_EQ(std::to_string(empty_rows(matrix)), cells[6]);
    EXPECT_EQ(matrix.pattern_only, cells[1].ends_with(".smtx"));
    ++matrices;
  }
  EXPECT_GE(matrices, 80);
}

TEST(RealFiles, EveryArrayAndMatrixMarketFile) {
  if (absent()) GTEST_SKIP() << no_data;
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
