#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/npy.h>
#include <weft/formats/synthetic.h>
#include <weft/search/measure/checker.h>
#include <weft/search/measure/workload.h>

#include <filesystem>
#include <fstream>

namespace weft {
namespace {

namespace fs = std::filesystem;

class RealWeightsFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder);
    fs::create_directories(folder / "random_pruning");
    fs::create_directories(folder / "magnitude_pruning");
    write("random_pruning/a.smtx", "4, 5, 2\n0 1 1 2 2\n0 4\n");
    write("magnitude_pruning/b.smtx", "4, 5, 2\n0 1 2 2 2\n1 3\n");
    write("broken.smtx", "four rows\n");
    write("broken.npy", "no array");
    write("notes.txt", "4, 5, 2\n");
    SyntheticLayer layer;
    layer.rows = 4;
    layer.columns = 25;
    layer.sparsity = 0.9;
    write_npy((folder / "c.npy").string(), to_dense(synthetic_layer(layer)));
    layer.sparsity = 0;
    write_npy((folder / "dense.npy").string(), to_dense(synthetic_layer(layer)));
  }
  void TearDown() override { fs::remove_all(folder); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder / name) << text; }

  fs::path folder = fs::path(::testing::TempDir()) / "weft_real_weights";
};

TEST_F(RealWeightsFolder, AreFoundByShapeAndSparsity) {
  const RealWeights real(folder.string());
  EXPECT_EQ(real.entries().size(), 3U);
  ASSERT_NE(real.find(4, 5, 0.9), nullptr);
  EXPECT_EQ(real.find(4, 5, 0.9)->name, "magnitude_pruning/b.smtx");
  EXPECT_EQ(real.find(4, 25, 0.905)->name, "c.npy");
  EXPECT_TRUE(real.find(4, 25, 0.9)->has_values);
  EXPECT_EQ(real.find(4, 25, 0.95), nullptr);
  EXPECT_EQ(real.find(5, 4, 0.9), nullptr);
  EXPECT_EQ(RealWeights().find(4, 5, 0.9), nullptr);
  EXPECT_THROW(RealWeights((folder / "missing").string()), UserError);
}

TEST_F(RealWeightsFolder, BecomeWorkloads) {
  const RealWeights real(folder.string());
  SuiteProblem problem;
  problem.id = "1";
  problem.m = 4;
  problem.k = 25;
  problem.n = 3;
  const Workload found = make_workload({problem, 0.9, 1}, DType::f32, real);
  EXPECT_EQ(found.source, "c.npy");
  EXPECT_EQ(found.matrix.stored(), 10);
  EXPECT_EQ(found.operations(), 2 * 10 * 3);
  EXPECT_EQ(found.bytes(), 4 * (10 + 25 * 3 + 4 * 3));
  EXPECT_EQ(found.empty_output().shape(), (std::vector<std::int64_t>{4, 3}));
  problem.k = 5;
  const Workload pattern = make_workload({problem, 0.9, 1}, DType::f16, real);
  EXPECT_THAT(pattern.source, ::testing::StartsWith("magnitude_pruning/b.smtx, values drawn"));
  EXPECT_EQ(pattern.matrix.values.dtype(), DType::f16);
  problem.k = 100;
  const Workload drawn = make_workload({problem, 0.9, 1}, DType::f32, real);
  EXPECT_THAT(drawn.source, ::testing::StartsWith("synthetic, seed"));
  EXPECT_EQ(drawn.matrix.stored(), 40);
}

TEST(Workload, CopiesHaveThePositionsAndOtherValues) {
  SuiteProblem problem;
  problem.m = 8;
  problem.k = 40;
  problem.n = 2;
  const Workload first = make_workload({problem, 0.8, 1}, DType::f32, {});
  const Workload again = make_workload({problem, 0.8, 1}, DType::f32, {});
  const Workload second = copy_of(first, 1);
  EXPECT_EQ(first.matrix.column, second.matrix.column);
  EXPECT_EQ(relative_difference(first.matrix.values, again.matrix.values), 0);
  EXPECT_GT(relative_difference(first.matrix.values, second.matrix.values), 0.1);
}

TEST(Workload, TheLimitIsTheSlowerOfBytesAndOperations) {
  SuiteProblem problem;
  problem.m = 512;
  problem.k = 2048;
  problem.n = 256;
  const Workload workload = make_workload({problem, 0.9, 1}, DType::f32, {});
  Ceilings ceilings{1e6, 1e18};
  EXPECT_DOUBLE_EQ(limit_microseconds(workload, ceilings), workload.bytes());
  ceilings = {1e18, 1e6};
  EXPECT_DOUBLE_EQ(limit_microseconds(workload, ceilings), workload.operations());
  EXPECT_GT(ceilings_of(DType::f16).operations_a_second, ceilings_of(DType::f32).operations_a_second);
  problem.m = problem.k = 1 << 19;
  EXPECT_THROW(make_workload({problem, 0.9, 1}, DType::f32, {}), UserError);
}

}  // namespace
}  // namespace weft
