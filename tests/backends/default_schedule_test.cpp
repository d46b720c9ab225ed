// The schedule that nobody chose is right for every legal algorithm, format and target.
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/errors.h>
#include <weft/formats/prune/prune.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/recipes/list.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <set>

#include "support/naive.h"
#include "support/random_algorithm.h"

namespace weft {
namespace {

/// What is wrong with the kernel of the default schedule on a device; nothing: it is as defined.
std::string trouble(test::RandomProblem& problem, const char* target, const Device& device, bool by_meaning) {
  std::string text = problem.algorithm.text();
  if (problem.weights != nullptr) text += " in " + problem.weights->format().text();
  try {
    const Schedule schedule = default_schedule(problem.algorithm, problem.weights, target_named(target));
    text += "\n" + schedule.cpp() + "\n" + ir::print(schedule.program());
    auto tensors = problem.tensors;
    Arguments arguments;
    for (auto& [name, array] : tensors) arguments.tensors[name] = &array;
    arguments.scalars = problem.scalars;
    const WeightMatrix* matrix = problem.weights == nullptr ? nullptr : &problem.matrix;
    const test::NaiveResult expected = test::naive(problem.algorithm, matrix, arguments);
    KernelOptions options;
    options.by_meaning = by_meaning;
    options.assemble = false;
    compile(schedule, options)(device, arguments);
    const Array& output = tensors.at(problem.algorithm.operands[problem.algorithm.output.operand].name);
    const std::string found = test::disagreement(problem.algorithm, expected, output);
    return found.empty() ? "" : found + "\n" + text;
  } catch (const std::exception& error) {
    return std::string(error.what()) + "\n" + text;
  }
}

TEST(DefaultSchedule, IsRightForRandomAlgorithms) {
  constexpr std::uint64_t count = 120, simulated_every = 8;
  std::set<std::string> formats;
  const Device cpu = Device::cpu();
  // Others than those of every day: WEFT_TEST_OTHER_SEEDS=10000.
  const char* other = std::getenv("WEFT_TEST_OTHER_SEEDS");
  const std::uint64_t first = other == nullptr ? 1 : std::strtoull(other, nullptr, 10);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    if (const char* only = std::getenv("WEFT_TEST_SEED"); only != nullptr && std::to_string(seed) != only)
      continue;
    std::mt19937_64 random(seed);
    std::optional<test::RandomProblem> problem;
    try {
      problem = test::random_algorithm(random);
    } catch (const UserError&) {
      continue;  // an index without a size, or one that a format does not take
    }
    SCOPED_TRACE("seed " + std::to_string(seed));
    formats.insert(problem->weights == nullptr ? "none" : problem->weights->format().name);
    ASSERT_EQ(trouble(*problem, "cpu", cpu, false), "");
    const char* const targets[] = {"sm_75", "sm_80", "sm_90a"};
    const char* target = targets[seed % 3];
    ASSERT_EQ(trouble(*problem, target, cpu, true), "");
    if (seed % simulated_every == 0) {
      ASSERT_EQ(trouble(*problem, target, Device::simulator(target), false), "");
    }
  }
  const bool all = std::getenv("WEFT_TEST_SEED") == nullptr;
  EXPECT_GE(formats.size(), all ? 12U : 0U) << "the drawing finds too few";
}

WEFT_INDEX(m);
WEFT_INDEX(m_x);
WEFT_INDEX(n);
WEFT_INDEX(k);

/// Of an algorithm with pruned weights, 12 x 20, on the CPU and as a GPU's blocks and threads mean it.
void expect_right(const Algorithm& algorithm, const Format& format) {
  test::RandomProblem problem;
  problem.algorithm = algorithm;
  Array dense = random_array(DType::f32, {12, 20}, 3, RandomValues::small_integers);
  for (std::int64_t i = 0; i < dense.size(); i += 2) dense.set(i, 0);
  problem.matrix = from_dense(dense, "made");
  problem.weights = std::make_shared<const SparseTensor>(pack(problem.matrix, format));
  for (const Operand& operand : algorithm.operands) {
    if (operand.storage == Storage::sparse) continue;
    std::vector<std::int64_t> shape;
    for (const Extent& extent : operand.shape) shape.push_back(extent.value);
    problem.tensors[operand.name] = random_array(operand.dtype, shape, 5, RandomValues::small_integers);
  }
  for (const char* target : {"cpu", "sm_75", "sm_80", "sm_90a"})
    EXPECT_EQ(trouble(problem, target, Device::cpu(), std::string_view(target) != "cpu"), "");
}

TEST(DefaultSchedule, IsRightWhereNothingIsEverRead) {
  const Tensor<f32, 2, sparse> A("A", {12, 20});
  const Tensor<f32, 2> B("B", {20, 30}), C("C", {12, 30});
  const Algorithm algorithm = weft::algorithm("beyond", C(m, n) = sum(k, A(m, k) * B(k + 200, n)));
  for (const Format& format :
       {formats::csr(), formats::csc(), formats::coo(), formats::dense(), formats::bcsr(4)})
    expect_right(algorithm, format);
}

/// What the recipe makes of an algorithm none of whose products is inside of B; nothing: it says why there is
/// no schedule.
std::optional<Schedule> schedule_without_sum(const Recipe& recipe, const Algorithm& algorithm, DType dtype) {
  static const std::map<std::string_view, std::pair<const char*, const char*>> places{
      {"default", {"csr", "sm_80"}},
      {"cpu_rows", {"csr", "cpu"}},
      {"cpu_code", {"csr", "cpu"}},
      {"cpu_groups", {"column_vectors", "cpu"}},
      {"cpu_blocks", {"column_blocks", "cpu"}},
      {"cpu_windows", {"column_windows", "cpu"}},
      {"sparsert", {"csr", "sm_80"}},
      {"sliced_rows", {"csr", "sm_80"}},
      {"shfl_bw", {"shfl_bw:V=64", "sm_90a"}},
      {"hb_ell", {"hb_ell", "sm_80"}},
      {"v_n_m", {"v_n_m", "sm_80"}},
      {"lane_streams", {"lane_streams", "sm_90a"}}};
  const auto& [format, target] = places.at(recipe.name);
  const WeightMatrix matrix =
      synthetic_layer({.rows = 128, .columns = 64, .sparsity = 0.75, .dtype = dtype, .seed = 5});
  const Format packed = parse_format(format);
  const WeightMatrix kept =
      packed.name == "v_n_m" ? pruned(matrix, choose_weights(matrix, packed, {})) : matrix;
  const SpaceProblem problem{algorithm, std::make_shared<const WeightMatrix>(kept), packed};
  EXPECT_EQ(recipe.why_not(problem, target_named(target)).empty(), recipe.name == "default");
  const auto weights = std::make_shared<const SparseTensor>(pack(kept, packed));
  try {
    return recipe.write(algorithm, weights, target_named(target), {}, CallPlace());
  } catch (const UserError& error) {
    const UserError::Report& report = error.report();
    const bool takes_it = report.what.find("does not fit") == std::string::npos;
    EXPECT_TRUE(!takes_it || report.what.find("there is no sum") != std::string::npos) << error.what();
    EXPECT_NE(report.accepted.find("default"), std::string::npos) << error.what();
    return std::nullopt;
  }
}

void expect_zeros_or_refusal(const Recipe& recipe, const Algorithm& algorithm, Array& b, Array c) {
  SCOPED_TRACE(std::string(recipe.name) + " of " + algorithm.name);
  const std::optional<Schedule> schedule = schedule_without_sum(recipe, algorithm, DType::f16);
  EXPECT_TRUE(schedule || recipe.name != "default");
  if (!schedule) return;
  const Kernel kernel = compile(*schedule, {.assemble = false, .by_meaning = true});
  kernel(Device::cpu(), Arguments{{{"B", &b}, {"C", &c}}, {}});
  for (std::int64_t i = 0; i < c.size(); ++i) ASSERT_EQ(c.get(i), 0) << i;
}

WEFT_INDEX(channel);
WEFT_INDEX(p);
WEFT_INDEX(q);
WEFT_INDEX(r);
WEFT_INDEX(column);

TEST(Recipes, OfAnAlgorithmWithoutASumSaySoOrMakeZeros) {
  const Tensor<f16, 2, sparse> A("A", {128, 64});
  const Tensor<f16, 2> B("B", {64, 256}), C("C", {128, 256});
  const Algorithm product = weft::algorithm("product", C(m, n) = sum(k, A(m, k) * B(k + 200, n)));
  const Tensor<f16, 4, sparse> W("A", {128, 4, 4, 4});
  const Tensor<f16, 3> image("B", {4, 19, 19}), output("C", {128, 16, 16});
  const Algorithm convolution = weft::algorithm(
      "convolution",
      output(m, p, q) =
          sum(channel, r, column, W(m, channel, r, column) * image(channel, p + r + 100, q + column)));
  Array b = random_array(DType::f16, {64, 256}, 5), of_image = random_array(DType::f16, {4, 19, 19}, 6);
  for (const Recipe& recipe : recipes()) {
    expect_zeros_or_refusal(recipe, product, b, random_array(DType::f16, {128, 256}, 7));
    expect_zeros_or_refusal(recipe, convolution, of_image, random_array(DType::f16, {128, 16, 16}, 8));
  }
}

TEST(DefaultSchedule, TellsRowsFromAnIndexWhoseNameBeginsLikeTheirs) {
  const Tensor<f32, 2, sparse> A("A", {12, 20});
  const Tensor<f32, 2> B("B", {20, 70}), C("C", {12, 70});
  const Algorithm algorithm = weft::algorithm("alike", C(m, m_x) = sum(k, A(m, k) * B(k, m_x)));
  expect_right(algorithm, formats::csr());
  const Schedule s = default_schedule(algorithm,
                                      std::make_shared<const SparseTensor>(pack(
                                          from_dense(Array(DType::f32, {12, 20}), "zeros"), formats::csr())),
                                      target_named("sm_80"));
  EXPECT_EQ(s.steps().front().cpp(), ".split(m = 4)");
}

}  // namespace
}  // namespace weft
