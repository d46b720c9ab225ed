// Spaces: what they hold, that points are found fast, and that a point becomes a schedule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/points.h>
#include <weft/search/measure/structured_weights.h>
#include <weft/search/problems.h>
#include <weft/search/space.h>

#include <algorithm>
#include <ctime>
#include <random>

namespace weft {
namespace {

using ir::Expr;
using testing::ElementsAre;
using testing::HasSubstr;

WEFT_INDEX(m);
WEFT_INDEX(n);

SpaceProblem unstructured(std::int64_t rows, std::int64_t depth, std::int64_t columns) {
  return {spmm_algorithm(rows, depth, columns, DType::f32),
          std::make_shared<const WeightMatrix>(
              synthetic_layer({.rows = rows, .columns = depth, .sparsity = 0.9})),
          formats::csr()};
}

SpaceProblem grouped(std::int64_t rows, std::int64_t depth, std::int64_t columns, std::int64_t group,
                     DType dtype = DType::f16) {
  ShflBwWeights drawn = shfl_bw_weights(
      {.rows = rows, .columns = depth, .sparsity = 0.75, .group_rows = group, .dtype = dtype, .seed = 3});
  return {spmm_algorithm(rows, depth, columns, dtype),
          std::make_shared<const WeightMatrix>(std::move(drawn.matrix)), formats::shfl_bw({.rows = group})};
}

TEST(Space, EveryFeasiblePointHoldsAndNoOther) {
  for (const char* target : {"sm_75", "sm_80", "sm_90a"}) {
    const Space space = space_of("shfl_bw", grouped(256, 256, 512, 64), target_named(target));
    const Points points = space.feasible();
    ASSERT_GT(points.size(), 10U);
    EXPECT_LT(static_cast<std::int64_t>(points.size()), space.size());
    for (std::size_t i = 0; i < points.size(); i += 97) EXPECT_EQ(space.violated(points[i]), nullptr);
    // Counted without pruning, by the slow evaluation, over a part of the points.
    std::vector<ir::Knob> few = space.knobs();
    for (ir::Knob& knob : few) knob.values.resize(std::min<std::size_t>(knob.values.size(), 2));
    std::size_t expected = 0, found = 0;
    for_each_point({}, few, SIZE_MAX, [&](std::span<const std::int64_t> values) {
      KnobValues point;
      for (std::size_t i = 0; i < few.size(); ++i) point[few[i].name] = values[i];
      expected += space.violated(point) == nullptr ? 1 : 0;
      return true;
    });
    for_each_point(space.constraints(), few, SIZE_MAX, [&](std::span<const std::int64_t>) {
      ++found;
      return true;
    });
    EXPECT_EQ(found, expected) << target;
  }
}

TEST(Space, OfASchedule) {
  Schedule s = schedule(spmm_algorithm(64, 64, 256, DType::f32),
                        pack(*unstructured(64, 64, 256).matrix, formats::csr()), target_named("sm_80"));
  s.tile(LoopFactor{m, knob("tile_m", {4, 8})}, LoopFactor{n, knob("tile_n", {64, 1024, 2048})})
      .bind(m.outer, block_y)
      .bind(n.outer, block_x)
      .bind(n.inner, thread);
  const Space space = space_of(s);
  EXPECT_EQ(space.size(), 6);
  const Points points = space.feasible();
  ASSERT_EQ(points.size(), 4U) << "a block has 1024 threads at most";
  EXPECT_EQ(space.text(points[1]), "tile_m=4,tile_n=1024");
  EXPECT_THAT(space.schedule(points[1]).cpp(), HasSubstr("n = 1024"));
  EXPECT_TRUE(space.schedule(points[1]).program().knobs.empty());
  const Feasibility clash = space.complete({{"tile_n", 2048}});
  EXPECT_EQ(clash.answer, Answer::infeasible);
  EXPECT_THAT(explain(clash, space.target()), HasSubstr("feasible with tile_n <= 1024"));
}

}  // namespace
}  // namespace weft
