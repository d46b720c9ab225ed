// A whole measurement on the fake driver with the fakes of cuDNN, cuSPARSE and cuSPARSELt, which stand first
// on the loader's path when this runs: operands, own weights, verification and timing as on a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/search/measure/plug_in_contestant.h>
#include <weft/search/measure/report.h>
#include <weft/search/measure/vendor_contestants.h>

#include <algorithm>

#include "definition_contestant.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

const char* const text = R"({"suite": "s", "dtype": "f16", "sparsity": [0.5, 0.75], "V": [8],
                             "problems": [{"M": 32, "K": 48, "N": 24}]})";

class FakeVendor : public ::testing::Test {
 protected:
  FakeVendor() {
    // These alone: what a real cuBLAS makes of the fake driver is no matter.
    libraries.cudnn = Cudnn::open(device);
    libraries.cusparse = Cusparse::open(device);
    libraries.cusparselt = Cusparselt::open(device);
    libraries.no_cudnn = libraries.no_cusparse = libraries.no_cusparselt = "";
  }
  CaseResult measured(std::size_t number, const BenchOptions& options) {
    const Suite suite = parse_suite(text, "s.json");
    std::vector<Contestant> contestants = vendor_contestants(suite, libraries, DenseType::f16);
    std::erase_if(contestants, [](const Contestant& one) { return one.kind != ContestantKind::sparse; });
    return measure(suite, cases_of(suite)[number], {}, device, contestants, options);
  }

  Device device = Device::cuda();
  Libraries libraries{Device::cpu()};
};

TEST_F(FakeVendor, SparseProductsAreRightAndTimed) {
  ASSERT_TRUE(libraries.cusparse && libraries.cusparselt);
  EXPECT_THAT(libraries.versions(), ::testing::Contains(HasSubstr("cuSPARSELt 0.10.2")));
  for (const int copies : {1, 3}) {
    const CaseResult half = measured(0, {3, copies});
    ASSERT_EQ(half.entries.size(), 2U);
    for (const Entry& entry : half.entries) {
      EXPECT_TRUE(entry.timed()) << entry.name << ": " << entry.reason;
      EXPECT_EQ(entry.timing.method, "graph");
      EXPECT_GT(entry.check.relative, 0) << "f16 rounds";
      EXPECT_LT(entry.check.relative, 1e-3);
      EXPECT_EQ(entry.check.rows, 32);
    }
    EXPECT_THAT(half.entries[0].weights, HasSubstr("blocks of 8"));
    EXPECT_EQ(half.entries[1].tried.size(), 2U) << "chosen and searched";
    EXPECT_GT(half.group_limits.value().tensor, 0);
  }
}

TEST_F(FakeVendor, TwoOfFourIsForHalfTheWeights) {
  const CaseResult quarter = measured(1, {3, 1});
  EXPECT_TRUE(quarter.entries[0].timed()) << quarter.entries[0].reason;
  EXPECT_FALSE(quarter.entries[1].timed());
  EXPECT_THAT(quarter.entries[1].reason, HasSubstr("weights of 50 % alone can be 2:4"));
}

const char* const images = R"({"suite": "images", "problems": [
  {"id": 1, "op": "conv2d", "C": 4, "F": 8, "H": 5, "W": 6, "R": 3, "S": 3, "stride": 2, "batch": 2,
   "dtype": "f32", "layout": "nhwc", "sparsity": 0.5, "pattern": "unstructured"},
  {"id": 2, "op": "conv2d", "C": 8, "F": 8, "H": 4, "W": 5, "R": 3, "S": 3, "batch": 2, "groups": 4,
   "dtype": "f32", "layout": "nchw", "sparsity": 0.6, "pattern": "unstructured"},
  {"id": 3, "op": "conv2d", "C": 3, "F": 4, "H": 6, "W": 7, "R": 3, "S": 3, "pad": 2, "dilation": 2,
   "dtype": "f32", "sparsity": 0.9, "pattern": "unstructured"},
  {"id": 4, "op": "conv2d", "C": 4, "F": 16, "H": 3, "W": 4, "R": 3, "S": 3, "batch": 8,
   "dtype": "f16", "layout": "chwn", "sparsity": 0.75, "pattern": "shuffled_rows", "V": 8}]})";

TEST_F(FakeVendor, ConvolutionsOfEveryLayoutGroupAndDilation) {
  ASSERT_TRUE(libraries.cudnn);
  for (const Suite& suite : parse_suites(images, "images.json")) {
    std::vector<Contestant> contestants = vendor_contestants(suite, libraries, *dense_type_of(suite.dtype));
    const CaseResult result = measure(suite, cases_of(suite).front(), {}, device, contestants, {3, 1});
    const Entry* dense = baseline_of(result);
    ASSERT_NE(dense, nullptr) << suite.problems.front().id << ": " << result.entries.front().reason;
    EXPECT_EQ(dense->check.rows, suite.problems.front().m);
    EXPECT_EQ(dense->tried.size(), 4U) << "two algorithms, channels first and last";
    const bool innermost = suite.problems.front().layout == ImageLayout::chwn;
    EXPECT_EQ(dense->name, innermost ? "cuDNN f16 of nchw images (no library takes chwn)" : "cuDNN f32");
  }
}

Entry entry_of_plug_in(const std::string& name) {
  const Suite suite = parse_suite(
      R"({"suite": "s", "dtype": "f32", "sparsity": [0.8], "problems": [{"M": 9, "K": 8, "N": 7}]})",
      "s.json");
  const Device device = Device::cuda();
  const std::vector<PlugIn> brought =
      plug_ins({std::string(WEFT_PLUG_INS) + "/" + name}, device, suite.dtype);
  return measure(suite, cases_of(suite).front(), {}, device, {brought.front().contestant}, {3, 1})
      .entries.front();
}

TEST(PlugInOnADevice, IsTimedAsAGraph) {
  const Entry entry = entry_of_plug_in("right");
  EXPECT_TRUE(entry.timed()) << entry.reason;
  EXPECT_EQ(entry.timing.method, "graph");
  EXPECT_GT(entry.timing.median, 0);
}

/// Of a product of which a sample of columns is compared with f64, the others with a result that is trusted.
TEST(PlugInOnADevice, NobodyIsComparedWithItsResult) {
  const Suite suite = parse_suite(
      R"({"suite": "s", "dtype": "f32", "sparsity": [0.5], "problems": [{"M": 64, "K": 2048, "N": 1024}]})",
      "s.json");
  Contestant own{"own", ContestantKind::plug_in}, library{"library", ContestantKind::dense};
  own.variants.push_back(by_definition([](Array& c) { c.set(1, 1e6); }));
  library.variants.push_back(by_definition());
  const CaseResult result =
      measure(suite, cases_of(suite).front(), {}, Device::cuda(), {own, library}, {3, 1});
  EXPECT_FALSE(result.entries[0].timed());
  EXPECT_TRUE(result.entries[1].timed()) << result.entries[1].reason;
  EXPECT_TRUE(result.entries[1].check.passed);
}

/// Whose launches are in no graph would have the time of an empty one.
TEST(PlugInOnADevice, WorkBesideTheStreamHasNoTime) {
  const Entry entry = entry_of_plug_in("beside_the_stream");
  EXPECT_FALSE(entry.timed());
  EXPECT_TRUE(entry.wrong);
  EXPECT_THAT(entry.reason, ::testing::AllOf(HasSubstr("as it was timed"), HasSubstr("not a number")));
}

}  // namespace
}  // namespace weft
