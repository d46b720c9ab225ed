// Rows shared out by entries: by boundaries of the weights, and by the order in which they are stored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/limits/balance.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>

namespace weft {
namespace {

using ::testing::HasSubstr;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

/// A weight whose rows have `length(row)` entries.
template <class Length>
WeightMatrix weights_of(std::int64_t rows, std::int64_t columns, const Length& length) {
  std::vector<std::int64_t> row, column;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t entries = length(r);
    for (std::int64_t i = 0; i < entries; ++i) {
      row.push_back(r);
      column.push_back((r * 7 + i * 3) % columns);
    }
  }
  const Array values = random_array(DType::f32, {static_cast<std::int64_t>(row.size())}, 9);
  return from_coordinates(rows, columns, row, column, values, "skewed");
}

/// Long rows first, and many without entries.
WeightMatrix skewed(std::int64_t rows) {
  return weights_of(rows, 61, [&](std::int64_t row) {
    return row % 5 == 4 ? 0 : std::max<std::int64_t>(0, 50 - 100 * row / rows);
  });
}

Algorithm with_everything(std::int64_t rows, std::int64_t columns) {
  Epilogue epilogue;
  epilogue.alpha = epilogue.beta = epilogue.bias = true;
  epilogue.activation = Activation::relu;
  return spmm_algorithm(rows, 61, columns, DType::f32, epilogue);
}

void expect_right(const Schedule& schedule, std::int64_t rows, std::int64_t columns,
                  Emitter emitter = Emitter::llvm) {
  SCOPED_TRACE(schedule.cpp() + "\n" + ir::print(schedule.program()));
  Array b = random_array(DType::f32, {61, columns}, 3), c = random_array(DType::f32, {rows, columns}, 4);
  Array bias = random_array(DType::f32, {rows}, 5);
  const Arguments arguments{{{"B", &b}, {"C", &c}, {"bias", &bias}}, {{"alpha", -1.5}, {"beta", 0.5}}};
  for (const bool by_meaning : {true, false}) {
    KernelOptions options;
    options.by_meaning = by_meaning || !schedule.target().is_gpu();
    options.assemble = false;
    options.emitter = emitter;
    const Kernel kernel = compile(schedule, options);
    const Device device = options.by_meaning ? Device::cpu() : Device::simulator("sm_80");
    const Verification verification = verify(kernel, device, arguments);
    EXPECT_TRUE(verification.passed) << verification.text();
  }
}

TEST(Balance, PartsOfRowsAreRight) {
  for (const Format& format :
       {formats::csr(), formats::csr({.order = RowOrder::by_length}), formats::ell()}) {
    for (const std::int64_t count : {1, 3, 7, 64, 100}) {
      Schedule s = schedule(with_everything(64, 40), pack(skewed(64), format), target_named("sm_80"));
      s.balance(m, parts = count).bind(m.outer, block_y).split(m.inner = 4, n = 32);
      s.reorder(m.outer, n.outer, m.inner.outer, m.inner.inner, n.inner)
          .bind(n.outer, block_x)
          .bind(m.inner.inner, warp)
          .bind(n.inner, lane);
      expect_right(s, 64, 40);
    }
  }
}

TEST(Balance, OnTheCpuByThreads) {
  Schedule s = schedule(with_everything(64, 40), pack(skewed(64), formats::csr()), target_named("cpu"));
  s.balance(m, parts = 8).parallel(m.outer);
  expect_right(s, 64, 40);
}

TEST(Balance, EveryPartHasAboutAsManyEntries) {
  const auto packed = std::make_shared<const SparseTensor>(pack(skewed(512), formats::csr()));
  Schedule rows = schedule(with_everything(512, 40), packed, target_named("sm_80"));
  rows.split(m = 64).bind(m.outer, block_y);
  Schedule parts_of_rows = schedule(with_everything(512, 40), packed, target_named("sm_80"));
  parts_of_rows.balance(m, parts = 8).bind(m.outer, block_y);
  const auto before = balance_of(rows), after = balance_of(parts_of_rows);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->blocks, 8);
  EXPECT_GT(before->of_blocks, 3);
  EXPECT_EQ(after->blocks, 8);
  EXPECT_LT(after->of_blocks, 1.2);
  EXPECT_GE(after->of_blocks, 1.0);
  EXPECT_THAT(ir::print(parts_of_rows.program()), HasSubstr("constant m.parts: i32[9] = 0, "));
}

TEST(Balance, DealtRowsMakeEqualBakedBlocks) {
  for (const RowOrder order : {RowOrder::given, RowOrder::by_length, RowOrder::dealt, RowOrder::similar}) {
    const auto packed =
        std::make_shared<const SparseTensor>(pack(skewed(60), formats::csr({.order = order, .rows = 8})));
    for (const std::int64_t count : {1, 4}) {
      Schedule s = schedule(with_everything(60, 40), packed, target_named("sm_80"));
      s.split(m = 8, n = 32)
          .reorder(m.outer, n.outer, n.inner, m.inner)
          .bind(m.outer, block_y)
          .bind(n.outer, block_x)
          .bind(n.inner, lane);
      if (count > 1) s.split_k(k, groups = count).bind("k.group", warp);
      const auto unbaked = balance_of(s);
      s.bake_values(m.inner);
      const auto balance = balance_of(s);
      ASSERT_TRUE(balance && unbaked);
      EXPECT_EQ(balance->blocks, 8);
      EXPECT_DOUBLE_EQ(balance->of_blocks, unbaked->of_blocks);
      EXPECT_EQ(balance->groups, count);
      EXPECT_LT(balance->of_groups, 1.1);
      if (order == RowOrder::dealt) {
        EXPECT_LT(balance->of_blocks, 1.1);
      }
      if (order == RowOrder::given) {
        EXPECT_GT(balance->of_blocks, 2);
      }
      // No operand of the weights is left, save as a constant.
      for (const ir::BufferRef& buffer : s.program().buffers) EXPECT_FALSE(buffer->name.starts_with("A."));
      EXPECT_EQ(s.program().constants.size(), order == RowOrder::given ? 0U : 1U);
      expect_right(s, 60, 40);
      if (order != RowOrder::dealt) continue;
      KernelOptions options;
      options.assemble = false;
      const Kernel kernel = compile(s, options);
      EXPECT_THAT(kernel.explain(), HasSubstr("8 blocks of rows, the fullest 1.0"));
      EXPECT_THAT(kernel.ptx(), HasSubstr(".const .align 16 .b8 A_row_order[240]"));
      EXPECT_THAT(kernel.cuda_source(), HasSubstr("static __constant__ const int A_row_order[60] = {"));
    }
  }
}

TEST(Balance, ColumnsThatAreFewShareNothing) {
  Schedule s = schedule(with_everything(64, 20), pack(skewed(64), formats::csr()), target_named("sm_80"));
  s.split(m = 8, n = 32)
      .reorder(m.outer, n.outer, n.inner, m.inner)
      .bind(m.outer, block_y)
      .bind(n.inner, lane);
  const auto balance = balance_of(s);
  ASSERT_TRUE(balance);
  EXPECT_EQ(balance->groups, 1);
  EXPECT_DOUBLE_EQ(balance->of_groups, 1);
}

/// More numbers than constant memory holds.
TEST(Balance, LongRowOrdersLieInGlobalMemory) {
  const WeightMatrix weights = weights_of(17000, 61, [](std::int64_t row) { return row % 3; });
  Schedule s = schedule(spmm_algorithm(17000, 61, 1, DType::f32),
                        pack(weights, formats::csr({.order = RowOrder::by_length})), target_named("sm_80"));
  s.split(m = 32).bind(m.outer, block_x);
  s.bake_values(m.inner);
  KernelOptions options;
  options.assemble = false;
  const Kernel kernel = compile(s, options);
  EXPECT_THAT(kernel.ptx(), HasSubstr(".global .align 16 .b8 A_row_order"));
  Array b = random_array(DType::f32, {61, 1}, 3), c(DType::f32, {17000, 1});
  const Verification verification = verify(kernel, Device::simulator("sm_80"), {{{"B", &b}, {"C", &c}}, {}});
  EXPECT_TRUE(verification.passed) << verification.text();
}

TEST(Balance, RefusesWithTheReason) {
  const auto refused = [](Schedule s, const Step& step) {
    const auto reason = s.try_apply(step);
    return reason ? reason->found + " | " + reason->accepted : std::string("none");
  };
  const Schedule csr =
      schedule(with_everything(64, 40), pack(skewed(64), formats::csr()), target_named("sm_80"));
  const auto balance = [](const std::string& loop, std::int64_t number) {
    return Step{"balance", {{"", loop}, {"parts", number}}, {}};
  };
  EXPECT_EQ(refused(csr, balance("m", 4)), "none");
  EXPECT_THAT(refused(csr, balance("m", 0)), HasSubstr("1 to 65535"));
  EXPECT_THAT(refused(csr, balance("x", 4)), HasSubstr("no loop is called x"));
  EXPECT_THAT(refused(csr, balance("n", 4)),
              HasSubstr("before it is split or bound: .balance(m, parts = 4)"));
  Schedule split = csr;
  split.split(m = 4);
  EXPECT_THAT(refused(split, balance("m.inner", 4)), HasSubstr("the loop over the stored rows"));
  Schedule bound = csr;
  bound.bind(m, block_x);
  EXPECT_THAT(refused(bound, balance("m", 4)), HasSubstr("block_x"));
  EXPECT_THAT(
      refused(schedule(with_everything(64, 40), pack(skewed(64), formats::coo()), target_named("sm_80")),
              balance("m", 4)),
      HasSubstr("as pack(weights, formats::csr()) makes them"));
  EXPECT_THAT(
      refused(schedule(with_everything(64, 40), pack(skewed(64), formats::bcsr(8)), target_named("sm_80")),
              balance("m.block", 4)),
      HasSubstr("weights in bcsr:b=8 | weights that are stored row by row"));
  Schedule balanced = csr;
  balanced.balance(m, parts = 4);
  EXPECT_THAT(refused(balanced, {"bake_values", {{"", std::string("m.inner")}}, {}}),
              HasSubstr("csr:order=dealt"));
}

/// Baked rows have registers that the statements of all entries use, which are no loops.
TEST(Balance, RefusesBlocksThatShareRegistersOfBakedRows) {
  const Tensor<f32, 2, sparse> a("A", {9, 24});
  const Tensor<f32, 1> b("B", {24}), c("C", {9});
  const auto weights = std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = 9, .columns = 24, .sparsity = 0.8, .seed = 4}), formats::csr()));
  Schedule s = schedule(algorithm("baked", c(m) = sum(k, a(m, k) * b(k))), weights, target_named("sm_80"));
  s.bake_values(m);
  s.balance(m, parts = 4);
  const auto refused =
      s.try_apply({"bind", {{"", std::string("m.outer")}, {"", std::string("block_y")}}, {}});
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->found.find("registers of sum"), std::string::npos) << refused->found;
}

}  // namespace
}  // namespace weft
