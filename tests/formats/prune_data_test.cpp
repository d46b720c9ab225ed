// What pruning keeps of the matrices of the data folder, as a table.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <weft/formats/io/read.h>
#include <weft/formats/prune/prune.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr const char* no_data = "[SKIP] no data folder beside the checkout";

struct Weights {
  std::string name;
  WeightMatrix matrix;
};

/// Files of at least two dimensions below a folder of the data; values where the file has some, drawn ones
/// otherwise.
std::vector<Weights> weights_below(const char* folder, std::string_view extension) {
  std::vector<Weights> result;
  const fs::path root = fs::path(WEFT_DATA_DIR) / folder;
  if (!fs::exists(root)) return result;
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    WeightMatrix matrix = read(file.string());
    if (matrix.shape.size() < 2) continue;  // a bias
    if (matrix.pattern_only) matrix = with_random_values(matrix, DType::f32, 1);
    result.push_back({fs::relative(file, root).replace_extension().string(), std::move(matrix)});
  }
  return result;
}

struct Kept {
  double unstructured;
  double shuffled;
  double k_means;
  double vectors;
  double blocks;
};

Kept kept_scores(const WeightMatrix& weights, std::int64_t size, double sparsity) {
  const auto kept = [&](const Format& format, bool refine = true) {
    return choose_weights(weights, format, {.sparsity = sparsity, .refine = refine}).kept_score;
  };
  return {kept({"csr", {}}), kept({"shfl_bw", {{"V", size}}}), kept({"shfl_bw", {{"V", size}}}, false),
          kept({"vector_wise", {{"V", size}}}), kept({"bcsr", {{"b", size}}})};
}

void expect_order(const WeightMatrix& weights, std::int64_t size, const Kept& kept) {
  constexpr double rounding = 1e-6;
  EXPECT_LE(kept.shuffled, kept.unstructured + rounding);
  EXPECT_GE(kept.shuffled, kept.k_means - rounding);
  // One group has nothing to shuffle, and where everything or nothing is kept there is nothing to gain.
  if (weights.rows > size && kept.vectors > 0 && kept.vectors < 1) {
    EXPECT_GT(kept.shuffled, kept.vectors);
  } else {
    EXPECT_DOUBLE_EQ(kept.shuffled, kept.vectors);
  }
  if (kept.vectors > 0) {
    EXPECT_GT(kept.vectors, kept.blocks);
  } else {
    EXPECT_EQ(kept.blocks, 0);
  }
}

void print_and_expect(const std::vector<Weights>& all, const std::vector<double>& sparsities) {
  for (const std::int64_t size : {32, 64}) {
    for (const double sparsity : sparsities) {
      fmt::print("\nkept score in % at V = b = {}, sparsity {} %\n", size, 100 * sparsity);
      fmt::print("{:<106}{:>12}{:>8}{:>8}{:>8}{:>8}{:>8}\n", "", "", "single", "shfl_bw", "k-means", "vector",
                 "block");
      for (const auto& [name, matrix] : all) {
        SCOPED_TRACE(fmt::format("{}, V = {}, sparsity {}", name, size, sparsity));
        const Kept kept = kept_scores(matrix, size, sparsity);
        fmt::print("{:<106}{:>12}{:8.2f}{:8.2f}{:8.2f}{:8.2f}{:8.2f}\n", name,
                   fmt::format("{}x{}", matrix.rows, matrix.columns), 100 * kept.unstructured,
                   100 * kept.shuffled, 100 * kept.k_means, 100 * kept.vectors, 100 * kept.blocks);
        expect_order(matrix, size, kept);
      }
    }
  }
}

TEST(PruneData, TrainedWeightsKeepMostWhenShuffled) {
  const std::vector<Weights> all = weights_below("sparsert", ".npy");
  if (all.empty()) GTEST_SKIP() << no_data;
  print_and_expect(all, {0.75, 0.9});
}

TEST(PruneData, TrainedPatternsKeepMostWhenShuffled) {
  std::vector<Weights> all = weights_below("dlmc", ".smtx");
  if (all.empty()) GTEST_SKIP() << no_data;
  // Those of one sparsity are enough: the others have the same shapes. Narrow ones are in the other test.
  std::erase_if(all, [](const Weights& weights) {
    return weights.name.find("magnitude_pruning/0.9/") == std::string::npos || weights.matrix.rows < 128;
  });
  print_and_expect(all, {0.75, 0.9});
}

}  // namespace
}  // namespace weft
