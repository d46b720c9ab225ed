// The recipe sliced_rows as PTX and as CUDA's source, in the simulator: vectors, few columns, slices that are
// not full, rows without entries, every knob.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/assignment.h>
#include <weft/scheduler/recipes/unstructured/sliced_rows.h>
#include <weft/search/spaces/problems.h>
#include <weft/search/spaces/space.h>

#include "support/expect_exact.h"

namespace weft {
namespace {

using testing::HasSubstr, testing::Not;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

WeightMatrix layer(std::int64_t rows, std::int64_t inner, double sparsity, DType dtype = DType::f32) {
  return test::layer_of_integers(rows, inner, sparsity, dtype);
}

Schedule of(const WeightMatrix& matrix, const Algorithm& algorithm, const SlicedRows& knobs = {}) {
  return sliced_rows(algorithm, std::make_shared<const SparseTensor>(pack(matrix, formats::csr())),
                     target_named("sm_80"), knobs);
}

TEST(SlicedRows, Columns) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    const WeightMatrix matrix = layer(75, 130, 0.7, dtype);
    for (const std::int64_t columns : {1, 2, 3, 8, 9, 17})
      test::expect_exact(of(matrix, spmm_algorithm(75, 130, columns, dtype)));
  }
}

TEST(SlicedRows, Vectors) {
  const Tensor<f32, 2, sparse> a("A", {33, 97});
  const Tensor<f32, 1> x("X", {97}), y("Y", {33});
  const Algorithm product = algorithm("spmv", y(m) = sum(k, a(m, k) * x(k)));
  test::expect_exact(of(layer(33, 97, 0.5), product));
  test::expect_exact(of(layer(33, 97, 0.9), product, {.groups = 4}));
}

TEST(SlicedRows, Knobs) {
  const WeightMatrix matrix = layer(200, 150, 0.6);
  for (const SlicedRows& knobs :
       {SlicedRows{.columns = 1}, SlicedRows{.columns = 4, .groups = 8}, SlicedRows{.slices = 2, .turns = 2},
        SlicedRows{.columns = 2, .groups = 16, .slices = 2}, SlicedRows{.turns = 4, .places = 16},
        SlicedRows{.columns = 16, .groups = 2, .places = 4}, SlicedRows{.slices = 24}, SlicedRows{.parts = 3},
        SlicedRows{.columns = 1, .slices = 2, .turns = 2, .parts = 16}})
    test::expect_exact(of(matrix, spmm_algorithm(200, 150, 5, DType::f32), knobs));
}

TEST(SlicedRows, RowsWithoutEntries) {
  WeightMatrix matrix = layer(40, 50, 0.98);
  test::expect_exact(of(matrix, spmm_algorithm(40, 50, 2, DType::f32), {.groups = 4}));
  test::expect_exact(of(layer(1, 1, 0), spmm_algorithm(1, 1, 1, DType::f32)));
  test::expect_exact(of(layer(3, 2000, 1), spmm_algorithm(3, 2000, 1, DType::f32), {.parts = 4}));
}

TEST(SlicedRows, OperandsAcross) {
  const WeightMatrix matrix = layer(50, 70, 0.6);
  for (const std::int64_t columns : {1, 6}) {
    const Tensor<f32, 2, sparse> w("W", {50, 70});
    const Tensor<f32, 2> x("X", {columns, 70}), y("Y", {columns, 50});
    test::expect_exact(of(matrix, algorithm("linear", y(n, m) = sum(k, w(m, k) * x(n, k)))));
  }
}

/// Blocks share rows that are long and few.
TEST(SlicedRows, FewLongRows) {
  const auto parts = [](std::int64_t rows, std::int64_t inner) {
    return of(layer(rows, inner, 0.1), spmm_algorithm(rows, inner, 1, DType::f32)).cpp();
  };
  EXPECT_THAT(parts(70, 1000), HasSubstr("second_pass"));
  EXPECT_THAT(parts(70, 800), Not(HasSubstr("second_pass")));
  EXPECT_THAT(of(layer(70, 1000, 0.1, DType::f16), spmm_algorithm(70, 1000, 1, DType::f16)).cpp(),
              Not(HasSubstr("second_pass")));
  test::expect_exact(of(layer(70, 1000, 0.1), spmm_algorithm(70, 1000, 2, DType::f32)));
}

/// What other columns and lines cannot be had of: each says why.
TEST(SlicedRows, Refuses) {
  const WeightMatrix matrix = layer(50, 70, 0.6);
  const auto message = [&](const Algorithm& algorithm, const SlicedRows& knobs) -> std::string {
    try {
      of(matrix, algorithm, knobs);
    } catch (const UserError& error) {
      return error.what();
    }
    return "taken";
  };
  EXPECT_THAT(message(spmm_algorithm(50, 70, 3, DType::f32), {.columns = 3}), HasSubstr("columns = 4"));
  EXPECT_THAT(message(spmm_algorithm(50, 70, Extent::any("N"), DType::f32), {}),
              HasSubstr("a launch says how many columns there are"));
  // Of long columns fewer are taken, as many as fit.
  const WeightMatrix wide = layer(8, 40'000, 0.99);
  EXPECT_THAT(of(wide, spmm_algorithm(8, 40'000, 8, DType::f32)).cpp(), HasSubstr(".split(n = 1)"));
}

TEST(SlicedRows, EveryPointRuns) {
  const SpaceProblem problem{spmm_algorithm(1500, 120, 3, DType::f32),
                             std::make_shared<const WeightMatrix>(layer(1500, 120, 0.5)), formats::csr()};
  const Space space = space_of("sliced_rows", problem, target_named("sm_80"));
  const Points all = space.worth_trying();
  ASSERT_GT(all.size(), 4U);
  for (std::size_t i = 0; i < all.size(); i += 5) test::expect_exact(space.schedule(all[i]));
}

}  // namespace
}  // namespace weft
