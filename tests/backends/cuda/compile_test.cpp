#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/cuda/toolkit.h>
#include <weft/dsl/errors.h>

namespace weft::cuda {
namespace {

using ::testing::HasSubstr;

const std::string source = R"(
#include <cuda_fp16.h>
#ifndef FACTOR
#define FACTOR 2
#endif
extern "C" __global__ void scale(__half* x, int n) {
  __shared__ float kept[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  kept[threadIdx.x & 31] = __half2float(x[i]);
  x[i] = __float2half(FACTOR * kept[threadIdx.x & 31]);
}
)";

class Compile : public ::testing::TestWithParam<Compiler> {
 protected:
  void SetUp() override {
    options.compiler = GetParam();
    const CompilerStatus status = compiler_status(GetParam());
    if (!status.found()) GTEST_SKIP() << "[SKIP] " << status.sentence;
  }
  CompileOptions options;
};

TEST_P(Compile, MachineCodeWithItsReport) {
  for (const char* architecture : {"sm_80", "sm_90a"}) {
    options.architecture = architecture;
    const Compiled compiled = compile(source, options);
    EXPECT_TRUE(compiled.image.starts_with("\177ELF"));
    const FunctionResources* scale = compiled.report.find("scale");
    ASSERT_NE(scale, nullptr) << compiled.log;
    EXPECT_GT(scale->registers, 3);
    EXPECT_EQ(scale->shared_bytes, 128U);
    EXPECT_EQ(scale->spill_store_bytes, 0U);
    EXPECT_THAT(compiled.compiler, HasSubstr("1"));
    EXPECT_GT(compiled.seconds, 0);
  }
}

TEST_P(Compile, PtxAndDefines) {
  options.output = Output::ptx;
  options.architecture = "sm_90a";
  const Compiled plain = compile(source, options);
  EXPECT_THAT(plain.image, HasSubstr(".target sm_90a"));
  EXPECT_THAT(plain.image, HasSubstr(".entry scale"));
  EXPECT_EQ(plain.image.find('\0'), std::string::npos);
  options.defines = {"FACTOR=3.0f"};
  const Compiled other = compile(source, options);
  EXPECT_THAT(other.image, HasSubstr("0f40400000"));
  EXPECT_EQ(plain.image.find("0f40400000"), std::string::npos);
}

TEST_P(Compile, ErrorsCarryTheCompilersWords) {
  options.file_name = "broken.cu";
  try {
    compile("extern \"C\" __global__ void k(float* x) { x[0] = unknown_name; }\n", options);
    FAIL();
  } catch (const RuntimeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("broken.cu"));
    EXPECT_THAT(error.what(), HasSubstr("unknown_name"));
  }
}

TEST_P(Compile, FileNamesAreOnlyNames) {
  for (const char* name : {"-o.cu", "", "../up.cu", "."}) {
    options.file_name = name;
    EXPECT_NO_THROW(compile("extern \"C\" __global__ void k() {}\n", options)) << name;
  }
}

TEST_P(Compile, ArchitecturesAreChecked) {
  options.architecture = "sm_90a -o x";
  EXPECT_THROW(compile(source, options), UserError);
  options.architecture = "sm_91";
  EXPECT_THROW(compile(source, options), RuntimeError);
}

INSTANTIATE_TEST_SUITE_P(Each, Compile,
                         ::testing::Values(Compiler::automatic, Compiler::nvrtc, Compiler::nvcc),
                         [](const auto& each) {
                           if (each.param == Compiler::automatic) return "automatic";
                           return each.param == Compiler::nvrtc ? "nvrtc" : "nvcc";
                         });

TEST(CompilerStatus, SaysWhatIsThere) {
  const CompilerStatus status = compiler_status();
  EXPECT_FALSE(status.sentence.empty());
  EXPECT_EQ(status.found(), toolkit().nvrtc.found() || toolkit().nvcc.found());
  if (!status.found()) {
    EXPECT_THROW(compile("", {}), RuntimeError);
  }
}

TEST(ToolkitText, HasALineForEachTool) {
  const std::string text = text_of(toolkit());
  for (const char* name : {"ptxas: ", "nvcc: ", "NVRTC: "}) EXPECT_THAT(text, HasSubstr(name));
}

}  // namespace
}  // namespace weft::cuda
