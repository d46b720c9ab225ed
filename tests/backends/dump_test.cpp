// WEFT_DUMP: what is written there, and that an edited kernel is what the next compile uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/dump.h>
#include <weft/backends/kernel.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/examples.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

WEFT_INDEX(m);
WEFT_INDEX(n);

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

class DumpFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root);
    setenv("WEFT_DUMP", root.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("WEFT_DUMP");
    fs::remove_all(root);
  }

  static Schedule gpu_schedule() {
    auto s = test::spmm_schedule("sm_80");
    s.split(n = 32).bind(m, block_x).bind(n.inner, lane);
    return s;
  }

  /// Without ptxas, which would refuse what a test writes there.
  static KernelOptions options(Emitter emitter) {
    KernelOptions result;
    result.emitter = emitter;
    result.assemble = false;
    return result;
  }

  const fs::path root = fs::path(::testing::TempDir()) / "weft_dump_test";
  const fs::path folder = root / "spmm";
};

TEST_F(DumpFolder, HoldsTheProgramAfterEachStepAndPass) {
  compile(gpu_schedule(), options(Emitter::llvm));
  EXPECT_THAT(text_of(folder / "00_algorithm.txt"), HasSubstr("for n in"));
  EXPECT_THAT(text_of(folder / "01_split.txt"), HasSubstr("for n.inner in"));
  EXPECT_THAT(text_of(folder / "03_bind.txt"), HasSubstr("# lane"));
  std::vector<std::string> numbers;
  bool mapped = false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".txt")) numbers.push_back(name.substr(0, 2));
    if (name.ends_with("_map_threads.txt"))
      mapped = text_of(entry.path()).find("thread") != std::string::npos;
  }
  EXPECT_TRUE(mapped);
  EXPECT_THAT(numbers, testing::Not(testing::IsEmpty()));
  std::sort(numbers.begin(), numbers.end());
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(std::stoul(numbers[i]), i);
}

TEST_F(DumpFolder, EditedPtxIsWhatCompileReturns) {
  const std::string made = compile(gpu_schedule(), options(Emitter::llvm)).ptx();
  EXPECT_EQ(text_of(folder / "kernel.ptx"), made);
  const std::string edited = "// edited by hand\n" + made;
  write(folder / "kernel.ptx", edited);
  EXPECT_EQ(compile(gpu_schedule(), options(Emitter::llvm)).ptx(), edited);
  EXPECT_EQ(text_of(folder / "kernel.ptx"), edited);
}

TEST_F(DumpFolder, AnEditOfAnotherProgramIsNotUsed) {
  compile(gpu_schedule(), options(Emitter::llvm));
  write(folder / "kernel.ptx", "of another program");
  auto other = gpu_schedule();
  other.bind(n.outer, block_y);
  const std::string ptx = compile(other, options(Emitter::llvm)).ptx();
  EXPECT_THAT(ptx, HasSubstr(".target sm_80"));
  EXPECT_EQ(text_of(folder / "kernel.ptx"), ptx);
}

TEST_F(DumpFolder, EditedSourceIsKept) {
  const Dump dump("spmm");
  EXPECT_EQ(dump.edited("kernel.cu", "made"), "made");
  write(folder / "kernel.cu", "edited");
  EXPECT_EQ(dump.edited("kernel.cu", "made"), "edited");
  EXPECT_EQ(dump.edited("kernel.cu", "made anew"), "made anew");
  EXPECT_EQ(text_of(folder / "kernel.cu"), "made anew");
}

TEST_F(DumpFolder, EditedCudaSourceIsWhatCompileReturns) {
  const auto status = cuda::compiler_status();
  if (!status.found()) GTEST_SKIP() << "[SKIP] " << status.sentence;
  const std::string made = compile(gpu_schedule(), options(Emitter::cuda)).cuda_source();
  EXPECT_THAT(made, HasSubstr("computes  C[m, n] = sum(k, A[m, k] * B[k, n])"));
  std::string edited = made;
  const std::string name = "void __launch_bounds__(32) spmm(";
  ASSERT_THAT(edited, HasSubstr(name));
  edited.replace(edited.find(name), name.size(), "void __launch_bounds__(32) edited(");
  write(folder / "kernel.cu", edited);
  const Kernel kernel = compile(gpu_schedule(), options(Emitter::cuda));
  EXPECT_EQ(kernel.cuda_source(), edited);
  EXPECT_THAT(kernel.ptx(), HasSubstr(".entry edited("));
}

TEST_F(DumpFolder, AFolderThatCannotBeMadeIsSaid) {
  write(root, "a file");
  try {
    compile(gpu_schedule(), options(Emitter::llvm));
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), ::testing::AllOf(HasSubstr("cannot make the folder"), HasSubstr("WEFT_DUMP")));
  }
}

TEST_F(DumpFolder, AFullDiskIsSaid) {
  fs::create_directories(root / "spmm");
  fs::create_symlink("/dev/full", root / "spmm" / "00_algorithm.txt");
  try {
    compile(gpu_schedule(), options(Emitter::llvm));
    FAIL() << "no error";
  } catch (const RuntimeError& error) {
    EXPECT_THAT(error.what(), ::testing::AllOf(HasSubstr("00_algorithm.txt"),
                                               HasSubstr("No space left on device"), HasSubstr("WEFT_DUMP")));
  }
}

TEST_F(DumpFolder, AFullDiskIsSaidByTheFilesOfAKernelToo) {
  unsetenv("WEFT_DUMP");
  fs::create_directories(root);
  fs::create_symlink("/dev/full", root / "lowered.txt");
  const Kernel kernel = compile(gpu_schedule(), options(Emitter::llvm));
  try {
    kernel.write_to(root.string());
    FAIL() << "no error";
  } catch (const RuntimeError& error) {
    EXPECT_THAT(error.what(),
                ::testing::AllOf(HasSubstr("lowered.txt"), HasSubstr("No space left on device")));
  }
  EXPECT_THROW(kernel.write_to("/dev/null/folder"), UserError);
}

TEST(DumpUnset, WritesNothing) {
  unsetenv("WEFT_DUMP");
  const Dump dump("nowhere");
  EXPECT_EQ(dump.edited("kernel.ptx", "made"), "made");
  EXPECT_FALSE(fs::exists("nowhere"));
}

}  // namespace
}  // namespace weft
