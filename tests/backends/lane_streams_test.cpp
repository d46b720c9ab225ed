// The recipe lane_streams as PTX and as CUDA's source, in the simulator: few columns, both layouts, rows and
// columns of no size in particular, streams of every length, what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/assignment.h>
#include <weft/formats/random.h>
#include <weft/scheduler/recipes/unstructured/lane_streams.h>
#include <weft/search/spaces/problems.h>
#include <weft/search/spaces/space.h>

#include "support/expect_exact.h"

namespace weft {
namespace {

using testing::HasSubstr;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

WeightMatrix layer(std::int64_t rows, std::int64_t inner, double sparsity, DType dtype = DType::f16) {
  return test::layer_of_integers(rows, inner, sparsity, dtype);
}

Schedule of(const WeightMatrix& matrix, const Algorithm& algorithm, const Format& format,
            const LaneStreamKnobs& knobs = {}, const char* target = "sm_90") {
  return lane_streams(algorithm, std::make_shared<const SparseTensor>(pack(matrix, format)),
                      target_named(target), knobs);
}

/// X [n, k] and Y [n, m].
template <class Element>
Algorithm linear(std::int64_t rows, std::int64_t inner, std::int64_t columns) {
  const Tensor<Element, 2, sparse> w("W", {rows, inner});
  const Tensor<Element, 2> x("X", {columns, inner}), y("Y", {columns, rows});
  return algorithm("linear", y(n, m) = sum(k, w(m, k) * x(n, k)));
}

class LaneStreams : public testing::TestWithParam<const char*> {
 protected:
  Format format() const { return parse_format(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Formats, LaneStreams, testing::Values("lane_streams", "pair_words"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(LaneStreams, Columns) {
  for (const std::int64_t columns : {1, 2, 7, 8, 9, 17, 33}) {
    test::expect_exact(of(layer(75, 130, 0.6), spmm_algorithm(75, 130, columns, DType::f16), format()));
    test::expect_exact(of(layer(75, 130, 0.6), linear<f16>(75, 130, columns), format()));
  }
}

TEST_P(LaneStreams, Types) {
  test::expect_exact(of(layer(64, 128, 0.5, DType::bf16), linear<bf16>(64, 128, 8), format()));
  test::expect_exact(of(layer(64, 128, 0.5, DType::f16), linear<f16>(64, 128, 8), format()));
}

TEST_P(LaneStreams, OddSizes) {
  for (const std::int64_t rows : {1, 7, 63, 65, 129}) {
    for (const std::int64_t inner : {1, 9, 63, 1000})
      test::expect_exact(of(layer(rows, inner, 0.5), linear<f16>(rows, inner, 5), format()));
  }
}

/// Longer than the ring, in full, without entries, and with all of them in few rows.
TEST_P(LaneStreams, LongStreams) {
  for (const double sparsity : {0.0, 0.5, 0.9, 1.0})
    test::expect_exact(of(layer(32, 3000, sparsity), linear<f16>(32, 3000, 3), format(), {.slice = 4096}));
  std::vector<std::int64_t> rows, columns;
  for (std::int64_t column = 0; column < 3000; ++column) {
    rows.push_back(column < 1500 ? 3 : 12);
    columns.push_back(column);
  }
  const WeightMatrix uneven = from_coordinates(
      32, 3000, rows, columns, random_array(DType::f16, {3000}, 6, RandomValues::small_integers), "uneven");
  test::expect_exact(of(uneven, linear<f16>(32, 3000, 3), format(), {.slice = 3072}));
  // Streams of a warp one after the other, some of them empty.
  for (const double sparsity : {0.5, 0.995, 1.0})
    test::expect_exact(
        of(layer(32 * 6, 900, sparsity), linear<f16>(32 * 6, 900, 3), format(), {.warps = 1, .turns = 6}));
}

/// So many columns that no tile of 16 slices fits shared memory.
TEST_P(LaneStreams, ManyColumns) {
  test::expect_exact(of(layer(32, 260'000, 0.98), linear<f16>(32, 260'000, 9), format()));
}

/// Where no copy takes a chunk as a whole, lanes share it.
TEST_P(LaneStreams, OlderTargets) {
  for (const char* target : {"sm_80", "sm_89"}) {
    for (const std::int64_t columns : {1, 8, 19})
      test::expect_exact(
          of(layer(100, 1300, 0.5), linear<f16>(100, 1300, columns), format(), {.slice = 704}, target));
    test::expect_exact(
        of(layer(192, 900, 0.6), linear<f16>(192, 900, 5), format(), {.warps = 2, .turns = 3}, target));
    test::expect_exact(of(layer(64, 900, 1), linear<f16>(64, 900, 5), format(), {}, target));
  }
}

TEST_P(LaneStreams, Knobs) {
  const WeightMatrix matrix = layer(256, 300, 0.6);
  for (const LaneStreamKnobs& knobs :
       {LaneStreamKnobs{.columns = 8}, LaneStreamKnobs{.columns = 32, .warps = 8},
        LaneStreamKnobs{.warps = 1}, LaneStreamKnobs{.columns = 16, .warps = 2, .slice = 64},
        LaneStreamKnobs{.warps = 2, .turns = 4}, LaneStreamKnobs{.warps = 1, .turns = 2, .slice = 64},
        LaneStreamKnobs{.slice = 128}})
    test::expect_exact(of(matrix, linear<f16>(256, 300, 20), format(), knobs));
}

TEST_P(LaneStreams, Epilogue) {
  const Tensor<f16, 2, sparse> w("W", {96, 200});
  const Tensor<f16, 2> x("X", {6, 200}), y("Y", {6, 96});
  const Tensor<f16, 1> bias("bias", {96});
  test::expect_exact(of(layer(96, 200, 0.5),
                        algorithm("linear", y(n, m) = relu(sum(k, w(m, k) * x(n, k)) + bias(m))), format()));
}

TEST_P(LaneStreams, EveryPointRuns) {
  const SpaceProblem problem{linear<f16>(256, 640, 9),
                             std::make_shared<const WeightMatrix>(layer(256, 640, 0.5)), format()};
  const Space space = space_of("lane_streams", problem, target_named("sm_90"));
  const Points all = space.worth_trying();
  ASSERT_GT(all.size(), 2U);
  for (std::size_t i = 0; i < all.size(); i += 3) test::expect_exact(space.schedule(all[i]));
}

TEST_P(LaneStreams, Refuses) {
  const WeightMatrix matrix = layer(64, 70, 0.6);
  const auto message = [&](const Algorithm& algorithm, const Format& format,
                           const LaneStreamKnobs& knobs) -> std::string {
    try {
      of(matrix, algorithm, format, knobs);
    } catch (const UserError& error) {
      return error.what();
    }
    return "taken";
  };
  EXPECT_THAT(message(spmm_algorithm(64, 70, Extent::any("N"), DType::f16), format(), {}),
              HasSubstr("a launch says how many columns there are"));
  EXPECT_THAT(message(linear<f16>(64, 70, 8), formats::csr(), {}), HasSubstr("lane_streams or pair_words"));
  EXPECT_THAT(message(linear<f16>(64, 70, 8), format(), {.columns = 12}), HasSubstr("columns"));
  EXPECT_THAT(message(linear<f16>(64, 70, 8), format(), {.slice = 100}), HasSubstr("slice"));
  // Of a target without copies that a warp waits for, the default schedule.
  const auto packed_weights = std::make_shared<const SparseTensor>(pack(matrix, format()));
  test::expect_exact(lane_streams(linear<f16>(64, 70, 3), packed_weights, target_named("sm_75")));
}

/// By hand: what tensorize asks of loops around streams.
TEST_P(LaneStreams, TensorizeSaysWhatItNeeds) {
  const auto weights = std::make_shared<const SparseTensor>(pack(layer(64, 128, 0.6), format()));
  const auto message = [&](auto&& steps, const char* target = "sm_90") -> std::string {
    try {
      Schedule schedule(linear<f16>(64, 128, 8), weights, target_named(target));
      steps(schedule);
    } catch (const UserError& error) {
      return error.what();
    }
    return "taken";
  };
  const auto in_order = [](Schedule& schedule) -> Schedule& {
    return schedule.split(n = 8)
        .reorder(n.outer, "m.block", "k.slice", "m.group", "k.step", "m.row", n.inner, "k.place")
        .stage("X", shared, at = "k.slice");
  };
  EXPECT_EQ(message([&](Schedule& schedule) { in_order(schedule).tensorize("mma_m16n8k16"); }), "taken");
  EXPECT_THAT(message([&](Schedule& schedule) { in_order(schedule).tensorize("mma_m16n8k16"); }, "sm_75"),
              HasSubstr("sm_80"));
  EXPECT_THAT(message([&](Schedule& schedule) { schedule.tensorize("mma_m16n8k16"); }),
              HasSubstr("groups of rows of a stream"));
  // A part of the groups is no stream.
  Format of_two = format();
  of_two.parameters["groups"] = 2;
  const auto two_groups = std::make_shared<const SparseTensor>(pack(layer(64, 128, 0.6), of_two));
  Schedule apart(linear<f16>(64, 128, 8), two_groups, target_named("sm_90"));
  apart.split(n = 8)
      .reorder(n.outer, "m.block", "m.group", "k.slice", "k.step", "m.row", n.inner, "k.place")
      .stage("X", shared, at = "k.slice");
  EXPECT_THROW(apart.tensorize("mma_m16n8k16"), UserError);
  EXPECT_THAT(message([&](Schedule& schedule) {
                schedule.split(n = 8)
                    .reorder(n.outer, "m.block", "k.slice", "m.group", "k.step", "m.row", n.inner, "k.place")
                    .tensorize("mma_m16n8k16");
              }),
              HasSubstr("in shared memory"));
}

}  // namespace
}  // namespace weft
