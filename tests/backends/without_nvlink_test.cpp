// A toolkit whose nvlink cannot be used: long kernels are assembled as one text, and say so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/cuda/assemble.h>
#include <weft/backends/cuda/toolkit.h>
#include <weft/backends/kernel.h>
#include <weft/backends/runtime/process.h>
#include <weft/backends/runtime/shared_library.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/spaces/problems.h>

#include <cstdlib>
#include <filesystem>

namespace weft {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// This machine's ptxas beside an nvlink of long ago, in front of all other programs. The toolkit is looked
/// for once in a process, so this has to be done first.
class OldNvlink : public testing::Environment {
 public:
  void SetUp() override {
    const std::filesystem::path ptxas = find_program("ptxas");
    if (!ptxas.empty()) std::filesystem::create_symlink(ptxas, folder_.path() / "ptxas");
    const std::filesystem::path nvlink = folder_.path() / "nvlink";
    write_bytes(nvlink, "#!/bin/sh\necho Cuda compilation tools, release 9.0, V9.0.1\n");
    std::filesystem::permissions(nvlink, std::filesystem::perms::owner_all);
    const char* path = std::getenv("PATH");
    setenv("PATH", (folder_.path().string() + ":" + (path == nullptr ? "" : path)).c_str(), 1);
  }

 private:
  TemporaryFolder folder_;
};

const auto* const old_nvlink = testing::AddGlobalTestEnvironment(new OldNvlink);

Schedule long_product() {
  const WeightMatrix matrix = synthetic_layer({.rows = 256, .columns = 512, .sparsity = 0.9, .seed = 4});
  return sparsert(spmm_algorithm(256, 512, 196, DType::f32),
                  std::make_shared<const SparseTensor>(pack(matrix, formats::csr())), target_named("sm_90a"),
                  {.form = SparseRtForm::baked, .rows = 16, .threads = 64, .groups = 8});
}

TEST(WithoutNvlink, OneOfAnotherVersionIsNotUsed) {
  if (!cuda::can_assemble()) GTEST_SKIP() << "[SKIP] " << cuda::toolkit().ptxas.reason;
  EXPECT_FALSE(cuda::can_link());
  EXPECT_THAT(cuda::toolkit().nvlink.reason, HasSubstr("9.0.1, and "));
  EXPECT_THAT(cuda::toolkit().nvlink.reason, HasSubstr(cuda::toolkit().ptxas.version));
  EXPECT_THROW(cuda::link({}, {}), RuntimeError);
}

TEST(WithoutNvlink, LongKernelsAreOneText) {
  if (!cuda::can_assemble()) GTEST_SKIP() << "[SKIP] " << cuda::toolkit().ptxas.reason;
  const Kernel kernel = compile(long_product());
  EXPECT_TRUE(kernel.cubin().starts_with("\177ELF"));
  ASSERT_TRUE(kernel.resources().has_value());
  EXPECT_GT(kernel.resources()->registers, 16);
  EXPECT_EQ(kernel.resources()->spill_bytes, 0);
  EXPECT_THAT(kernel.resources()->notes, Contains(HasSubstr("assembled as one text, which takes long: ")));
}

}  // namespace
}  // namespace weft
