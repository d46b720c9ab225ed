// The simulator's scalar instructions give what an H200 gave.
#include <gtest/gtest.h>
#include <weft/backends/simulator/device.h>

#include <filesystem>

#include "scalar_golden.h"

namespace weft::simulator::scalar_tests {
namespace {

class ScalarConformance : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ScalarConformance, EqualsTheGpu) {
  const std::string path = std::string(WEFT_TESTS_DIR) + "/golden/simulator/scalar_sm90.txt";
  const Group group = scalar_groups()[GetParam()];
  const auto results = run(Device::simulator("sm_90a"), group);
  ASSERT_TRUE(std::filesystem::exists(path)) << "simulator_conformance_record writes " << path;
  const std::map<std::string, Golden> golden = read_golden(path);
  for (std::size_t i = 0; i < group.kernels.size(); ++i) {
    const auto known = golden.find(group.kernels[i].name);
    ASSERT_NE(known, golden.end()) << group.kernels[i].name << " was never recorded";
    const std::string text = difference(group.kernels[i], known->second, results[i]);
    EXPECT_TRUE(text.empty()) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, ScalarConformance, ::testing::Range<std::size_t>(0, 6),
                         [](const auto& at) { return scalar_groups()[at.param].name; });

}  // namespace
}  // namespace weft::simulator::scalar_tests
