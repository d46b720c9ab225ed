// Object files of CPU kernels: linked by a C compiler alone, called from C and C++, with the results of the
// process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/export/object.h>
#include <weft/backends/runtime/process.h>
#include <weft/scheduler/recipes/cpu/cpu_code.h>
#include <weft/weft.h>

#include <filesystem>

namespace weft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// Reads B, calls the kernel twice, the second time with parallel loops in pieces of one from the last to the
/// first, and writes both results.
constexpr const char* caller = R"(#include "kernel.h"
#include <stdio.h>
#include <stdlib.h>
static void backwards(kernel_runtime *runtime, int64_t begin, int64_t extent, kernel_body *body, void *context) {
  int64_t i;
  for (i = extent; i > 0; --i) body(begin + i - 1, begin + i, runtime->yours, context);
}
static void *room(size_t bytes) { return aligned_alloc(64, (bytes + 64) / 64 * 64); }
int main(int argc, char **argv) {
  const size_t b_bytes = (size_t)atoll(argv[3]), c_bytes = (size_t)atoll(argv[4]);
  float *b = (float *)room(b_bytes), *c = (float *)room(c_bytes);
  void *scratch = room(kernel_scratch_bytes);
  kernel_runtime runtime;
  FILE *file = fopen(argv[1], "rb");
  size_t i;
  if (argc < 5 || fread(b, 1, b_bytes, file) != b_bytes) return 1;
  fclose(file);
  file = fopen(argv[2], "wb");
  for (i = 0; i < c_bytes / 4; ++i) c[i] = -1e30f;
  kernel_run(b, c, SIZES scratch);
  fwrite(c, 1, c_bytes, file);
  for (i = 0; i < c_bytes / 4; ++i) c[i] = -1e30f;
  runtime.loop = backwards;
  runtime.yours = (unsigned char *)scratch + kernel_code_scratch_bytes;
  kernel_run_in(&runtime, b, c, SIZES scratch);
  fwrite(c, 1, c_bytes, file);
  return fclose(file);
}
)";

void expect_right(const Kernel& kernel, Array b, Array c, const std::string& sizes = "") {
  const TemporaryFolder folder;
  export_object(kernel, folder.path().string());
  write_bytes(folder.path() / "caller.c", caller);
  const std::string program = (folder.path() / "caller").string();
  const ProcessResult built =
      run_process({"cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fPIE", "-pie", "-Wl,-z,text",
                   "-Wl,-z,defs", "-DSIZES=" + sizes, "-o", program, (folder.path() / "caller.c").string(),
                   (folder.path() / "kernel.o").string(), "-lm"});
  ASSERT_TRUE(built.succeeded()) << built.error.substr(0, 4000);
  const std::string bytes(reinterpret_cast<const char*>(b.data()), b.bytes());
  write_bytes(folder.path() / "b.bin", bytes);
  const std::string result = (folder.path() / "c.bin").string();
  const ProcessResult ran = run_process({program, (folder.path() / "b.bin").string(), result,
                                         std::to_string(b.bytes()), std::to_string(c.bytes())});
  ASSERT_EQ(ran.exit_code, 0) << ran.error;
  kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
  const std::string expected(reinterpret_cast<const char*>(c.data()), c.bytes());
  EXPECT_EQ(read_bytes(result), expected + expected) << "bit for bit, both times";
}

std::shared_ptr<const SparseTensor> weights_of(std::int64_t rows, std::int64_t columns) {
  return std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = rows, .columns = columns, .sparsity = 0.8}), formats::csr()));
}

TEST(ExportObject, OfAProductWithItsWeightsBeside) {
  const Kernel kernel = compile(
      default_schedule(spmm_algorithm(67, 131, 45, DType::f32), weights_of(67, 131), target_named("cpu")));
  expect_right(kernel, random_array(DType::f32, {131, 45}, 1), Array(DType::f32, {67, 45}));
}

TEST(ExportObject, OfColumnsThatACallCounts) {
  const Extent n = Extent::any("N");
  const Kernel kernel = compile(
      default_schedule(spmm_algorithm(67, 131, n, DType::f32), weights_of(67, 131), target_named("cpu")));
  expect_right(kernel, random_array(DType::f32, {131, 19}, 1), Array(DType::f32, {67, 19}), "19,");
}

TEST(ExportObject, OfWeightsInItsCodeAndLocalArrays) {
  const Target& cpu = target_named("cpu");
  const Algorithm algorithm = spmm_algorithm(96, 200, 144, DType::f32);
  const auto weights = weights_of(96, 200);
  if (const std::string why = why_no_cpu_code(algorithm, weights->format(), 1, cpu); !why.empty())
    GTEST_SKIP() << "[SKIP] " << why;
  const Kernel kernel = compile(cpu_code(algorithm, weights, cpu));
  expect_right(kernel, random_array(DType::f32, {200, 144}, 1), Array(DType::f32, {96, 144}));
}

TEST(ExportObject, HeadersAreOfCxxToo) {
  const TemporaryFolder folder;
  const Kernel kernel =
      compile(default_schedule(spmm_algorithm(4, 8, 4, DType::f32), weights_of(4, 8), target_named("cpu")));
  EXPECT_EQ(export_object(kernel, folder.path().string(), {.name = "layer_1"}),
            (std::vector<std::string>{"layer_1.o", "layer_1.h"}));
  write_bytes(folder.path() / "caller.cpp",
              "#include \"layer_1.h\"\nint main() {\n  alignas(64) static float b[32], c[16];\n"
              "  layer_1_run(b, c, nullptr);\n  return c[0] != 0;\n}\n");
  const std::string program = (folder.path() / "caller").string();
  const ProcessResult built =
      run_process({"c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-o", program,
                   (folder.path() / "caller.cpp").string(), (folder.path() / "layer_1.o").string()});
  ASSERT_TRUE(built.succeeded()) << built.error.substr(0, 4000);
  EXPECT_EQ(run_process({program}).exit_code, 0);
}

TEST(ExportObject, RefusesWhatIsNone) {
  const auto text_of = [](const auto& action) -> std::string {
    try {
      action();
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  const TemporaryFolder folder;
  const auto weights = weights_of(8, 16);
  const Algorithm algorithm = spmm_algorithm(8, 16, 4, DType::f32);
  const Kernel gpu = compile(default_schedule(algorithm, weights, target_named("sm_80")));
  EXPECT_THAT(text_of([&] { export_object(gpu, folder.path().string()); }), HasSubstr("a kernel for a GPU"));
  const Kernel cpu = compile(default_schedule(algorithm, weights, target_named("cpu")));
  EXPECT_THAT(text_of([&] { export_object(cpu, folder.path().string(), {.name = "while"}); }),
              HasSubstr("while"));
}

}  // namespace
}  // namespace weft
