// Requests that no target can follow: which conditions are named, with which numbers, and what would do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/search/spaces/space.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "space_problems.h"
#include "support/sanitizers.h"

namespace weft {
namespace {

using testing::HasSubstr;

struct Request {
  const char* recipe;
  const char* target;
  KnobValues fixed;
  std::vector<std::string> clashes;  ///< names of conditions, sorted
};

std::vector<std::string> clashing(const Feasibility& answer) {
  std::vector<std::string> names;
  for (const Clash& clash : answer.clashes) {
    for (const Constraint& constraint : clash.core) names.push_back(constraint.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

const std::vector<Request>& requests() {
  static const std::vector<Request> all{
      {"shfl_bw",
       "sm_75",
       {{"tile_m", 256}, {"tile_n", 512}, {"stages", 8}},
       {"copies ahead", "registers of a multiprocessor", "rows of a group", "shared memory"}},
      {"shfl_bw", "sm_75", {{"stages", 2}}, {"copies ahead"}},
      {"shfl_bw", "sm_75", {{"tile_m", 128}}, {"rows of a group"}},
      {"shfl_bw", "sm_75", {{"producers", 4}}, {"roles", "stages of roles"}},
      {"shfl_bw", "sm_75", {{"instruction", 3}}, {"instruction"}},
      {"shfl_bw", "sm_75", {{"tile_m", 64}, {"tile_n", 512}, {"tile_k", 64}}, {"shared memory"}},
      {"shfl_bw",
       "sm_80",
       {{"tile_m", 64}, {"tile_n", 512}, {"tile_k", 64}, {"stages", 3}},
       {"shared memory"}},
      {"shfl_bw", "sm_80", {{"stages", 9}}, {"copies ahead"}},
      {"shfl_bw", "sm_80", {{"producers", 4}}, {"roles"}},
      {"shfl_bw", "sm_80", {{"warp_m", 64}, {"tile_m", 32}}, {"rows of a warp"}},
      {"shfl_bw", "sm_80", {{"warp_n", 64}, {"line", 48}}, {"lines of a warp"}},
      {"shfl_bw",
       "sm_86",
       {{"tile_m", 64}, {"tile_n", 256}, {"tile_k", 64}, {"stages", 6}},
       {"shared memory"}},
      {"shfl_bw",
       "sm_86",
       {{"tile_m", 64}, {"tile_n", 512}, {"warp_m", 16}, {"warp_n", 16}},
       {"registers of a multiprocessor", "shared memory", "threads"}},
      {"shfl_bw", "sm_80", {{"warp_m", 64}, {"warp_n", 128}}, {"registers"}},
      {"shfl_bw",
       "sm_80",
       {{"stages", 1},
        {"groups", 1},
        {"tile_m", 16},
        {"tile_n", 512},
        {"tile_k", 64},
        {"warp_m", 16},
        {"warp_n", 256}},
       {"registers of copies"}},
      {"shfl_bw",
       "sm_86",
       {{"instruction", 2}, {"warp_m", 24}},
       {"rows of a warp", "rows of an instruction"}},
      {"shfl_bw", "sm_86", {{"instruction", 3}, {"stages", 4}}, {"instruction"}},
      {"shfl_bw", "sm_90", {{"producers", 4}, {"groups", 2}, {"blocks", 132}}, {"groups of roles"}},
      {"shfl_bw", "sm_90", {{"producers", 4}, {"stages", 1}}, {"stages of roles"}},
      {"shfl_bw", "sm_90", {{"instruction", 3}}, {"instruction"}},
      {"shfl_bw", "sm_90a", {{"consumer_registers", 208}, {"producers", 0}}, {"registers of roles"}},
      {"shfl_bw", "sm_90", {{"tile_n", 512}, {"tile_k", 64}, {"stages", 4}}, {"shared memory"}},
      {"shfl_bw",
       "sm_90a",
       {{"producers", 4},
        {"producer_registers", 88},
        {"consumer_registers", 208},
        {"instruction", 3},
        {"tile_m", 64},
        {"tile_n", 512},
        {"warp_m", 64},
        {"warp_n", 128}},
       {"registers of all roles"}},
      {"shfl_bw",
       "sm_90a",
       {{"producers", 4},
        {"producer_registers", 0},
        {"consumer_registers", 208},
        {"instruction", 2},
        {"tile_m", 64},
        {"tile_n", 512},
        {"warp_m", 16},
        {"warp_n", 256}},
       {"registers of consumers"}},
      {"shfl_bw", "sm_90a", {{"instruction", 3}, {"warp_m", 32}}, {"rows of an instruction"}},
      {"sparsert", "sm_75", {{"form", 1}, {"chunk", 16}, {"depth", 2}}, {"copies ahead"}},
      {"sparsert",
       "sm_75",
       {{"form", 1}, {"threads", 256}, {"groups", 8}},
       {"groups beside chunks", "threads"}},
      {"sparsert",
       "sm_75",
       {{"form", 1}, {"chunk", 64}, {"depth", 1}, {"threads", 512}},
       {"shared memory of chunks"}},
      {"sparsert", "sm_80", {{"form", 1}, {"rows", 128}, {"threads", 512}, {"chunk", 0}}, {"registers"}},
      {"sparsert", "sm_80", {{"form", 2}, {"chunk", 16}}, {"chunk without effect"}},
      {"sparsert", "sm_86", {{"form", 1}, {"groups", 4}, {"chunk", 32}}, {"groups beside chunks"}},
      {"sparsert", "sm_86", {{"form", 3}, {"groups", 16}, {"threads", 256}}, {"warps of groups"}},
      {"sparsert", "sm_90", {{"form", 2}, {"groups", 2}}, {"groups of streams"}},
      {"sparsert",
       "sm_90",
       {{"form", 1}, {"rows", 128}, {"groups", 4}, {"threads", 256}},
       {"groups beside chunks", "registers"}},
      {"sliced_rows", "sm_75", {{"groups", 32}, {"slices", 2}}, {"threads"}},
      {"image", "sm_75", {{"lines", 16}, {"groups", 4}}, {"warps"}},
      {"image", "sm_75", {{"image", 2}, {"rows", 32}, {"lines", 2}, {"groups", 8}}, {"shared memory"}},
      {"image",
       "sm_80",
       {{"image", 1}, {"rows", 64}, {"lines", 16}, {"groups", 2}},
       {"registers", "shared memory", "warps"}},
      {"image", "sm_90", {{"groups", 16}, {"lines", 2}}, {"warps"}},
  };
  return all;
}

TEST(Infeasible, RequestsNameWhatClashes) {
  constexpr double allowed = under_sanitizer ? 2 : 0.1;
  const SpaceProblem groups = grouped_problem(256, 256, 512, 64);
  const SpaceProblem product = unstructured_problem(96, 128, 1200);
  const SpaceProblem image = image_problem(), few_columns = unstructured_problem(96, 128, 7);
  for (const Request& request : requests()) {
    const std::string recipe = request.recipe;
    const Space space = space_of(recipe == "image" ? "sparsert" : recipe,
                                 recipe == "shfl_bw"       ? groups
                                 : recipe == "image"       ? image
                                 : recipe == "sliced_rows" ? few_columns
                                                           : product,
                                 target_named(request.target));
    Feasibility answer;
    double spent = 1e9;
    // Of this thread and the least of three, so that other work on the machine counts little.
    for (int turn = 0; turn < 3 && spent > allowed; ++turn) {
      timespec begin{}, end{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
      answer = space.complete(request.fixed);
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
      spent = std::min(spent, static_cast<double>(end.tv_sec - begin.tv_sec) +
                                  1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec));
    }
    const std::string text = explain(answer, space.target());
    SCOPED_TRACE(text);
    EXPECT_EQ(answer.answer, Answer::infeasible);
    if (answer.answer != Answer::infeasible) continue;
    EXPECT_EQ(clashing(answer), request.clashes);
    EXPECT_LT(spent, allowed);
    RecordProperty("milliseconds", std::to_string(1e3 * spent));
    if (std::getenv("WEFT_SPACE_VERBOSE") != nullptr)
      printf("%.0f ms %s %s\n", 1e3 * spent, testing::PrintToString(clashing(answer)).c_str(), text.c_str());
    // What is said to fit does.
    for (const Remedy& remedy : answer.remedies) {
      KnobValues changed = request.fixed;
      changed[remedy.knob] = remedy.value;
      EXPECT_EQ(space.complete(changed).answer, Answer::feasible) << remedy.knob;
    }
    EXPECT_FALSE(answer.nearest.empty());
    KnobValues changed = request.fixed;
    for (const auto& [knob, value] : answer.nearest) changed[knob] = value;
    const Feasibility now = space.complete(changed);
    ASSERT_EQ(now.answer, Answer::feasible);
    EXPECT_EQ(space.violated(now.witness), nullptr);
  }
}

TEST(Infeasible, OptionsAndFixedKnobsThatWouldDivideByZeroAreRefused) {
  const SpaceProblem problem = unstructured_problem(64, 64, 64);
  const Target& target = target_named("sm_80");
  for (const std::int64_t blocks : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    EXPECT_THROW(space_of("sparsert", problem, target, {.resident_blocks = blocks}), UserError) << blocks;
    EXPECT_THROW(spaces_for(problem, target, {.resident_blocks = blocks}), UserError) << blocks;
  }
  const Space space = space_of("sparsert", problem, target);
  EXPECT_THROW(space.complete({{"groups", 0}}), UserError);
  EXPECT_THROW(space.complete({{"threads", -1}}), UserError);
  for (const std::int64_t form : {1, 2, 3, 4})
    EXPECT_NO_THROW(space.complete({{"form", form}, {"lanes", 1 << 20}, {"columns", 1}})) << form;
}

}  // namespace
}  // namespace weft
