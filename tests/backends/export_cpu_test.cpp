// Packages for levels of processors: built by a C compiler alone, with the results of the reference.
#include <gmock/gmock.h>
#include <weft/backends/llvm/cpu.h>
#include <weft/backends/llvm/cpu_assembly.h>
#include <weft/scheduler/recipes/cpu/cpu_code.h>
#include <weft/weft.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/built_package.h"
#include "backends/exported.h"

namespace weft {
namespace {

using namespace exported;
namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* levels[] = {"x86-64-v3", "x86-64-v4"};

bool runs_here(const std::string& level) {
  const auto known = llvm_backend::processors_of_this_machine();
  return std::ranges::find(known, level) != known.end();
}

std::vector<PackageKernel> of_levels(const std::function<Schedule(const Target&)>& schedule) {
  std::vector<PackageKernel> kernels;
  for (const char* level : levels) kernels.push_back({compile(schedule(target_named(level)))});
  return kernels;
}

std::vector<PackageKernel> product() {
  return of_levels([](const Target& target) {
    return cpu_rows(spmm_algorithm(12, 20, Extent::any("N"), DType::f32), layer(), target);
  });
}

std::vector<PackageKernel> coded() {
  const auto weights = std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = 40, .columns = 96, .sparsity = 0.7, .seed = 2}), formats::csr()));
  std::vector<PackageKernel> kernels;
  for (const char* level : levels) {
    const auto kernel = [&](const CpuCode& knobs) {
      return compile(cpu_code(spmm_algorithm(40, 96, Extent::any("N"), DType::f32), weights,
                              target_named(level), knobs));
    };
    // Two kernels of one text, whose functions and labels are not one another's.
    kernels.push_back({kernel({}), 1, 64});
    kernels.push_back({kernel({.columns = 16}), 65, 512});
  }
  return kernels;
}

std::vector<PackageKernel> convolution() {
  return of_levels(
      [](const Target& target) { return cpu_rows(small_convolution(), small_filters(), target); });
}

void expect_works(const std::vector<PackageKernel>& kernels) {
  const Built built(kernels);
  const std::string said = built.smoke();
  for (const std::string level : levels)
    EXPECT_THAT(said, HasSubstr(level + (runs_here(level) ? ": tested" : ": not on this processor")));
  EXPECT_THAT(said, AllOf(HasSubstr("reference: tested"), HasSubstr("layer: passed, on the processor")));
  for (const char* part : {"x86_64_v3.S", "x86_64_v4.S"}) {
    const std::string text = built.text(std::string("src/layer_") + part);
    EXPECT_THAT(text, AllOf(HasSubstr("Its schedule:"), HasSubstr(".note.GNU-stack"), Not(HasSubstr(".file")),
                            Not(HasSubstr("weft_entry")), Not(HasSubstr("\nweft_"))));
  }
  const auto manifest = nlohmann::json::parse(built.text("manifest.json"));
  EXPECT_EQ(manifest.at("processors"), nlohmann::json({"x86-64-v3", "x86-64-v4"}));
  EXPECT_EQ(manifest.at("kernels").size(), kernels.size());
}

TEST(ExportForProcessors, ProductsWork) {
  expect_works(product());
}

/// More products than golden data may cost: those of the rows that are compared alone are made.
TEST(ExportForProcessors, LargeSizesOfTheirOwnWork) {
  const auto weights = std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = 512, .columns = 640, .sparsity = 0.5, .seed = 3}), formats::csr()));
  expect_works(of_levels([&](const Target& target) {
    return cpu_rows(spmm_algorithm(512, 640, 640, DType::f32, {.bias = true}, ProductLayout::kn_nm), weights,
                    target);
  }));
}

TEST(ExportForProcessors, ScalesOfWeightsOfAByteWork) {
  const auto weights = std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = 12, .columns = 20, .sparsity = 0.7, .dtype = DType::e4m3, .seed = 2}),
           formats::csr()));
  const Epilogue epilogue{
      .row_scale = true, .column_scale = true, .bias = true, .activation = Activation::relu};
  expect_works(of_levels([&](const Target& target) {
    return cpu_rows(spmm_algorithm(12, 20, Extent::any("N"), DType::e4m3, epilogue), weights, target);
  }));
}

TEST(ExportForProcessors, ResultsOfAByteWork) {
  const auto weights = std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = 12, .columns = 20, .sparsity = 0.4, .dtype = DType::i8, .seed = 2}),
           formats::csr()));
  for (const DType results : {DType::i8, DType::e4m3}) {
    SCOPED_TRACE(name_of(results));
    const Epilogue epilogue{.bias = true, .result_scale = true, .result_type = results};
    expect_works(of_levels([&](const Target& target) {
      return cpu_rows(spmm_algorithm(12, 20, Extent::any("N"), DType::i8, epilogue), weights, target);
    }));
  }
}

TEST(ExportForProcessors, WeightsInTheCodeWork) {
  expect_works(coded());
}

TEST(ExportForProcessors, ConvolutionsWork) {
  expect_works(convolution());
}

TEST(ExportForProcessors, CodeIsForAnyAddressAndShowsNothing) {
  const Built built(coded());
  EXPECT_THAT(built.of_library({"readelf", "-rW"}), Not(HasSubstr("TEXTREL")));
  EXPECT_THAT(built.of_library({"readelf", "-lW"}), testing::ContainsRegex("GNU_STACK[^\n]* RW  *0x"));
  std::istringstream symbols(built.of_library({"nm", "-D", "--defined-only"}));
  for (std::string line; std::getline(symbols, line);) EXPECT_THAT(line, HasSubstr(" T layer_"));
}

TEST(ExportForProcessors, GpusAndProcessorsShareAPackage) {
  std::vector<PackageKernel> kernels = product();
  kernels.push_back({kernel_of(spmm_algorithm(12, 20, Extent::any("N"), DType::f32), layer())});
  const Built built(kernels);
  const std::string said = built.smoke();
  if (runs_here("x86-64-v3")) {
    EXPECT_THAT(said, HasSubstr("x86-64-v3: tested"));
  }
  EXPECT_THAT(built.text("include/layer.h"), HasSubstr("LAYER_HOST: this processor"));
  EXPECT_TRUE(fs::exists(built.folder() / "src/layer_sm_80_0.cu"));
}

TEST(ExportForProcessors, APackageOfGpusSaysNothingOfProcessors) {
  const Built built({{exported::product(Extent::any("N"))}});
  EXPECT_THAT(built.text("include/layer.h"), AllOf(Not(HasSubstr("_HOST")), Not(HasSubstr("threads)"))));
  EXPECT_TRUE(with_extension(built.folder() / "src", {".S"}).empty());
  EXPECT_FALSE(nlohmann::json::parse(built.text("manifest.json")).contains("processors"));
}

/// Built as for another machine: the assembly is empty.
TEST(ExportForProcessors, OtherMachinesRunTheReference) {
  const Built built(coded());
  const std::string said = built.smoke({"-U__LP64__"});
  for (const std::string level : levels) EXPECT_THAT(said, HasSubstr(level + ": not on this processor"));
  EXPECT_THAT(said, AllOf(HasSubstr("reference: tested"), HasSubstr("layer: passed")));
}

/// Where a processor is named, and not by the target.
TEST(ExportForProcessors, KernelsAreForTheProcessorTheyWereCompiledFor) {
  if (!runs_here("x86-64-v3")) GTEST_SKIP() << "no such processor";
  const auto of = [](const std::string& processor) {
    return compile(cpu_rows(spmm_algorithm(12, 20, 8, DType::f32), layer(), target_named("cpu")),
                   {.processor = processor});
  };
  EXPECT_EQ(of("x86-64-v3").processor(), "x86-64-v3");
  EXPECT_THAT(refusal({{of("native")}}), AllOf(HasSubstr("not exported"), HasSubstr("x86-64-v3")));
  EXPECT_THAT(refusal({{of("x86-64-v2")}}), HasSubstr("not exported"));
  const Built built({{of("x86-64-v3")}});
  EXPECT_THAT(built.smoke(), HasSubstr("x86-64-v3: tested"));
}

/// As on a machine without the level: no processor of the list runs this one.
TEST(ExportForProcessors, KernelsForOtherProcessorsAreTextAlone) {
  Target target = target_named("x86-64-v4");
  target.processor = "skylake-avx512";
  const Kernel kernel = compile(cpu_rows(spmm_algorithm(12, 20, 16, DType::f32), layer(), target));
  EXPECT_THAT(kernel.assembly(), HasSubstr("%zmm"));
  Array b(DType::f32, {20, 16}), c(DType::f32, {12, 16});
  try {
    kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
    FAIL() << "not refused";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("does not run this kernel"), HasSubstr("or a kernel for cpu")));
  }
}

TEST(ExportForProcessors, TextsOfOneProgramDifferInTheirNamesAlone) {
  const Kernel kernel = product().front().kernel;
  const auto text_for = [&](const std::string& entry) {
    return llvm_backend::assembly_for(kernel.lowered(), "x86-64-v3", {entry, "loop"}).text;
  };
  std::string first = text_for("first"), other = text_for("other");
  EXPECT_NE(first, other);
  for (std::size_t at = 0; (at = other.find("other", at)) != std::string::npos;)
    other.replace(at, 5, "first");
  EXPECT_EQ(first, other);
}

}  // namespace
}  // namespace weft
