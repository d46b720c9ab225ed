// Packages for aarch64: built by a compiler for it, run by an emulator where this machine is another one.
#include <gmock/gmock.h>
#include <weft/backends/export/object.h>
#include <weft/backends/llvm/cpu.h>
#include <weft/scheduler/recipes/cpu/cpu_code.h>
#include <weft/weft.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "backends/built_package.h"
#include "backends/exported.h"

namespace weft {
namespace {

using namespace exported;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Target& aarch64() {
  return target_named("aarch64");
}

bool starts(const std::string& program) {
  try {
    return run_process({program, "--version"}).succeeded();
  } catch (const RuntimeError&) {
    return false;
  }
}

struct Elsewhere {
  Toolchain tools;
  std::string missing;  ///< why there is none
};

Elsewhere find_tools() {
#if defined(__aarch64__)
  return {};
#else
  const std::string compiler = "aarch64-linux-gnu-gcc";
  // Linked statically, so that the emulator needs no system of that architecture.
  if (!starts(compiler)) return {.tools = {}, .missing = "there is no " + compiler};
  if (run_process({compiler, "-print-file-name=libc.a"}).output.find('/') == std::string::npos)
    return {.tools = {}, .missing = compiler + " has no C library (libc6-dev-arm64-cross)"};
  for (const std::string runner : {"qemu-aarch64-static", "qemu-aarch64"})
    if (starts(runner)) return {{{compiler, "-static"}, {runner}}, {}};
  return {.tools = {}, .missing = "there is no qemu-aarch64-static"};
#endif
}

/// Where it has none, the LLVM that weft was built with.
std::string why_no_assembly() {
  try {
    compile(cpu_rows(spmm_algorithm(12, 20, 8, DType::f32), layer(), aarch64())).assembly();
    return {};
  } catch (const RuntimeError& error) {
    return error.what();
  }
}

/// Kernels as text need no tools.
class Aarch64 : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = why_no_assembly(); !reason.empty()) GTEST_SKIP() << "[SKIP] " << reason;
  }
};

class ExportForAarch64 : public Aarch64 {
 protected:
  void SetUp() override {
    Aarch64::SetUp();
    if (!elsewhere_.missing.empty()) GTEST_SKIP() << "[SKIP] " << elsewhere_.missing;
  }
  const Toolchain& tools() const { return elsewhere_.tools; }

  std::string smoke(const Built& built) const { return built.smoke({}, tools()); }
  void expect_works(const std::vector<PackageKernel>& kernels) const {
    const Built built(kernels);
    EXPECT_THAT(smoke(built), AllOf(HasSubstr("aarch64: tested"), HasSubstr("reference: tested"),
                                    HasSubstr("layer: passed, on the processor")));
    EXPECT_EQ(nlohmann::json::parse(built.text("manifest.json")).at("processors"),
              nlohmann::json({"aarch64"}));
  }

 private:
  Elsewhere elsewhere_ = find_tools();
};

/// 33 x 47, of which nothing is a multiple of a vector's elements.
std::shared_ptr<const SparseTensor> odd_weights(DType dtype = DType::f32) {
  return std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = 33, .columns = 47, .sparsity = 0.8, .dtype = dtype, .seed = 3}),
           formats::csr()));
}

Schedule odd_product(const Target& target, DType dtype = DType::f32, const Extent& n = Extent::any("N"),
                     const Epilogue& epilogue = {}) {
  return cpu_rows(spmm_algorithm(33, 47, n, dtype, epilogue), odd_weights(dtype), target);
}

Epilogue bias_and(Activation activation) {
  Epilogue epilogue;
  epilogue.bias = true;
  epilogue.activation = activation;
  return epilogue;
}

TEST_F(ExportForAarch64, ProductsOfOddSizesWork) {
  expect_works({{compile(odd_product(aarch64()))}});
  expect_works({{compile(odd_product(aarch64(), DType::f32, 21))}});
}

TEST_F(ExportForAarch64, HalvesWork) {
  expect_works({{compile(odd_product(aarch64(), DType::f16))}});
  expect_works({{compile(odd_product(aarch64(), DType::bf16))}});
}

TEST_F(ExportForAarch64, LinearLayersWork) {
  expect_works({{compile(odd_product(aarch64(), DType::f32, 65, bias_and(Activation::relu)))}});
  // Which calls functions of the C library.
  expect_works({{compile(odd_product(aarch64(), DType::f32, Extent::any("N"), bias_and(Activation::gelu)))}});
}

TEST_F(ExportForAarch64, ConvolutionsWork) {
  expect_works({{compile(cpu_rows(small_convolution(), small_filters(), aarch64()))}});
}

/// Rows of several blocks, columns that leave each rest of a vector, code of several pieces, and a residual.
TEST_F(ExportForAarch64, WeightsInCodeWork) {
  const auto weights = [](std::int64_t rows, std::int64_t columns, double sparsity,
                          DType dtype = DType::f32) {
    return std::make_shared<const SparseTensor>(pack(
        synthetic_layer({.rows = rows, .columns = columns, .sparsity = sparsity, .dtype = dtype, .seed = 5}),
        formats::csr()));
  };
  EXPECT_THAT(
      compile(cpu_code(spmm_algorithm(70, 47, 20, DType::f32), weights(70, 47, 0.8), aarch64())).assembly(),
      HasSubstr(".4s, v30.4s, v31.s[0]"));
  for (const std::int64_t columns : {20, 21, 22, 23})
    expect_works(
        {{compile(cpu_code(spmm_algorithm(70, 47, columns, DType::f32), weights(70, 47, 0.8), aarch64()))}});
  expect_works(
      {{compile(cpu_code(spmm_algorithm(60, 900, 40, DType::f32), weights(60, 900, 0.5), aarch64()))}});
  expect_works({{compile(cpu_code(spmm_algorithm(33, 47, 65, DType::f32, bias_and(Activation::gelu)),
                                  odd_weights(), aarch64()))}});
  expect_works({{compile(cpu_code(small_convolution(), small_filters(), aarch64()))}});
  for (const DType dtype : {DType::f16, DType::bf16})
    expect_works(
        {{compile(cpu_code(spmm_algorithm(70, 47, 22, dtype), weights(70, 47, 0.8, dtype), aarch64()))}});
}

TEST_F(ExportForAarch64, DefaultSchedulesWork) {
  expect_works({{compile(default_schedule(spmm_algorithm(33, 47, 40, DType::f32), odd_weights(), aarch64())),
                 40, 40}});
  expect_works({{compile(default_schedule(small_convolution(), small_filters(), aarch64()))}});
}

/// Two kernels of one text, whose functions, labels and constants are not one another's.
TEST_F(ExportForAarch64, SeveralKernelsShareAFile) {
  const Epilogue epilogue = bias_and(Activation::gelu);
  const auto kernel = [&](const CpuRows& knobs) {
    return compile(cpu_rows(spmm_algorithm(33, 47, Extent::any("N"), DType::f32, epilogue), odd_weights(),
                            aarch64(), knobs));
  };
  expect_works({{kernel({}), 1, 64}, {kernel({.panel = 8}), 65, 512}});
}

TEST_F(ExportForAarch64, AFolderIsBuiltOnEitherMachine) {
  std::vector<PackageKernel> kernels;
  for (const char* target : {"x86-64-v3", "aarch64"})
    kernels.push_back({compile(odd_product(target_named(target)))});
  kernels.push_back({kernel_of(spmm_algorithm(33, 47, Extent::any("N"), DType::f32), odd_weights())});
  const Built built(kernels);
  EXPECT_THAT(smoke(built), AllOf(HasSubstr("aarch64: tested"), HasSubstr("x86-64-v3: not on this processor"),
                                  HasSubstr("reference: tested")));
#if defined(__x86_64__)
  const auto here = llvm_backend::processors_of_this_machine();
  const bool runs = std::ranges::find(here, "x86-64-v3") != here.end();
  EXPECT_THAT(built.smoke(),
              AllOf(HasSubstr("aarch64: not on this processor"), HasSubstr("reference: tested"),
                    HasSubstr(runs ? "x86-64-v3: tested" : "x86-64-v3: not on")));
#endif
}

/// Built as for a machine that no assembly is for.
TEST_F(ExportForAarch64, OtherMachinesRunTheReference) {
  const Built built({{compile(odd_product(aarch64()))}});
  EXPECT_THAT(built.smoke({"-U__AARCH64EL__"}, tools()),
              AllOf(HasSubstr("aarch64: not on this processor"), HasSubstr("reference: tested"),
                    HasSubstr("layer: passed")));
#if !defined(__aarch64__)
  EXPECT_THAT(built.smoke(), AllOf(HasSubstr("aarch64: not on this processor"), HasSubstr("layer: passed")));
#endif
}

TEST_F(ExportForAarch64, CodeIsForAnyAddressAndShowsNothing) {
  const Built built(
      {{compile(odd_product(aarch64(), DType::f32, Extent::any("N"), bias_and(Activation::gelu)))}});
  const Toolchain shared{{tools().compiler.front()}, {}};
  EXPECT_THAT(built.of_library({"readelf", "-rW"}, shared), Not(HasSubstr("TEXTREL")));
  EXPECT_THAT(built.of_library({"readelf", "-lW"}, shared),
              testing::ContainsRegex("GNU_STACK[^\n]* RW  *0x"));
  std::istringstream symbols(built.of_library({"readelf", "-W", "--dyn-syms"}, shared));
  for (std::string line; std::getline(symbols, line);) {
    if (line.find(" FUNC    GLOBAL DEFAULT ") == std::string::npos || line.find(" UND ") != std::string::npos)
      continue;
    EXPECT_THAT(line, HasSubstr(" layer_"));
  }
}

TEST_F(Aarch64, CodeIsOfNeon) {
  const Kernel kernel = compile(odd_product(aarch64()));
  EXPECT_THAT(kernel.assembly(), HasSubstr("fmla\tv"));
  const Built built({{kernel}});
  EXPECT_THAT(built.text("src/layer_aarch64.S"),
              AllOf(HasSubstr("Its schedule:"), HasSubstr("__AARCH64EL__"), HasSubstr(".note.GNU-stack"),
                    Not(HasSubstr(".file")), Not(HasSubstr("weft_entry"))));
}

/// Bytes 18 and 19 of an ELF file say whose code it has.
TEST_F(Aarch64, ObjectsAreOfIt) {
  const TemporaryFolder folder;
  export_object(compile(odd_product(aarch64())), folder.path().string());
  const std::string object = read_bytes(folder.path() / "kernel.o");
  constexpr char number_of_aarch64 = '\xb7';
  ASSERT_GT(object.size(), 64U);
  EXPECT_EQ(object.substr(1, 3), "ELF");
  EXPECT_EQ(object[18], number_of_aarch64);
  EXPECT_THAT(read_bytes(folder.path() / "kernel.h"), HasSubstr("code for aarch64"));
}

TEST_F(Aarch64, KernelsAreTextAloneElsewhere) {
  const Kernel kernel = compile(odd_product(aarch64(), DType::f32, 8));
  Array b(DType::f32, {47, 8}), c(DType::f32, {33, 8});
  try {
    kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
    FAIL() << "not refused";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("does not run this kernel"), HasSubstr("processor of aarch64"),
                                    HasSubstr("or a kernel for cpu")));
  }
}

}  // namespace
}  // namespace weft
