// The conditions of each recipe's space against what compiles: points that they accept, and points that one
// of them alone refuses. A few of each here; WEFT_SPACE_SAMPLE=200 takes so many for each target, and
// WEFT_SPACE_SEED=5 others, WEFT_SPACE_CONDITION="registers of copies" what this condition alone refuses.
// Where there is a CUDA device, what is accepted runs on it, too, and is compared with the reference.
#include <gtest/gtest.h>
#include <weft/backends/cuda/assemble.h>
#include <weft/backends/kernel.h>
#include <weft/backends/parse_device.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/limits/points.h>
#include <weft/search/measure/structured_weights.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>
#include <weft/search/spaces/space.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <random>

#include "space_problems.h"

namespace weft {
namespace {

/// What a thread spills, loads and stores, that nobody would see in the time: a point that is refused spills
/// more.
constexpr std::int64_t unseen_spill = 256;

std::size_t sample_of_a_target() {
  const char* text = std::getenv("WEFT_SPACE_SAMPLE");
  return text == nullptr ? 3 : std::strtoul(text, nullptr, 10);
}

std::mt19937_64 drawing(std::uint64_t number) {
  const char* text = std::getenv("WEFT_SPACE_SEED");
  return std::mt19937_64(number + 3 * (text == nullptr ? 0 : std::strtoul(text, nullptr, 10)));
}

/// Of the conditions that refuse points, those that are looked at.
bool is_looked_at(const Constraint& condition) {
  const char* text = std::getenv("WEFT_SPACE_CONDITION");
  return text == nullptr || condition.name == text;
}

/// Before the point is tried: a sample that is stopped says how far it came, and where it hung.
void announce(const Space& space, const KnobValues& point) {
  if (std::getenv("WEFT_SPACE_SAMPLE") != nullptr) std::cout << space.text(point) << std::endl;
}

const Device* cuda_device() {
  static const std::optional<Device> device = []() -> std::optional<Device> {
    try {
      return parse_device("cuda");
    } catch (const RuntimeError&) {
      return std::nullopt;
    }
  }();
  return device ? &*device : nullptr;
}

/// Where points of a sample run: said once, because without a device they are only assembled.
void announce_device() {
  if (std::getenv("WEFT_SPACE_SAMPLE") == nullptr) return;
  const Device* device = cuda_device();
  std::cout << (device == nullptr ? "no CUDA device" : device->description().model) << std::endl;
}

/// What is wrong with its result on a device that runs it; nothing where there is none.
std::string wrong_on_device(const Kernel& kernel) {
  const Device* device = cuda_device();
  if (device == nullptr) return {};
  const Target& target = kernel.target();
  const int sm = device->description().sm;
  if (target.architecture_specific ? sm != target.sm : sm < target.sm) return {};
  const Algorithm& algorithm = kernel.schedule().algorithm();
  std::map<std::string, Array> arrays;
  Arguments arguments;
  for (const Operand& operand : algorithm.operands) {
    if (operand.storage == Storage::sparse) continue;
    std::vector<std::int64_t> shape;
    for (const Extent& extent : operand.shape) shape.push_back(extent.value);
    Array& array = arrays[operand.name];
    array = random_array(operand.dtype, shape, 5);
    arguments.tensors[operand.name] = &array;
  }
  const Verification verification = verify(kernel, *device, arguments);
  return verification.passed ? std::string() : verification.text();
}

/// Why a point does not run, or spills more bytes; nothing where it does.
std::string why_not(const Space& space, const KnobValues& point, std::int64_t most_spilled, bool launches) {
  try {
    const Kernel kernel = compile(space.schedule(point));
    const Target& target = kernel.target();
    const std::int64_t shared = kernel.lowered().launch.shared_bytes;
    if (shared > target.shared_bytes_per_block) return std::to_string(shared) + " bytes of shared memory";
    const auto& resources = kernel.resources();
    if (!resources) return launches ? wrong_on_device(kernel) : std::string();
    if (resources->spill_bytes > most_spilled)
      return std::to_string(resources->spill_bytes) + " bytes spilled";
    const auto threads = kernel.lowered().launch.threads;
    const std::int64_t registers = (resources->registers + 7) / 8 * 8 * ((threads + 31) / 32 * 32);
    if (registers > target.registers_per_multiprocessor)
      return std::to_string(registers) + " registers of a block";
    return launches ? wrong_on_device(kernel) : std::string();
  } catch (const UserError& error) {
    return error.what();
  } catch (const RuntimeError& error) {
    return error.what();
  }
}

/// So many of the points at which the conditions hold, each as likely.
std::vector<KnobValues> sample(const Space& space, const std::vector<Constraint>& conditions,
                               std::size_t count, std::mt19937_64& random) {
  std::vector<std::vector<std::int64_t>> kept;
  std::size_t seen = 0;
  for_each_point(conditions, space.knobs(), std::numeric_limits<std::size_t>::max(),
                 [&](std::span<const std::int64_t> values) {
                   ++seen;
                   const std::size_t place = kept.size() < count ? kept.size() : random() % seen;
                   if (kept.size() < count) kept.emplace_back();
                   if (place < kept.size()) kept[place].assign(values.begin(), values.end());
                   return true;
                 });
  std::vector<KnobValues> points;
  for (const auto& values : kept) {
    KnobValues point;
    for (std::size_t i = 0; i < values.size(); ++i) point[space.knobs()[i].name] = values[i];
    points.push_back(std::move(point));
  }
  return points;
}

struct Case {
  std::string name;
  std::string recipe;
  SpaceProblem problem;
  std::string target;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string target : {"sm_75", "sm_80", "sm_90a"}) {
    all.push_back({"groups_128", "shfl_bw", grouped_problem(256, 256, 256, 128), target});
    all.push_back({"product", "sparsert", unstructured_problem(96, 128, 1200), target});
    all.push_back({"image", "sparsert", image_problem(), target});
    all.push_back({"few_columns", "sliced_rows", unstructured_problem(200, 300, 5), target});
    all.push_back({"blocks", "hb_ell", block_problem(256, 512, 512, 8), target});
  }
  for (const std::string target : {"sm_80", "sm_90a"}) {
    all.push_back({"two_of_four", "v_n_m", pair_problem(256, 512, 256, {}), target});
    all.push_back({"pairs_128", "v_n_m", pair_problem(256, 1024, 256, {128, 8}), target});
  }
  all.push_back({"pairs_64_odd", "v_n_m", pair_problem(200, 1015, 100, {64, 20}), "sm_90a"});
  all.push_back({"mixed_tiles", "v_n_m", mixed_problem(256, 512, 256), "sm_90a"});
  all.push_back({"mixed_tiles_few_dense", "v_n_m", mixed_problem(256, 640, 256, DType::f16, 0.45), "sm_90a"});
  all.push_back({"blocks_odd", "hb_ell", block_problem(201, 150, 100, 4, 0.5), "sm_90a"});
  all.push_back({"blocks_with_entries", "hb_ell", block_problem(200, 300, 260, 0, 0.98), "sm_90a"});
  all.push_back({"fours_of_columns", "v_n_m", quad_problem(200, 300, 100), "sm_90a"});
  all.push_back({"groups_64_odd", "shfl_bw", grouped_problem(200, 150, 100, 64), "sm_90a"});
  return all;
}

std::ostream& operator<<(std::ostream& out, const Case& given) {
  return out << given.name << " on " << given.target;
}

class SpaceTruth : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!cuda::can_assemble()) GTEST_SKIP() << "[SKIP] no ptxas, which knows what fits";
  }
};

TEST_P(SpaceTruth, AcceptedPointsRun) {
  const Case& given = GetParam();
  const Space space = space_of(given.recipe, given.problem, target_named(given.target));
  std::mt19937_64 random = drawing(1);
  const auto points = sample(space, space.constraints(), sample_of_a_target(), random);
  ASSERT_FALSE(points.empty());
  announce_device();
  for (const KnobValues& point : points) {
    announce(space, point);
    EXPECT_EQ(why_not(space, point, 8 * most_expected_spill, true), "") << space.text(point);
  }
}

TEST_P(SpaceTruth, PointsWorthTryingSpillLittle) {
  const Case& given = GetParam();
  const Space space = space_of(given.recipe, given.problem, target_named(given.target));
  std::vector<Constraint> all = space.constraints();
  all.insert(all.end(), space.preferences().begin(), space.preferences().end());
  std::mt19937_64 random = drawing(4);
  for (const KnobValues& point :
       sample(space, all, std::max<std::size_t>(1, sample_of_a_target() / 4), random)) {
    announce(space, point);
    EXPECT_EQ(why_not(space, point, most_expected_spill, true), "") << space.text(point);
  }
}

/// One condition that does not hold is enough to refuse a point: here points at which one alone does not.
std::vector<Constraint> all_but(const std::vector<Constraint>& conditions, std::size_t refused) {
  std::vector<Constraint> changed = conditions;
  Constraint& other = changed[refused];
  std::swap(other.left, other.limit);
  other.left = other.left + 1;
  return changed;
}

TEST_P(SpaceTruth, RefusedPointsDoNot) {
  const Case& given = GetParam();
  const Space space = space_of(given.recipe, given.problem, target_named(given.target));
  std::mt19937_64 random = drawing(2);
  const auto looked_at = static_cast<std::size_t>(std::ranges::count_if(space.constraints(), is_looked_at));
  const std::size_t each =
      std::max<std::size_t>(1, sample_of_a_target() / 2 / std::max<std::size_t>(1, looked_at));
  int refused = 0;
  for (std::size_t i = 0; i < space.constraints().size(); ++i) {
    if (!is_looked_at(space.constraints()[i])) continue;
    for (const KnobValues& point : sample(space, all_but(space.constraints(), i), each, random)) {
      ++refused;
      announce(space, point);
      EXPECT_NE(why_not(space, point, unseen_spill, false), "")
          << space.constraints()[i].name << " refuses " << space.text(point);
    }
  }
  RecordProperty("refused", refused);
}

/// Points drawn from all, as a user might ask for them: those that are refused do not run, whatever refuses.
TEST_P(SpaceTruth, RefusedPointsDrawnFromAllDoNot) {
  const Case& given = GetParam();
  const Space space = space_of(given.recipe, given.problem, target_named(given.target));
  std::mt19937_64 random = drawing(3);
  for (std::size_t tried = 0; tried < sample_of_a_target();) {
    KnobValues point;
    for (const ir::Knob& knob : space.knobs()) point[knob.name] = knob.values[random() % knob.values.size()];
    const auto refuses = std::ranges::find_if(
        space.constraints(), [&](const Constraint& constraint) { return !holds(constraint, point); });
    if (refuses == space.constraints().end()) continue;
    ++tried;
    announce(space, point);
    EXPECT_NE(why_not(space, point, unseen_spill, false), "")
        << refuses->name << " refuses " << space.text(point);
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, SpaceTruth, testing::ValuesIn(cases()),
                         [](const auto& given) { return given.param.name + "_" + given.param.target; });

}  // namespace
}  // namespace weft
