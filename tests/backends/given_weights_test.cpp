// Weights as users hand them over: of other shapes than the algorithm means, read another way round, damaged
// by hand. Each is refused, or its kernel is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/assignment.h>
#include <weft/formats/io/read.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/program/check_weights.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <chrono>
#include <iostream>
#include <random>

#include "formats/damage.h"
#include "formats/generated_matrices.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

WEFT_INDEX(g);
WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);
WEFT_INDEX(j);

/// Groups of matrices: two output indices, one that is summed over.
Algorithm grouped(Extent groups, Extent rows, Extent columns) {
  const Tensor<f32, 3, sparse> A("A", {groups, rows, columns});
  const Tensor<f32, 2> B("B", {columns, 5});
  const Tensor<f32, 3> C("C", {groups, rows, 5});
  return algorithm("grouped", C(g, m, n) = sum(k, A(g, m, k) * B(k, n)));
}

/// One output index, two that are summed over.
Algorithm tensor_product() {
  const Tensor<f32, 3, sparse> A("A", {2, 3, 4});
  const Tensor<f32, 3> B("B", {3, 4, 5});
  const Tensor<f32, 2> C("C", {2, 5});
  return algorithm("tensor_product", C(m, n) = sum(k, j, A(m, k, j) * B(k, j, n)));
}

Array dense_weights(std::vector<std::int64_t> shape) {
  return random_array(DType::f32, std::move(shape), 3, RandomValues::small_integers);
}

std::string refusal(const Algorithm& algorithm, const WeightMatrix& weights,
                    const Format& format = formats::csr()) {
  return message_of([&] {
    Schedule(algorithm, std::make_shared<const SparseTensor>(pack(weights, format)), target_named("cpu"));
  });
}

/// Compares with the sum over all places of the dense weights, as the algorithm numbers them.
void expect_right(const Algorithm& algorithm, const WeightMatrix& weights, const Array& dense) {
  for (const char* format : {"csr", "ell", "bcsr:b=4", "csc"}) {
    const auto packed = std::make_shared<const SparseTensor>(pack(weights, parse_format(format)));
    const Operand& other = algorithm.operands[algorithm.factors[1].operand];
    std::vector<std::int64_t> shape;
    for (const Extent& extent : other.shape) shape.push_back(extent.value);
    Array b = random_array(DType::f32, shape, 4, RandomValues::small_integers);
    Array c(DType::f32, {packed->rows(), 5});
    std::vector<std::int64_t> output;
    for (const Extent& extent : algorithm.operands[algorithm.output.operand].shape)
      output.push_back(extent.value);
    c = std::move(c).reshaped(output);
    const Kernel kernel = compile(default_schedule(algorithm, packed, target_named("cpu")));
    EXPECT_TRUE(verify(kernel, Device::cpu(), {{{"B", &b}, {"C", &c}}, {}}).passed) << format;
    for (std::int64_t row = 0; row < packed->rows(); ++row) {
      for (std::int64_t column = 0; column < 5; ++column) {
        double sum = 0;
        for (std::int64_t i = 0; i < packed->columns(); ++i)
          sum += dense.get(row * packed->columns() + i) * b.get(i * 5 + column);
        ASSERT_EQ(c.get(row * 5 + column), sum) << format << ", " << row << ", " << column;
      }
    }
  }
}

TEST(GivenWeights, RowsAreTheDimensionsThatTheOutputHas) {
  const Array dense = dense_weights({2, 3, 4});
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "weights.npy").string();
  write_npy(path, dense);
  EXPECT_THAT(refusal(grouped(2, 3, 4), read(path)),
              AllOf(HasSubstr("the rows of the weights are not the first 2 dimensions of A"),
                    HasSubstr("[2, 3, 4], 2 rows and 12 columns"), HasSubstr("6 rows and 4 columns"),
                    HasSubstr("read(path, {.row_dimensions = 2})")));
  expect_right(grouped(2, 3, 4), read(path, {.row_dimensions = 2}), dense);
  expect_right(grouped(2, 3, 4), with_row_dimensions(read(path), 2), dense);
  expect_right(tensor_product(), read(path), dense);
  EXPECT_THAT(refusal(tensor_product(), read(path, {.row_dimensions = 2})),
              AllOf(HasSubstr("the first dimension of A"), HasSubstr("2 rows and 12 columns: ")));
  EXPECT_THAT(message_of([&] { read(path, {.row_dimensions = 3}); }),
              AllOf(HasSubstr("given_weights_test.cpp:"), HasSubstr("row_dimensions from 1 to 2")));
}

TEST(GivenWeights, AMatrixStandsForItsDimensionsInOrder) {
  const Array dense = dense_weights({6, 4});
  expect_right(grouped(2, 3, 4), from_dense(dense, "a matrix"), dense);
  // The other way round: a filter as a matrix.
  Array filter = dense_weights({6, 2, 2});
  expect_right(spmm_algorithm(6, 4, 5, DType::f32), from_dense(filter, "a filter"), filter);
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{2, 12}, {4, 6}, {3, 8}, {24, 1}})
    EXPECT_THAT(refusal(grouped(2, 3, 4), from_dense(dense_weights(shape), "another")),
                HasSubstr("accepted:"))
        << text_of_shape(shape);
}

TEST(GivenWeights, OtherShapesAreRefusedWithWhatWasMeant) {
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{
           {4, 3, 2}, {3, 2, 4}, {2, 4, 3}, {2, 3, 5}, {1, 2, 3, 4}, {24}}) {
    for (std::int64_t rows = 1; rows < std::max<std::int64_t>(2, std::ssize(shape)); ++rows)
      EXPECT_THAT(refusal(grouped(2, 3, 4), from_dense(dense_weights(shape), "another", rows)),
                  AllOf(HasSubstr("do not have the shape of A"), HasSubstr("[2, 3, 4]")))
          << text_of_shape(shape);
  }
  EXPECT_THAT(refusal(spmm_algorithm(64, 96, 8, DType::f32), from_dense(dense_weights({96, 64}), "turned")),
              AllOf(HasSubstr("[96, 64]"), HasSubstr("that of their transpose")));
  EXPECT_THAT(refusal(spmm_algorithm(64, 96, 8, DType::f16), from_dense(dense_weights({64, 96}), "f32")),
              AllOf(HasSubstr("element type"), HasSubstr("converted(weights, DType::f16)")));
}

TEST(GivenWeights, SizesThatAreOpenAreThoseOfTheWeights) {
  const auto any = [](const char* rows, const char* columns, std::int64_t multiple = 1) {
    return spmm_algorithm(Extent::any(rows, multiple), Extent::any(columns), Extent::any("N"), DType::f32);
  };
  EXPECT_EQ(refusal(any("M", "K"), from_dense(dense_weights({6, 4}), "made")), "no UserError");
  EXPECT_EQ(refusal(any("M", "M"), from_dense(dense_weights({6, 6}), "square")), "no UserError");
  EXPECT_THAT(refusal(any("M", "M"), from_dense(dense_weights({6, 4}), "made")),
              HasSubstr("do not have the shape of A"));
  EXPECT_THAT(refusal(any("M", "K", 4), from_dense(dense_weights({6, 4}), "made")),
              HasSubstr("M (a multiple of 4)"));
  EXPECT_THAT(refusal(any("M", "K"), from_dense(Array(DType::f32, {0, 4}), "empty")),
              HasSubstr("do not have the shape of A"));
  EXPECT_THAT(refusal(grouped(Extent::any("G"), 3, 4), from_dense(dense_weights({2, 3, 4}), "made")),
              HasSubstr("6 rows and 4 columns"));
  EXPECT_THAT(refusal(grouped(Extent::any("G"), 3, 4), from_dense(dense_weights({6, 4}), "a matrix")),
              HasSubstr("[G, 3, 4]"));
}

/// What the weights were cut from has dimensions of its own; their rows and columns are what counts.
TEST(GivenWeights, OpenSizesAreThoseOfTheRowsAndColumns) {
  WeightMatrix weights = from_dense(dense_weights({1, 4}), "made");
  weights.shape = {4, 1};
  const Schedule s(spmm_algorithm(Extent::any("M"), 4, 5, DType::f32),
                   std::make_shared<const SparseTensor>(pack(weights, formats::bcsr(4))),
                   target_named("sm_80"));
  Array b = random_array(DType::f32, {4, 5}, 3), c(DType::f32, {1, 5});
  const Verification verification =
      verify(compile(s, {.assemble = false}), Device::simulator("sm_80"), {{{"B", &b}, {"C", &c}}, {}});
  EXPECT_TRUE(verification.passed) << verification.text();
}

TEST(GivenWeights, ThoseOfALaunchAreTriedAsThoseOfASchedule) {
  const Algorithm algorithm =
      spmm_algorithm(Extent::any("M"), 8, Extent::any("N"), DType::f32);  // K stands fast
  const auto packed = [](std::vector<std::int64_t> shape) {
    return std::make_shared<const SparseTensor>(
        pack(from_dense(dense_weights(std::move(shape)), "made"), formats::csr()));
  };
  const Kernel kernel = compile(default_schedule(algorithm, packed({6, 8}), target_named("cpu")));
  const auto launched = [&](const std::shared_ptr<const SparseTensor>& weights) {
    Array b = random_array(DType::f32, {8, 3}, 1), c(DType::f32, {weights->rows(), 3});
    return message_of([&] { kernel.bind(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}, weights}); });
  };
  EXPECT_EQ(launched(packed({9, 8})), "no UserError");
  EXPECT_THAT(launched(packed({9, 7})), HasSubstr("do not have the shape of A"));
  const auto broken = std::make_shared<const SparseTensor>(damaged(*packed({9, 8}), "column", 3, 100000));
  EXPECT_THAT(launched(broken), HasSubstr("column 100000"));
}

const std::vector<std::string> all_formats{"dense",
                                           "csr",
                                           "csr:order=dealt,rows=4",
                                           "csc",
                                           "coo",
                                           "ell",
                                           "ell:order=length",
                                           "bitmap",
                                           "padded_csr",
                                           "bcsr:b=4",
                                           "hb_ell",
                                           "padded_csr:block=8,pad=2",
                                           "padded_csr:fill=64",
                                           "n_m:V=16",
                                           "hb_ell:pairs=1",
                                           "sliced_ell:pad=2,slice=4",
                                           "blocked_ell:b=4",
                                           "v_n_m:V=16",
                                           "mixed:V=16",
                                           "hb_ell:every=2",
                                           "vector_wise:V=8,k=16",
                                           "shfl_bw:V=8,k=16",
                                           "column_quads:V=16",
                                           "column_windows",
                                           "lane_streams:columns=64",
                                           "pair_words:columns=64"};

SparseTensor packed_in(const std::string& format) {
  return pack(
      fitted(synthetic_layer({.rows = 13, .columns = 22, .sparsity = 0.7, .seed = 9}), parse_format(format)),
      parse_format(format));
}

TEST(GivenWeights, MadeByHandTheyAreTriedBeforeTheyAreCompiled) {
  const SparseTensor csr = packed_in("csr:order=dealt,rows=4");
  const auto tried = [](const SparseTensor& weights) {
    return message_of([&] {
      Schedule(spmm_algorithm(13, 22, 4, DType::f32), std::make_shared<const SparseTensor>(weights),
               target_named("cpu"));
    });
  };
  EXPECT_EQ(tried(csr), "no UserError");
  // Row 900 of 13 would be stored far behind C; a row that comes twice leaves another unwritten.
  EXPECT_THAT(tried(damaged(csr, "row_order", 2, 900)), HasSubstr("row_order[2]"));
  EXPECT_THAT(tried(damaged(csr, "row_order", 2, -1)), HasSubstr("row_order[2]"));
  EXPECT_THAT(tried(damaged(csr, "row_order", 2, csr.array("row_order").get(3))), HasSubstr("appears twice"));
  EXPECT_THAT(tried(damaged(csr, "begin", 5, 4000)), HasSubstr("begin[5]"));
  EXPECT_THAT(tried(damaged(csr, "column", 5, -4)), HasSubstr("column[5]"));
}

/// The same tensor with other levels.
SparseTensor with_levels(const SparseTensor& tensor, std::vector<Level> levels) {
  return SparseTensor(tensor.format(), tensor.shape(), tensor.rows(), tensor.columns(), std::move(levels),
                      tensor.arrays(), tensor.value_order());
}

TEST(GivenWeights, LevelsAreThoseOfTheFormat) {
  for (const std::string& format : all_formats) {
    SCOPED_TRACE(format);
    const SparseTensor tensor = packed_in(format);
    // By hand, but right.
    EXPECT_NO_THROW(with_levels(tensor, tensor.levels()).check());
    std::vector<std::function<void(std::vector<Level>&)>> changes{[](auto& levels) { levels.clear(); },
                                                                  [](auto& levels) { levels.pop_back(); }};
    for (std::size_t i = 0; i < tensor.levels().size(); ++i) {
      changes.emplace_back([i](auto& levels) { levels[i].stride += 1; });
      changes.emplace_back([i](auto& levels) { levels[i].loop = "other"; });
      changes.emplace_back([i](auto& levels) { levels[i].padded = !levels[i].padded; });
      changes.emplace_back([i](auto& levels) { levels[i].parent = static_cast<int>(i); });
      changes.emplace_back([i](auto& levels) { levels[i].kind = static_cast<LevelKind>(9); });
      changes.emplace_back([i](auto& levels) { levels[i].index = "nothing"; });
      changes.emplace_back([i](auto& levels) {
        levels[i].dimension = levels[i].dimension == Dimension::row ? Dimension::column : Dimension::row;
      });
      if (tensor.levels()[i].kind == LevelKind::dense)
        changes.emplace_back([i](auto& levels) { levels[i].extent += 1; });
    }
    for (std::size_t i = 0; i < changes.size(); ++i) {
      std::vector<Level> levels = tensor.levels();
      changes[i](levels);
      EXPECT_THAT(complaint(with_levels(tensor, levels)), Not(HasSubstr("none"))) << "change " << i;
    }
    auto twice = tensor.arrays();
    twice.push_back(twice.back());
    EXPECT_THAT(complaint(SparseTensor(tensor.format(), tensor.shape(), 13, 22, tensor.levels(), twice,
                                       tensor.value_order())),
                HasSubstr("the arrays | "));
    EXPECT_THAT(complaint(SparseTensor({"mine", {}}, tensor.shape(), 13, 22, tensor.levels(), tensor.arrays(),
                                       tensor.value_order())),
                HasSubstr("no format of that name"));
  }
}

TEST(GivenWeights, DamageIsFoundOrDoesNoHarm) {
  std::mt19937_64 random(11);
  int refused = 0;
  int right = 0;
  for (const std::string& format : all_formats) {
    const SparseTensor tensor = packed_in(format);
    int compiled = 0;
    for (int trial = 0; trial < 60; ++trial) {
      const auto& named = tensor.arrays()[random() % tensor.arrays().size()];
      if (named.array.size() == 0) continue;
      const auto element =
          static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(named.array.size()));
      const auto value = static_cast<double>(static_cast<std::int64_t>(random() % 40) - 4);
      const auto broken = std::make_shared<const SparseTensor>(
          damaged(tensor, named.name, element, trial % 7 == 0 ? 1e9 * value : value));
      SCOPED_TRACE(testing::Message() << format << ", " << named.name << "[" << element << "], " << value);
      const Algorithm algorithm = spmm_algorithm(13, 22, 4, DType::f32);
      try {
        const Schedule schedule(algorithm, broken, target_named("cpu"));
        if (++compiled > 3) continue;
        Array b = random_array(DType::f32, {22, 4}, 1), c(DType::f32, {13, 4});
        const Verification found = verify(compile(schedule), Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
        EXPECT_TRUE(found.passed) << found.text();
        ++right;
      } catch (const UserError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 200);
  EXPECT_GT(right, 20);
}

TEST(GivenWeights, WhatPackMadeIsNotTriedAgain) {
  const WeightMatrix layer = synthetic_layer({.rows = 1024, .columns = 1024, .sparsity = 0.9});
  const auto seconds = [](const auto& action) {
    const auto begin = std::chrono::steady_clock::now();
    action();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (const std::string& format : all_formats) {
    const WeightMatrix weights = fitted(layer, parse_format(format));
    std::optional<SparseTensor> tensor;
    const double packing = seconds([&] { tensor = pack(weights, parse_format(format)); });
    const double again = seconds([&] { tensor->check(); });
    const SparseTensor by_hand = with_levels(*tensor, tensor->levels());
    const double first = seconds([&] { by_hand.check(); });
    const double second = seconds([&] { by_hand.check(); });
    std::cout << format << ": packed in " << packing * 1e3 << " ms, tried again in " << again * 1e3
              << " ms; made by hand " << first * 1e3 << " ms, then " << second * 1e3 << " ms\n";
    EXPECT_LT(second, 0.05 * packing) << format;
  }
}

}  // namespace
}  // namespace weft
