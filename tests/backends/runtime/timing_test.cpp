#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/runtime/recorded_launch.h>
#include <weft/backends/runtime/timing.h>
#include <weft/dsl/errors.h>

#include <chrono>

namespace weft {
namespace {

void spin(double seconds) {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds) {
  }
}

TEST(Timing, SummaryOfSamples) {
  const Timing timing = summarize({4, 1, 3, 2, 5});
  EXPECT_DOUBLE_EQ(timing.median, 3);
  EXPECT_DOUBLE_EQ(timing.minimum, 1);
  EXPECT_DOUBLE_EQ(timing.percentile_95, 4.8);
  EXPECT_DOUBLE_EQ(timing.spread, 3.8 / 3);
  EXPECT_EQ(timing.count, 5);
  EXPECT_DOUBLE_EQ(summarize({1, 2}).median, 1.5);
  EXPECT_DOUBLE_EQ(summarize({7}).percentile_95, 7);
  EXPECT_DOUBLE_EQ(summarize({0, 0}).spread, 0);
  EXPECT_THROW(summarize({}), InternalError);
}

TEST(Timing, OnTheProcessorMeasuresOneLaunch) {
  const Timing timing = time(Device::cpu(), [](StreamHandle) { spin(200e-6); });
  // The processor is shared, so the minimum is what can be relied on.
  EXPECT_GE(timing.minimum, 200);
  EXPECT_LT(timing.minimum, 400);
  EXPECT_GE(timing.median, timing.minimum);
  EXPECT_EQ(timing.count, 15);
  EXPECT_LE(timing.repeats, 3);
  EXPECT_EQ(timing.method, "clock");
}

TEST(Timing, ShortLaunchesAreRepeated) {
  int launches = 0;
  const Timing timing = time(Device::cpu(), [&](StreamHandle) { ++launches; });
  EXPECT_EQ(timing.repeats, 200);
  EXPECT_EQ(launches, 3 + 1 + 15 * 200);
  EXPECT_LT(timing.median, 10);
}

TEST(Timing, TheFlushIsNotCounted) {
  TimingOptions options;
  options.flush_l2 = true;
  options.rounds = 5;
  const Timing timing = time(Device::cpu(), [](StreamHandle) { spin(50e-6); }, options);
  EXPECT_EQ(timing.method, "clock+flush");
  EXPECT_GE(timing.minimum, 50);
  EXPECT_LT(timing.minimum, 500);
}

TEST(Timing, StopsWhenItsTimeIsUp) {
  TimingOptions options;
  options.maximum_seconds = 0.1;
  options.rounds = 1000;
  int launches = 0;
  const auto launch = [&](StreamHandle) {
    ++launches;
    spin(0.05);
  };
  const Timing timing = time(Device::cpu(), launch, options);
  EXPECT_GE(timing.count, 3);
  EXPECT_LT(launches, 12);
}

TEST(Timing, RefusesOptionsThatMeanNothing) {
  for (const auto change :
       {+[](TimingOptions& o) { o.rounds = 0; }, +[](TimingOptions& o) { o.repeats = -1; },
        +[](TimingOptions& o) { o.limit_seconds = 0; }}) {
    TimingOptions options;
    change(options);
    EXPECT_THROW(time(Device::cpu(), [](StreamHandle) {}, options), UserError);
  }
}

TEST(Timing, ContestantsTakeTurnsAndEachBegins) {
  TimingOptions options;
  options.rounds = 3;
  options.repeats = 1;
  options.warm_up = 0;
  std::string order;
  std::vector<std::function<void(StreamHandle)>> contestants;
  for (const char name : {'a', 'b', 'c'}) {
    contestants.emplace_back([&order, name](StreamHandle) { order += name; });
  }
  const std::vector<Timing> timings = time_in_turns(Device::cpu(), contestants, options);
  // One launch each to choose the repeats, then three rounds, where one comes ahead that does not count.
  EXPECT_EQ(order, "abcaabbccbbccaaccaabb");
  ASSERT_EQ(timings.size(), 3U);
  for (const Timing& timing : timings) EXPECT_EQ(timing.count, 3);
  EXPECT_TRUE(time_in_turns(Device::cpu(), {}, options).empty());
}

TEST(Timing, ContestantsKeepTheirTimesApart) {
  TimingOptions options;
  options.rounds = 5;
  const auto timings = time_in_turns(
      Device::cpu(), {[](StreamHandle) { spin(300e-6); }, [](StreamHandle) { spin(20e-6); }}, options);
  EXPECT_GE(timings[0].minimum, 300);
  EXPECT_LT(timings[1].minimum, 300);
  EXPECT_GT(timings[1].repeats, timings[0].repeats);
}

TEST(Timing, OneLaunchOnTheProcessorComesAfterWhatIsBefore) {
  std::string order;
  launch_as_timed(Device::cpu(), [&](StreamHandle) { order += "launch"; }, [&] { order += "before "; });
  EXPECT_EQ(order, "before launch");
}

TEST(Timing, ErrorsOfALaunchComeThrough) {
  EXPECT_THROW(time(Device::cpu(), [](StreamHandle) { throw RuntimeError("broken"); }), RuntimeError);
}

}  // namespace
}  // namespace weft
