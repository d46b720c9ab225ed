// The states of a machine, shown by a driver that answers as it is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/runtime/driver.h>

#include <cstdlib>

namespace weft::driver {
namespace {

using ::testing::HasSubstr;

Status status_of(const char* answer) {
  setenv("WEFT_FAKE_DRIVER", answer, 1);
  EntryPoints table{};
  return load(WEFT_FAKE_DRIVER, table);
}

TEST(Driver, NoLibraryIsAStatus) {
  EntryPoints table{};
  const Status status = load("libno_such_driver.so.1", table);
  EXPECT_EQ(status.availability, Availability::no_driver);
  EXPECT_THAT(status.sentence, HasSubstr("libno_such_driver.so.1"));
  EXPECT_EQ(status.device_count, 0);
}

TEST(Driver, ALibraryWithoutTheEntryPointsIsTooOld) {
  EntryPoints table{};
  const Status status = load("libm.so.6", table);
  EXPECT_EQ(status.availability, Availability::driver_too_old);
  EXPECT_THAT(status.sentence, HasSubstr("it has no cuInit"));
}

TEST(Driver, AnOldVersionIsTooOld) {
  const Status status = status_of("old");
  EXPECT_EQ(status.availability, Availability::driver_too_old);
  EXPECT_THAT(status.sentence, HasSubstr("it supports CUDA 10.2, weft needs at least 11.4"));
}

TEST(Driver, NoDevice) {
  EXPECT_EQ(status_of("no_device").availability, Availability::no_device);
  EXPECT_EQ(status_of("hidden").availability, Availability::no_device);
  EXPECT_THAT(status_of("hidden").sentence, HasSubstr("CUDA_VISIBLE_DEVICES"));
}

TEST(Driver, TheToolkitsStubIsNoDriver) {
  EXPECT_EQ(status_of("stub").availability, Availability::no_driver);
}

TEST(Driver, AFailureCarriesTheDriversOwnWords) {
  const Status status = status_of("broken");
  EXPECT_EQ(status.availability, Availability::failed);
  EXPECT_THAT(status.sentence, HasSubstr("CUDA_ERROR_FAKE (fake error 999)"));
}

TEST(Driver, Ready) {
  const Status status = status_of("");
  EXPECT_TRUE(status.ready());
  EXPECT_EQ(status.device_count, 1);
  EXPECT_EQ(status.version, 13000);
  EXPECT_EQ(status.sentence, "1 CUDA device, driver for CUDA 13.0");
}

TEST(Driver, VersionsRead) {
  EXPECT_EQ(text_of_version(13000), "13.0");
  EXPECT_EQ(text_of_version(11040), "11.4");
}

}  // namespace
}  // namespace weft::driver
