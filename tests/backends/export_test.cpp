// What a package refuses to be made of, and what its files say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/export/export.h>
#include <weft/backends/export/program.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/read.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/default_schedule.h>
#include <weft/search/problems.h>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

using testing::HasSubstr;

std::shared_ptr<const SparseTensor> layer(std::int64_t rows = 12, const Format& format = formats::csr()) {
  return std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = rows, .columns = 20, .sparsity = 0.7, .seed = 2}), format));
}

Kernel kernel_of(const Algorithm& algorithm, const std::shared_ptr<const SparseTensor>& weights,
                 const std::string& target = "sm_80") {
  return compile(default_schedule(algorithm, weights, target_named(target)), {.assemble = false});
}

Kernel product(const Extent& n, const std::string& target = "sm_80") {
  return kernel_of(spmm_algorithm(12, 20, n, DType::f32), layer(), target);
}

ExportOptions named(const std::string& name) {
  ExportOptions options;
  options.name = name;
  return options;
}

std::string refusal(const std::vector<PackageKernel>& kernels,
                    const ExportOptions& options = named("layer")) {
  const TemporaryFolder folder;
  try {
    export_package(folder.path().string() + "/out", kernels, options);
  } catch (const UserError& error) {
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "out")) << "something was written";
    return error.what();
  }
  return "nothing";
}

nlohmann::json manifest_of(const std::filesystem::path& folder) {
  return nlohmann::json::parse(read_bytes(folder / "manifest.json"));
}

TEST(Export, NamesAreIdentifiersInEveryLanguage) {
  const Kernel kernel = product(Extent::any("N"));
  for (const char* name : {"", "9lives", "a-b", "int", "lambda", "_x", "a b", "größe"})
    EXPECT_THAT(refusal({{kernel}}, named(name)), HasSubstr("no identifier")) << name;
}

TEST(Export, WhatItCannotExport) {
  const Kernel open = product(Extent::any("N"));
  EXPECT_THAT(refusal({}), HasSubstr("no kernel"));
  EXPECT_THAT(
      refusal(
          {{compile(default_schedule(spmm_algorithm(12, 20, 4, DType::f32), layer(), target_named("cpu")))}}),
      HasSubstr("only kernels for GPUs"));
  EXPECT_THAT(refusal({{kernel_of(spmm_algorithm(Extent::any("M"), 20, 8, DType::f32), layer())}}),
              HasSubstr("weights of any size"));
  Epilogue epilogue;
  epilogue.bias = true;
  EXPECT_THAT(
      refusal({{open}, {kernel_of(spmm_algorithm(12, 20, Extent::any("N"), DType::f32, epilogue), layer())}}),
      HasSubstr("different things"));
  EXPECT_THAT(refusal({{open}, {product(Extent::any("N"), "sm_90"), 1, 64}}), HasSubstr("different sizes"));
  EXPECT_THAT(refusal({{open, 1, std::int64_t{1} << 33}}), HasSubstr("cannot index"));
  EXPECT_THAT(refusal({{product(Extent::any("N", 8)), 3, 7}}), HasSubstr("for no size"));
  ExportOptions measured = named("layer");
  measured.measured = "{";
  EXPECT_NE(refusal({{open}}, measured), "nothing");
}

TEST(Export, SizesAreFoundByTheirPlaceNotByTheirNumber) {
  // Rows and columns of the same number: the columns alone are a size of the launch.
  const TemporaryFolder folder;
  const auto square = layer(12);
  export_package(folder.path().string(),
                 {{kernel_of(spmm_algorithm(12, 20, 12, DType::f32), square)},
                  {kernel_of(spmm_algorithm(12, 20, 40, DType::f32), square)}},
                 named("layer"));
  const auto manifest = manifest_of(folder.path());
  EXPECT_EQ(manifest["sizes"]["field"], "n");
  EXPECT_EQ(manifest["operands"][0]["shape"], nlohmann::json({20, "n"}));
  EXPECT_EQ(manifest["operands"][1]["shape"], nlohmann::json({12, "n"}));
  EXPECT_THAT(read_bytes(folder.path() / "src/layer_tables.c"),
              HasSubstr("if (n == 12) return 0;\n  if (n == 40) return 1;"));
}

TEST(Export, ThePackedFileIsSafetensors) {
  const TemporaryFolder folder;
  const auto weights = layer(12);
  kernel_of(spmm_algorithm(12, 20, Extent::any("N"), DType::f32), weights)
      .export_to(folder.path().string(), named("layer"));
  const std::string file = (folder.path() / "weights/layer.safetensors").string();
  const Array values = read_array(file, "A.values");
  EXPECT_EQ(values.size(), weights->array("values").size());
  EXPECT_EQ(manifest_of(folder.path())["weights"]["pack"], "any entries");
}

TEST(Export, WhetherOtherEntriesFitIsFoundByTrying) {
  const TemporaryFolder folder;
  kernel_of(spmm_algorithm(12, 20, Extent::any("N"), DType::f32), layer(12, formats::ell()))
      .export_to(folder.path().string(), named("layer"));
  EXPECT_EQ(manifest_of(folder.path())["weights"]["pack"], "new values");
}

TEST(Export, TheSameKernelsMakeTheSameFiles) {
  const TemporaryFolder first, second;
  const Kernel kernel = product(Extent::any("N"));
  kernel.export_to(first.path().string(), named("layer"));
  kernel.export_to(second.path().string(), named("layer"));
  EXPECT_EQ(manifest_of(first.path()), manifest_of(second.path()));
}

TEST(Export, ProgramsSayWhatIsMissing) {
  const auto run = [](std::vector<std::string> words, const auto& make) {
    words.insert(words.begin(), "program");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    return export_program(static_cast<int>(arguments.size()), arguments.data(), make);
  };
  const auto make = [](const ExportRequest& request) {
    std::vector<PackageKernel> kernels;
    for (const Target& target : request.targets)
      kernels.push_back({product(Extent::any("N"), target.name), 1, std::stoll(request.parameter("most"))});
    return kernels;
  };
  const TemporaryFolder folder;
  const std::string out = folder.path().string();
  EXPECT_EQ(run({"--out", out, "--name", "layer", "--targets", "sm_80,sm_90", "--param", "most=64"}, make),
            0);
  EXPECT_EQ(manifest_of(folder.path())["sizes"]["ranges"][0]["most"], 64);
  EXPECT_EQ(run({"--out", out, "--name", "layer", "--targets", "sm_80"}, make), 2);
  EXPECT_EQ(run({"--out", out, "--targets", "sm_7"}, make), 2);
  EXPECT_EQ(run({"--out"}, make), 2);
  EXPECT_EQ(run({"--mystery", "x"}, make), 2);
}

}  // namespace
}  // namespace weft
