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
  for (const auto& [text, meant] : {std::pair{"h100", "cuda, where there is such a GPU, or sim:sm_90a"},
                                    {"sm_80", "or sim:sm_80, which"},
                                    {"gpu", "did you mean cuda?"},
                                    {"CPU", "did you mean cpu?"},
                                    {"cpu:0", "did you mean cpu?"},
                                    {"sim:a100", "did you mean sim:sm_80?"},
                                    {"x86-64-v4", "did you mean cpu?"}}) {
    try {
      parse_device(text);
      FAIL() << text;
    } catch (const UserError& error) {
      EXPECT_THAT(error.report().accepted, HasSubstr(meant)) << text;
    }
  }
  EXPECT_THROW(parse_device("sim:sm_12"), UserError);
  EXPECT_THROW(parse_device("sim:cpu"), UserError);
}

}  // namespace
}  // namespace weft
