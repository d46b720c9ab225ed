// Entries of weights as one statement: what walks, ranges and checks see of it, and where bake_values makes
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/verify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/search/spaces/problems.h>

namespace weft {
namespace {

using ir::Expr;
using ir::Stmt;

ir::BufferRef buffer(const char* name, std::vector<Expr> shape, DType dtype = DType::f32) {
  return ir::make_buffer(name, dtype, ir::Scope::global, ir::Access::read_write, std::move(shape));
}

/// Rows 1 and 5 in column 3, row 1 in column 7.
ir::SparseProduct product_of(DType dense) {
  auto table = std::make_shared<ir::EntryTable>(1);
  table->begin_column(std::vector<std::int64_t>{3});
  table->add({1, 2.5F});
  table->add({5, -1});
  table->begin_column(std::vector<std::int64_t>{7});
  table->add({1, 4});
  return {.table = table,
          .coordinates = {"column"},
          .row = "row",
          .dense = buffer("B", {Expr(8), Expr(16)}, dense),
          .of_dense = {ir::variable("column"), ir::variable("lane")},
          .sums = buffer("sums", {Expr(6), Expr(16)}),
          .of_sums = {ir::variable("row"), ir::variable("lane")}};
}

ir::Program program_of(const ir::SparseProduct& product) {
  ir::Program program;
  program.name = "product";
  program.buffers = {product.dense, product.sums};
  program.body =
      ir::for_range(ir::variable("lane"), Expr(16), LoopKind::vectorized, -1, ir::sparse_product(product));
  return program;
}

TEST(SparseProduct, TablesKnowTheirColumnsAndExtremes) {
  const ir::SparseProduct product = product_of(DType::f32);
  const ir::EntryTable& table = *product.table;
  ASSERT_EQ(table.columns(), 2);
  EXPECT_EQ(table.place(1).front(), 7);
  EXPECT_EQ(table.entries(0).size(), 2);
  EXPECT_EQ(table.entries(1).front().value, 4);
  EXPECT_EQ(table.rows().least, 1);
  EXPECT_EQ(table.rows().largest, 5);
  EXPECT_EQ(table.coordinate(0).largest, 7);
}

TEST(SparseProduct, IsSeenByWalksAndRanges) {
  const ir::SparseProduct product = product_of(DType::f32);
  const ir::Program program = program_of(product);
  EXPECT_TRUE(ir::reads(program.body, product.dense));
  EXPECT_TRUE(ir::reads(program.body, product.sums));
  EXPECT_TRUE(ir::stores_to(program.body, product.sums));
  EXPECT_FALSE(ir::stores_to(program.body, product.dense));
  const ir::Ranges ranges = ir::loop_ranges(program.body);
  EXPECT_EQ(ranges.at("row").maximum, 5);
  EXPECT_EQ(ranges.at("column").minimum, 3);
  EXPECT_THAT(ir::print(program),
              testing::HasSubstr("sums[row, lane] += value * B[column, lane]  # 3 entries of 2 columns"));
  const ir::BufferRef wider = buffer("wider", {Expr(2), Expr(6), Expr(16)});
  const Stmt moved = ir::replace_buffer(program.body, product.sums, wider, [](std::vector<Expr> indices) {
    indices.insert(indices.begin(), Expr(1));
    return indices;
  });
  EXPECT_TRUE(ir::stores_to(moved, wider));
  EXPECT_FALSE(ir::uses(moved, product.sums));
}

TEST(SparseProduct, IsOfSumsInF32) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    EXPECT_NO_THROW(ir::verify(program_of(product_of(dtype))));
  EXPECT_THROW(ir::verify(program_of(product_of(DType::f64))), InternalError);
}

/// Entries in products of the program.
std::size_t entries_of(const Schedule& schedule) {
  std::size_t entries = 0;
  ir::each<ir::SparseProduct>(schedule.program().body, [&](const ir::SparseProduct& product) {
    entries += product.table->entries().size();
  });
  return entries;
}

Schedule baked(DType dtype, const char* target) {
  const WeightMatrix weights =
      synthetic_layer({.rows = 40, .columns = 64, .sparsity = 0.8, .dtype = dtype, .seed = 2});
  Schedule s(spmm_algorithm(40, 64, 48, dtype),
             std::make_shared<const SparseTensor>(pack(weights, formats::csr())), target_named(target));
  const auto [rows, row] = s.split(LoopName("m"), 10);
  const auto [tiles, column] = s.split(LoopName("n"), 16);
  s.reorder(tiles, rows, row, "k", column).vectorize(column);
  s.bake_values(row);
  return s;
}

TEST(SparseProduct, HasAllEntriesOfAProcessorsBlocks) {
  const std::size_t entries = 40 * 64 / 5;
  EXPECT_NEAR(static_cast<double>(entries_of(baked(DType::f32, "cpu"))), entries, 60);
  EXPECT_EQ(entries_of(baked(DType::f16, "cpu")), entries_of(baked(DType::f32, "cpu")));
  EXPECT_EQ(entries_of(baked(DType::f64, "cpu")), 0);
}

TEST(SparseProduct, StandsBehindStepsThatLookAtEntries) {
  Schedule s = baked(DType::f32, "cpu");
  const std::size_t entries = entries_of(s);
  s.stage("B", shared, at = LoopName("n.outer"));
  EXPECT_EQ(entries_of(s), entries);
  s.parallel(LoopName("n.outer"));
  EXPECT_EQ(entries_of(s), entries);
}

}  // namespace
}  // namespace weft
