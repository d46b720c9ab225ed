// Packages as contestants: loaded, and asked for their weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/export/export.h>
#include <weft/backends/reference.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/measure/package_contestant.h>
#include <weft/search/spaces/problems.h>

namespace weft {
namespace {

using testing::HasSubstr;

WeightMatrix layer(std::uint64_t seed) {
  return synthetic_layer({.rows = 12, .columns = 20, .sparsity = 0.7, .seed = seed});
}

Kernel kernel_of(bool baked) {
  const auto weights = std::make_shared<const SparseTensor>(pack(layer(2), formats::csr()));
  const Algorithm product = spmm_algorithm(12, 20, Extent::any("N"), DType::f32);
  const Target& target = target_named("sm_80");
  return compile(baked ? sparsert(product, weights, target) : default_schedule(product, weights, target),
                 {.assemble = false});
}

Workload workload_of(std::int64_t n) {
  Workload workload;
  workload.problem.m = 12;
  workload.problem.k = 20;
  workload.problem.n = n;
  workload.algorithm = spmm_algorithm(12, 20, n, DType::f32);
  workload.matrix = layer(7);
  workload.source = "a test";
  workload.b = std::make_shared<const Array>(DType::f32, std::vector<std::int64_t>{20, n});
  return workload;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(PackageContestant, WeightsInTheCodeAreReadBack) {
  const TemporaryFolder folder;
  ExportOptions options;
  options.name = "layer";
  export_package(folder.path().string(), {{kernel_of(true), 1, 64}}, options);
  const Contestant contestant = package_contestant(folder.path().string());
  EXPECT_EQ(contestant.name, "package layer");
  ASSERT_TRUE(contestant.own_weights);
  for (const std::int64_t n : {7, 20, 64}) {
    const Workload own = contestant.own_weights({}, workload_of(n));
    const WeightMatrix expected = layer(2);
    EXPECT_EQ(own.matrix.column, expected.column) << n;
    EXPECT_EQ(own.matrix.row_begin, expected.row_begin);
    for (std::int64_t i = 0; i < expected.stored(); ++i)
      ASSERT_EQ(own.matrix.values.get(i), expected.values.get(i)) << i;
  }
  EXPECT_THAT(error_of([&] { contestant.own_weights({}, workload_of(65)); }),
              HasSubstr("not for this problem"));
}

TEST(PackageContestant, PackagesThatPackAnythingTakeTheWeightsOfTheCase) {
  const TemporaryFolder folder;
  ExportOptions options;
  options.name = "layer";
  export_package(folder.path().string(), {{kernel_of(false), 1, 64}}, options);
  const Contestant contestant = package_contestant(folder.path().string());
  EXPECT_FALSE(contestant.own_weights);
  const Workload workload = workload_of(9);
  const auto operands = std::make_shared<const Operands>(Device::cpu(), workload);
  EXPECT_THAT(error_of([&] { contestant.variants.front().prepare(operands); }), HasSubstr("a CUDA device"));
}

/// Results of f16 are rounded more than what f32 is allowed.
TEST(PackageContestant, AreAllowedTheRoundingOfTheirElements) {
  const TemporaryFolder folder;
  ExportOptions options;
  options.name = "layer";
  const WeightMatrix halves =
      synthetic_layer({.rows = 12, .columns = 20, .sparsity = 0.7, .dtype = DType::f16, .seed = 2});
  const auto weights = std::make_shared<const SparseTensor>(pack(halves, formats::csr()));
  const Algorithm product = spmm_algorithm(12, 20, Extent::any("N"), DType::f16);
  const Kernel kernel =
      compile(default_schedule(product, weights, target_named("sm_80")), {.assemble = false});
  export_package(folder.path().string(), {{kernel, 1, 64}}, options);
  EXPECT_EQ(package_contestant(folder.path().string()).arithmetic, DenseType::f16);
}

TEST(PackageContestant, KernelsForProcessorsRunOnTheCpu) {
  const TemporaryFolder folder;
  ExportOptions options;
  options.name = "layer";
  const auto weights = std::make_shared<const SparseTensor>(pack(layer(2), formats::csr()));
  const Algorithm product = spmm_algorithm(12, 20, Extent::any("N"), DType::f32);
  const Kernel kernel = compile(default_schedule(product, weights, target_named("x86-64-v3")));
  export_package(folder.path().string(), {{kernel, 1, 64}}, options);
  const Contestant contestant = package_contestant(folder.path().string());
  Workload workload = workload_of(9);
  Array b = random_array(DType::f32, {20, 9}, 3, RandomValues::small_integers);
  workload.b = std::make_shared<const Array>(b);
  const auto operands = std::make_shared<const Operands>(Device::cpu(), workload);
  const auto run = contestant.variants.front().prepare(operands);
  run.poison();
  run.launch(nullptr);
  const Array found = run.output();
  const SparseTensor packed = pack(workload.matrix, formats::csr());
  Array c(DType::f32, {12, 9});
  const Reference expected = reference(workload.algorithm, &packed, {{{"B", &b}, {"C", &c}}, {}});
  for (std::int64_t i = 0; i < c.size(); ++i) EXPECT_NEAR(found.get(i), expected.value.get(i), 1e-4) << i;
}

TEST(PackageContestant, OtherFoldersAreRefused) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { package_contestant(folder.path().string()); }),
              HasSubstr("no exported package"));
  write_bytes(folder.path() / "manifest.json", R"({"name": "x", "abi": 2})");
  EXPECT_THAT(error_of([&] { package_contestant(folder.path().string()); }), HasSubstr("another ABI"));
  write_bytes(folder.path() / "manifest.json", R"({"name": "x", "abi": 1})");
  EXPECT_THAT(error_of([&] { package_contestant(folder.path().string()); }),
              testing::AllOf(HasSubstr("no sources that can be read"), HasSubstr("--package "),
                             HasSubstr("/src: No such file or directory")));
}

TEST(PackageContestant, ACompilerThatDoesNotStartIsNamed) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "manifest.json", R"({"name": "x", "abi": 1})");
  std::filesystem::create_directory(folder.path() / "src");
  setenv("CC", "no-such-compiler", 1);
  EXPECT_THAT(
      error_of([&] { package_contestant(folder.path().string()); }),
      testing::AllOf(HasSubstr("environment's CC"), HasSubstr("no-such-compiler"), HasSubstr("CC=gcc")));
  unsetenv("CC");
}

}  // namespace
}  // namespace weft
