// What simplify and verify remember of long blocks, and what they must look at again.
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/settled.h>
#include <weft/scheduler/ir/verify.h>

#include <algorithm>

namespace weft {
namespace {

using ir::Expr;
using ir::Stmt;

constexpr std::int64_t columns = 40;

ir::BufferRef output() {
  static const ir::BufferRef buffer = ir::make_buffer("C", DType::f32, ir::Scope::global, ir::Access::write,
                                                      {ir::integer(100), ir::integer(columns)});
  return buffer;
}

Stmt store_at(const Expr& row, std::int64_t column) {
  return ir::store(output(), {row, ir::integer(column)}, ir::constant(DType::f32, 1));
}

Stmt long_block(const Expr& row) {
  std::vector<Stmt> statements;
  for (std::int64_t i = 0; i < columns; ++i) statements.push_back(store_at(row, i));
  return ir::block(std::move(statements));
}

ir::Program program_of(Stmt body) {
  ir::Program program;
  program.name = "settled";
  program.buffers = {output()};
  program.body = std::move(body);
  return program;
}

ir::Program loop_of(std::int64_t extent, const Stmt& body, const std::string& name = "i") {
  return program_of(
      ir::for_loop({name, ir::integer(0), ir::integer(extent), ir::LoopKind::serial, -1, body}));
}

const Stmt& body_of(const ir::Program& program) {
  return program.body.as<ir::For>()->body;
}

TEST(Settled, LongBlocksThatNothingDecidesStay) {
  ir::Settled settled;
  const Stmt block = long_block(ir::variable("i"));
  for (const std::int64_t extent : {16, 8}) {
    const ir::Program simple = simplify(loop_of(extent, block), ir::ShortLoops::remove, settled);
    EXPECT_EQ(body_of(simple).identity(), block.identity());
    EXPECT_EQ(settled.simple.size(), 1U);
  }
  simplify(program_of({}), ir::ShortLoops::remove, settled);
  EXPECT_TRUE(settled.simple.empty()) << "a program without the block";
}

TEST(Settled, WhatLoopsDecideIsDecidedAnew) {
  ir::Settled settled;
  const Expr i = ir::variable("i");
  const Stmt block = ir::block({long_block(i), ir::if_then(i < ir::integer(8), store_at(i, 0))});
  const auto conditions = [&](std::int64_t extent) {
    const ir::Program simple = simplify(loop_of(extent, block), ir::ShortLoops::remove, settled);
    return std::ranges::count_if(body_of(simple).as<ir::Sequence>()->statements,
                                 [](const Stmt& s) { return s.as<ir::If>() != nullptr; });
  };
  EXPECT_EQ(conditions(16), 1);
  EXPECT_EQ(conditions(8), 0);
  EXPECT_EQ(conditions(16), 1);
}

TEST(Settled, ABlockIsVerifiedWhereItStands) {
  ir::Settled settled;
  const Stmt block = ir::let("row", ir::variable("i") + 1, long_block(ir::variable("row")));
  const Stmt twice = ir::block({long_block(ir::variable("i")), block});
  const ir::Program right = loop_of(16, twice);
  EXPECT_NO_THROW(verify(right, settled));
  EXPECT_NO_THROW(verify(right, settled));
  EXPECT_EQ(settled.verified.size(), 1U);
  EXPECT_THROW(verify(loop_of(16, twice, "j"), settled), InternalError) << "no i";
  EXPECT_NO_THROW(verify(right, settled));
  EXPECT_THROW(verify(program_of(ir::let("row", ir::integer(3), right.body)), settled), InternalError)
      << "two rows";
  EXPECT_NO_THROW(verify(right, settled));
  ir::Program without = right;
  without.buffers.clear();
  EXPECT_THROW(verify(without, settled), InternalError);
}

}  // namespace
}  // namespace weft
