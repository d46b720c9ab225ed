// Random (algorithm, format, schedule, shape): scheduled and unscheduled programs agree with the reference
// and with the definition, walked through naively.
#include <gtest/gtest.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/scheduler/ir/print.h>
#include <weft/search/measure/verify.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "support/naive.h"
#include "support/random_schedule.h"

namespace weft {
namespace {

constexpr int programs = 200;

/// Kernels by NVRTC or nvcc take a second each, so only every so many programs go that way.
constexpr std::uint64_t cuda_source_every = 25;

int refused_while_lowering = 0;

void expect_right_on(const Device& device, const KernelOptions& options, const Schedule& schedule,
                     test::RandomProblem& problem, std::uint64_t seed, const char* what) {
  std::optional<Kernel> made;
  try {
    made = compile(schedule, options);
  } catch (const UserError& error) {
    // What only the threads show: more registers than there are, registers of another thread. Loops that are
    // written out may be too many for the CPU, too.
    EXPECT_TRUE(!options.by_meaning || error.report().what == "the program is too long to compile")
        << error.what();
    EXPECT_FALSE(error.report().found.empty()) << error.what();
    ++refused_while_lowering;
    return;
  }
  const Kernel& kernel = *made;
  auto tensors = problem.tensors;
  Arguments arguments = problem.arguments();
  for (auto& [name, array] : tensors) arguments.tensors[name] = &array;
  const auto context = [&] {
    return "seed " + std::to_string(seed) + ", " + what + " on " + device.name() + "\n" + problem.text() +
           "\n" + schedule.cpp() + "\n" + ir::print(schedule.program());
  };
  try {
    const Algorithm& algorithm = problem.algorithm;
    const test::NaiveResult expected = test::naive(algorithm, &problem.matrix, arguments);
    const Array by_reference = reference(algorithm, problem.weights.get(), arguments).value;
    for (std::size_t i = 0; i < expected.value.size(); ++i) {
      const double value = by_reference.get(static_cast<std::int64_t>(i));
      // Both are sums in f64, in different orders.
      EXPECT_LE(std::abs(value - expected.value[i]), 0x1p-40 * expected.magnitude[i])
          << "the reference at element " << i << "\n"
          << context();
    }
    const Verification verification = verify(kernel, device, arguments);
    EXPECT_TRUE(verification.passed) << verification.text() << "\n" << context() << "\n" << kernel.ptx();
    const Array& output = *arguments.tensors.at(algorithm.operands[algorithm.output.operand].name);
    EXPECT_EQ(test::disagreement(algorithm, expected, output), "") << context() << "\n" << kernel.ptx();
  } catch (const RuntimeError& error) {
    ADD_FAILURE() << error.what() << "\n" << context() << "\n" << kernel.ptx();
  }
}

/// Runs one schedule on the CPU, a GPU schedule by its meaning: bound loops one after the other. A GPU
/// schedule also runs in the simulator, as PTX.
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
  expect_right_on(Device::cpu(), options, schedule, problem, seed, what);
  if (!schedule.target().is_gpu()) return;
  const Device device = Device::simulator(schedule.target().name);
  simulator::options(device).launch.seed = seed;
  simulator::options(device).launch.late = seed % 2 == 0;
  options.by_meaning = false;
  options.assemble = false;
  expect_right_on(device, options, schedule, problem, seed, what);
  if (seed % cuda_source_every != 0 || !cuda::compiler_status().found()) return;
  options.emitter = Emitter::cuda;
  expect_right_on(device, options, schedule, problem, seed, what);
}

void check_programs(const char* target, std::uint64_t first_seed, int count) {
  // Other programs than those of every day: WEFT_TEST_OTHER_SEEDS=10000.
  if (const char* other = std::getenv("WEFT_TEST_OTHER_SEEDS"))
    first_seed += std::strtoull(other, nullptr, 10);
  int applied = 0;
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t seed = first_seed + static_cast<std::uint64_t>(i);
    if (const char* only = std::getenv("WEFT_TEST_SEED"); only != nullptr && std::to_string(seed) != only)
      continue;
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
  if (std::getenv("WEFT_TEST_SEED") != nullptr) return;
  EXPECT_GT(applied, 3 * count);
  EXPECT_GT(refused, count);
  std::cout << count << " programs: " << applied << " steps applied, " << refused << " refused, "
            << refused_while_lowering << " programs refused while lowering\n";
  EXPECT_LT(refused_while_lowering, count / 4);
}

TEST(RandomPrograms, CpuSchedulesAgreeWithTheReference) {
  check_programs("cpu", 1000, programs / 2);
}

TEST(RandomPrograms, GpuSchedulesAgreeWithTheReference) {
  check_programs("sm_80", 5000, programs / 2);
}

}  // namespace
}  // namespace weft
