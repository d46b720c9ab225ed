#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/parse_device.h>
#include <weft/dsl/errors.h>

namespace weft {
namespace {

using testing::HasSubstr;

TEST(ParseDevice, ReadsNames) {
  EXPECT_EQ(parse_device("cpu"), Device::cpu());
  EXPECT_EQ(parse_device("sim:sm_80").name(), "sim:sm_80");
  EXPECT_EQ(parse_device("sim:sm_90a").kind(), DeviceKind::simulator);
}

TEST(ParseDevice, RefusesOthers) {
  for (const char* text :
       {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda:99999999999", "CPU", "cpu ", "cud", "sim"}) {
    try {
      parse_device(text);
      FAIL() << text;
    } catch (const UserError& error) {
      EXPECT_EQ(error.report().found, "'" + std::string(text) + "'");
      EXPECT_THAT(error.report().accepted, HasSubstr("cuda:<number>"));
    }
  }
  EXPECT_THROW(parse_device("sim:sm_12"), UserError);
  EXPECT_THROW(parse_device("sim:cpu"), UserError);
}

}  // namespace
}  // namespace weft
