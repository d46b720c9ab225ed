// Every matrix of the data folder through every format.
#include <gtest/gtest.h>
#include <weft/formats/io/read.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/statistics/statistics.h>
#include <weft/formats/synthetic.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "formats/generated_matrices.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> weight_files() {
  std::vector<fs::path> files;
  for (const char* folder : {"dlmc", "sparsert", "misc"}) {
    const fs::path root = fs::path(WEFT_DATA_DIR) / folder;
    if (!fs::exists(root)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      const std::string extension = entry.path().extension().string();
      if (extension == ".smtx" || extension == ".npy" || extension == ".mtx") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

constexpr const char* no_data = "[SKIP] no data folder beside the checkout";

TEST(Data, EveryFormatGivesBackEveryMatrix) {
  const std::vector<fs::path> files = weight_files();
  if (files.empty()) GTEST_SKIP() << no_data;
  for (const fs::path& file : files) {
    WeightMatrix weights = read(file.string());
    if (weights.pattern_only) weights = with_random_values(weights, DType::f32, 1);
    for (const NamedFormat& format : named_formats()) {
      const WeightMatrix fitting = fitted(weights, parse_format(format.name));
      const SparseTensor tensor = pack(fitting, parse_format(format.name));
      EXPECT_TRUE(same_bits(tensor.to_dense(), to_dense(fitting))) << file << " in " << format.name;
    }
  }
  std::cout << files.size() << " matrices in " << named_formats().size() << " formats\n";
}

TEST(Data, StatisticsAreThoseInTheTable) {
  const fs::path root = fs::path(WEFT_DATA_DIR) / "dlmc/rn50/magnitude_pruning/0.9";
  if (!fs::exists(root)) GTEST_SKIP() << no_data;
  const Statistics first = statistics(read((root / "initial_conv.smtx").string()));
  EXPECT_EQ(first.rows, 64);
  EXPECT_EQ(first.columns, 147);
  EXPECT_EQ(first.stored, 940);
  EXPECT_EQ(first.row_lengths.shortest, 0);
  EXPECT_EQ(first.row_lengths.longest, 50);
  EXPECT_EQ(first.empty_rows, 9);
  EXPECT_EQ(first.empty_columns, 7);
  EXPECT_TRUE(first.pattern_only);
}

TEST(Data, SyntheticLayersResembleRealOnes) {
  const fs::path root = fs::path(WEFT_DATA_DIR) / "dlmc/rn50/magnitude_pruning";
  if (!fs::exists(root)) GTEST_SKIP() << no_data;
  for (const auto& [folder, sparsity] :
       {std::pair{"0.7", 0.7}, {"0.9", 0.9}, {"0.95", 0.95}, {"0.98", 0.98}}) {
    SCOPED_TRACE(folder);
    const Statistics real = statistics(read((root / folder / "bottleneck_2_block_group3_2_1.smtx").string()));
    const Statistics made =
        statistics(synthetic_layer({.rows = real.rows, .columns = real.columns, .sparsity = sparsity}));
    EXPECT_LE(std::abs(made.stored - real.stored), 1);
    EXPECT_NEAR(made.row_lengths.variation, real.row_lengths.variation, 0.3 * real.row_lengths.variation);
    EXPECT_NEAR(static_cast<double>(made.row_lengths.longest), static_cast<double>(real.row_lengths.longest),
                0.45 * static_cast<double>(real.row_lengths.longest));
    // Empty columns come from uneven popularity; chance alone leaves next to none below 98 %.
    EXPECT_LE(made.empty_columns, 3 * real.empty_columns + 20);
  }
}

}  // namespace
}  // namespace weft
