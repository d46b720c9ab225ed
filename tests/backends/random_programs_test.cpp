// Random (algorithm, format, schedule, shape): scheduled and unscheduled programs agree with the reference.
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/scheduler/ir/print.h>
#include <weft/search/verify.h>

#include <cstdlib>
#include <iostream>

#include "support/random_schedule.h"

namespace weft {
namespace {

constexpr int programs = 500;

/// Runs one schedule on the CPU. A GPU schedule runs there by its meaning: bound loops one after the other.
void expect_right(const Schedule& schedule, test::RandomProblem& problem, std::uint64_t seed,
                  const char* what) {
  // A crash in generated code leaves nothing else behind.
  if (std::getenv("WEFT_TEST_VERBOSE") != nullptr) {
    std::cout << "seed " << seed << ", " << what << ": " << problem.text() << "\n"
              << schedule.cpp() << "\n"
              << ir::print(schedule.program()) << std::endl;
  }
  KernelOptions options;
  options.by_meaning = true;
  const Kernel kernel = compile(schedule, options);
  auto tensors = problem.tensors;
  Arguments arguments = problem.arguments();
  for (auto& [name, array] : tensors) arguments.tensors[name] = &array;
  const Verification verification = verify(kernel, Device::cpu(), arguments);
  EXPECT_TRUE(verification.passed) << "seed " << seed << ", " << what << ": " << verification.text() << "\n"
                                   << problem.text() << "\n"
                                   << schedule.cpp() << "\n"
                                   << ir::print(schedule.program());
}

void check_programs(const char* target, std::uint64_t first_seed, int count) {
  int applied = 0;
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t seed = first_seed + static_cast<std::uint64_t>(i);
    std::mt19937_64 random(seed);
    test::RandomProblem problem = test::random_problem(random);
    Schedule schedule(problem.algorithm, problem.weights, target_named(target));
    if (i % 10 == 0) expect_right(schedule, problem, seed, "unscheduled");
    const test::RandomSteps steps = test::apply_random_steps(schedule, 12, random);
    EXPECT_TRUE(steps.silent.empty())
        << "seed " << seed << ": " << steps.silent.front() << " refused without a reason";
    applied += steps.applied;
    refused += steps.refused;
    expect_right(schedule, problem, seed, "scheduled");
  }
  // The generator must reach both sides of the preconditions, or the test says nothing.
  EXPECT_GT(applied, 3 * count);
  EXPECT_GT(refused, count);
  std::cout << count << " programs: " << applied << " steps applied, " << refused << " refused\n";
}

TEST(RandomPrograms, CpuSchedulesAgreeWithTheReference) {
  check_programs("cpu", 1000, programs / 2);
}

TEST(RandomPrograms, GpuSchedulesAgreeWithTheReference) {
  check_programs("sm_80", 5000, programs / 2);
}

}  // namespace
}  // namespace weft
