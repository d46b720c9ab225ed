// Tensor instructions on the simulated device against plain products, and what it says of wrong uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "conformance/matrix_golden.h"

namespace weft::simulator::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Made once: they are many.
const std::vector<MatrixKernel>& multiplications() {
  static const std::vector<MatrixKernel> kernels = multiply_kernels();
  return kernels;
}
const std::vector<MatrixKernel>& of_warpgroups() {
  static const std::vector<MatrixKernel> kernels = warpgroup_kernels();
  return kernels;
}

void expect_all(const std::vector<MatrixKernel>& kernels) {
  ASSERT_FALSE(kernels.empty());
  const Device device = make_device("sm_90a");
  for (const MatrixKernel& kernel : kernels) {
    SCOPED_TRACE(kernel.name);
    // The simulator rounds once: to half a unit of f32 or f16 at most, far inside what hardware may be off.
    EXPECT_THAT(differences(kernel, run(device, kernel), kernel.tolerance / 2), IsEmpty());
  }
}

TEST(Matrix, MovesAreExact) {
  expect_all(matrix_move_kernels());
}
TEST(Matrix, ProductsOfAWarp) {
  expect_all(multiplications());
}
TEST(Matrix, ProductsOfAWarpgroup) {
  expect_all(of_warpgroups());
}

TEST(Matrix, EqualsTheGpu) {
  const std::string path = std::string(WEFT_TESTS_DIR) + "/golden/simulator/matrix_sm90.txt";
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "[SKIP] no results of a GPU: simulator_matrix_record writes them";
  const auto golden = read_matrix_golden(path);
  const Device device = make_device("sm_90a");
  for (const MatrixKernel& kernel : matrix_kernels()) {
    const auto known = golden.find(kernel.name);
    ASSERT_NE(known, golden.end()) << kernel.name << " was never recorded";
    EXPECT_THAT(difference(kernel, known->second, golden_of(kernel, run(device, kernel))), IsEmpty());
  }
}

TEST(Matrix, NamesAreDistinct) {
  std::vector<std::string> names;
  for (const MatrixKernel& kernel : matrix_kernels()) names.push_back(kernel.name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end()) << *std::ranges::adjacent_find(names);
}

TEST(Matrix, ProductsDoneEarlyAreTheSame) {
  const auto& kernels = of_warpgroups();
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    const Device device =
        make_device("sm_90a", {.launch = {.seed = seed, .late = false}, .tolerates_findings = false});
    for (std::size_t i = seed; i < kernels.size(); i += 23)
      EXPECT_THAT(differences(kernels[i], run(device, kernels[i]), kernels[i].tolerance / 2), IsEmpty());
  }
}

TEST(Matrix, GoldenLinesAreRead) {
  const MatrixKernel kernel = multiplications().at(1);  // random operands
  MatrixGolden golden = golden_of(kernel, run(make_device("sm_90a"), kernel));
  const std::string path = ::testing::TempDir() + "/matrix_golden.txt";
  std::ofstream(path) << golden_line(kernel, golden);
  const MatrixGolden read = read_matrix_golden(path).at(kernel.name);
  EXPECT_THAT(difference(kernel, read, golden), IsEmpty());
  golden.error = 2 * kernel.tolerance;
  EXPECT_THAT(difference(kernel, read, golden), HasSubstr("is off by"));
  golden.signature ^= 1;
  EXPECT_THAT(difference(kernel, read, golden), HasSubstr("not the recorded one"));
  std::ofstream(path) << "nonsense\n";
  EXPECT_THROW(read_matrix_golden(path), UserError);
}

TEST(Matrix, ComparisonSeesOneWrongElement) {
  MatrixKernel kernel = matrix_move_kernels().front();
  const std::vector<std::uint32_t> out = run(make_device("sm_90a"), kernel);
  kernel.expected[5] += 1;
  EXPECT_THAT(differences(kernel, out, 0), HasSubstr("1 of 32 differ"));
}

const MatrixKernel& find(const std::vector<MatrixKernel>& kernels, std::string_view part) {
  const auto found = std::ranges::find_if(
      kernels, [part](const MatrixKernel& kernel) { return kernel.name.find(part) != std::string::npos; });
  if (found == kernels.end()) throw std::runtime_error("no kernel is called so");
  return *found;
}

/// What the simulator says of a kernel whose text is changed: kinds and texts of its findings.
std::string findings_after(MatrixKernel kernel, std::string_view from, std::string_view to) {
  const std::size_t at = kernel.ptx.find(from);
  if (at == std::string::npos) throw std::runtime_error("the kernel has no " + std::string(from));
  kernel.ptx.replace(at, from.size(), to);
  const Device device = make_device("sm_90a", {.launch = {}, .tolerates_findings = true});
  run(device, kernel);
  std::string text;
  for (const Finding& finding : last_report(device).findings)
    text += finding.kind + ": " + finding.text + "\n";
  return text;
}

TEST(MatrixFindings, MetadataOutOfOrder) {
  const auto& kernels = multiplications();
  // 0x0 is twice the same index, 0xB the higher one first.
  for (const std::string_view kind :
       {"mma.sp.sync.aligned.m16n8k32", "mma.sp::ordered_metadata.sync.aligned.m16n8k32"})
    EXPECT_THAT(findings_after(find(kernels, kind), ", %r79, 0;", ", 0, 0;"),
                HasSubstr("sparse metadata: row 0"));
  const std::string_view swapped = ", -1145324613, 0;";  // 0xBBBBBBBB
  EXPECT_THAT(
      findings_after(find(kernels, "mma.sp::ordered_metadata.sync.aligned.m16n8k32"), ", %r79, 0;", swapped),
      HasSubstr("sparse metadata: row 0, columns 0 to 3: indices 3 and 2"));
  EXPECT_THAT(findings_after(find(kernels, "mma.sp.sync.aligned.m16n8k32"), ", %r79, 0;", swapped),
              IsEmpty());
}

/// A flipped bit makes a code of two equal or descending indices, which is found wherever it stands, or
/// another good code.
TEST(MatrixFindings, EveryFlippedBitOfMetadata) {
  const auto& kernel = find(multiplications(), "mma.sp::ordered_metadata.sync.aligned.m16n8k32");
  int found = 0;
  for (const unsigned code : {0x4U, 0x8U, 0xCU, 0x9U, 0xDU, 0xEU}) {
    for (int bit = 0; bit < 32; ++bit) {
      const unsigned word = code * 0x11111111U ^ 1U << bit;
      const unsigned changed = word >> bit / 4 * 4 & 15U;
      const bool good = (changed & 3U) < changed >> 2;
      const std::string said = findings_after(
          kernel, ", %r79, 0;", ", " + std::to_string(static_cast<std::int32_t>(word)) + ", 0;");
      EXPECT_EQ(said.find("sparse metadata") == std::string::npos, good) << code << ", " << bit << said;
      found += good ? 0 : 1;
    }
  }
  EXPECT_EQ(found, 8 * 12);
}

TEST(MatrixFindings, MetadataOfTf32) {
  const auto& kernels = multiplications();
  const auto& kernel = find(kernels, "mma.sp::ordered_metadata.sync.aligned.m16n8k8.row.col.f32.tf32");
  EXPECT_THAT(findings_after(kernel, ", %r79, 0;", ", -286331154, 0;"), IsEmpty());  // 0xE...
  EXPECT_THAT(findings_after(kernel, ", %r79, 0;", ", 1145324612, 0;"), IsEmpty());  // 0x4...
  EXPECT_THAT(findings_after(kernel, ", %r79, 0;", ", -1717986919, 0;"),
              HasSubstr("sparse metadata"));  // 0x9...
}

TEST(MatrixFindings, SelectorsBeyondTheShape) {
  const auto& kernels = multiplications();
  EXPECT_THAT(
      findings_after(find(kernels, "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16"), "%r79, 0;", "%r79, 2;"),
      HasSubstr("sparsity selector: the selector is 2; this shape has 0 to 1"));
}

TEST(MatrixFindings, PartOfAWarp) {
  const std::string guard = "  .reg .pred %q;\n  setp.lt.u32 %q, %r0, 31;\n  @%q ";
  for (const std::string_view name : {"ldmatrix", "stmatrix", "movmatrix"})
    EXPECT_THAT(findings_after(find(matrix_move_kernels(), name), "  " + std::string(name),
                               guard + std::string(name)),
                HasSubstr("partial warp"));
  EXPECT_THAT(findings_after(find(multiplications(), "mma"), "  mma.", guard + "mma."),
              HasSubstr("partial warp"));
  EXPECT_THAT(findings_after(find(of_warpgroups(), "wgmma"), "  wgmma.mma", guard + "wgmma.mma"),
              HasSubstr("partial warp"));
}

TEST(MatrixFindings, RegistersOfAWarpgroup) {
  const auto& kernels = of_warpgroups();
  const MatrixKernel& kernel = find(kernels, "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16");
  const std::string_view fence = "  wgmma.fence.sync.aligned;\n",
                         wait = "  wgmma.wait_group.sync.aligned 0;\n";
  EXPECT_THAT(findings_after(kernel, fence, ""), HasSubstr("missing wgmma.fence: this warp"));
  EXPECT_THAT(findings_after(kernel, fence, std::string(fence) + "  mov.f32 %f3, 0f42280000;\n"),
              HasSubstr("missing wgmma.fence: %f3 was written after"));
  EXPECT_THAT(findings_after(kernel, wait, ""), HasSubstr("register in flight"));
  EXPECT_THAT(findings_after(kernel, wait, "  wgmma.wait_group.sync.aligned 1;\n"),
              HasSubstr("register in flight"));
  EXPECT_THAT(findings_after(kernel, "  ld.global.f32 %f7,", "  ld.global.f32 %f128,"),
              HasSubstr("unwritten register"));
}

TEST(MatrixFindings, AccumulatorsThatAreNotReadNeedNoValue) {
  const auto& kernels = of_warpgroups();
  EXPECT_THAT(findings_after(find(kernels, "scale-d 0"), "  ld.global.f32 %f7,", "  ld.global.f32 %f128,"),
              IsEmpty());
}

TEST(MatrixFindings, SharedMemoryOfAWarpgroup) {
  const auto& kernels = of_warpgroups();
  const MatrixKernel& kernel = find(kernels, "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16");
  EXPECT_THAT(findings_after(kernel, "  fence.proxy.async;\n", ""), HasSubstr("missing proxy fence"));
  EXPECT_THAT(findings_after(kernel, "  bar.sync 0;\n", ""), HasSubstr("race"));
  EXPECT_THAT(findings_after(kernel, "  shr.u32 %r7, %r7, 4;\n",
                             "  shr.u32 %r7, %r7, 4;\n  add.u32 %r7, %r7, 0x3000;\n"),
              HasSubstr("out of bounds"));
}

TEST(MatrixFindings, WgmmasMayFollowEachOtherWithoutWaiting) {
  const auto& kernels = of_warpgroups();
  for (const std::string_view name :
       {"m64n64k16.f32.f16.f16; A no swizzle", "m64n64k16.f32.f16.f16; A in registers"}) {
    const MatrixKernel& kernel = find(kernels, name);
    const std::size_t start = kernel.ptx.find("  wgmma.mma_async");
    const std::string twice = kernel.ptx.substr(start, kernel.ptx.find(";\n", start) + 2 - start);
    EXPECT_THAT(findings_after(kernel, twice, twice + twice), IsEmpty()) << name;
  }
}

}  // namespace
}  // namespace weft::simulator::testing
