// What stitch, tensorize, reorder_writeback, persist and specialize_warps refuse, precondition by
// precondition; their schedules as JSON; the instructions that they name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/index.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/lower.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/search/spaces/problems.h>

#include "support/examples.h"

namespace weft {
namespace {

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

const LoopName m_block("m.block"), k_block("k.block"), k_place("k.place"), m_row("m.row"),
    row_outer("m.row.outer"), row_inner("m.row.inner"), column_outer("n.inner.outer"),
    column_inner("n.inner.inner");
const std::string wgmma = "wgmma_m64n64k16", mma = "mma_m16n8k16";

struct Problem {
  std::string target = "sm_90a";
  Extent columns = Extent(64);  ///< columns of the output
  std::int64_t tile_columns = 64;
  std::int64_t warp_columns = 64;  ///< columns of a warp, or warpgroup
  std::int64_t depth = 2;
  std::string instruction = wgmma;
  DType output = DType::f16;
};

Schedule bare(const Problem& problem) {
  const WeightMatrix matrix =
      synthetic_layer({.rows = 70, .columns = 150, .sparsity = 0.9, .dtype = DType::f16});
  Algorithm algorithm = spmm_algorithm(70, 150, problem.columns, DType::f16);
  algorithm.operands[algorithm.output.operand].dtype = problem.output;
  return schedule(std::move(algorithm), pack(matrix, parse_format("shfl_bw:V=64")),
                  target_named(problem.target));
}

Argument buffers_of(const Problem& problem) {
  return depth = problem.depth;
}

/// The legal schedule, begun in stages: each function adds to the one above.
Schedule tiled(const Problem& problem = {}) {
  Schedule s = bare(problem);
  s.split(n = problem.tile_columns)
      .split(LoopFactor{LoopName("n.inner"), problem.warp_columns}, LoopFactor{m_row, 64})
      .reorder(n.outer, m_block, k_block, row_outer, column_outer, row_inner, column_inner, k_place)
      .bind(n.outer, block_y)
      .bind(m_block, block_x);
  return s;
}
Schedule staged(const Problem& problem = {}) {
  Schedule s = tiled(problem);
  s.stage(std::string("A.values"), shared, at = k_block, buffers_of(problem));
  return s;
}
Schedule stitched(const Problem& problem = {}) {
  Schedule s = staged(problem);
  s.stitch(std::string("B"), shared, at = k_block, buffers_of(problem));
  return s;
}
Schedule shared_out(Schedule s) {
  s.bind(row_outer, warp).bind(column_outer, warp);
  return s;
}
Schedule tensorized(const Problem& problem = {}) {
  Schedule s = shared_out(stitched(problem));
  s.tensorize(problem.instruction);
  return s;
}
Schedule written_back(const Problem& problem = {}) {
  Schedule s = tensorized(problem);
  s.reorder_writeback(std::string("C"));
  return s;
}
Schedule persistent(const Problem& problem = {}) {
  Schedule s = written_back(problem);
  s.persist(n.outer, m_block, blocks = 3);
  return s;
}

Argument word(const char* text) {
  return {{}, std::string(text)};
}

Step stitch(const char* tensor, const char* scope, const LoopName& place, std::int64_t buffers = 2) {
  return {"stitch", {word(tensor), word(scope), at = place, depth = buffers}, {}};
}
Step tensorize(const std::string& instruction) {
  return {"tensorize", {word(instruction.c_str())}, {}};
}
Step persist(const char* outer, const char* inner, std::int64_t count) {
  return {"persist", {word(outer), word(inner), blocks = count}, {}};
}
Step roles(std::int64_t warps = 4, std::int64_t of_producer = 0, std::int64_t of_consumer = 0) {
  return {"specialize_warps",
          {producers = warps, producer_registers = of_producer, consumer_registers = of_consumer},
          {}};
}

/// The step does not apply, for that reason, and leaves the schedule as it was.
void expect_refused(Schedule schedule, const Step& step, int precondition, const char* found) {
  SCOPED_TRACE(schedule.cpp() + "\n" + step.cpp());
  const std::string program = ir::print(schedule.program()), steps = schedule.json();
  const auto reason = schedule.try_apply(step);
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->precondition, precondition);
  EXPECT_THAT(reason->found, testing::HasSubstr(found));
  EXPECT_FALSE(reason->accepted.empty());
  EXPECT_EQ(ir::print(schedule.program()), program);
  EXPECT_EQ(schedule.json(), steps);
  EXPECT_EQ(schedule.history().size(), schedule.steps().size() + 1);
}

TEST(TensorSteps, StitchRefuses) {
  expect_refused(staged(), stitch("B", "shared", LoopName("q")), 1, "q");
  expect_refused(staged(), stitch("B", "registers", k_block, 1), 2, "registers");
  expect_refused(staged(), stitch("X", "shared", k_block), 3, "no input is called X");
  expect_refused(staged(), stitch("C", "shared", k_block), 3, "no input is called C");
  expect_refused(stitched(), stitch("B", "shared", k_block), 3, "which is a copy of B already");
  expect_refused(tiled(), stitch("B", "shared", k_place), 4, "reads one row or one column of B");
  expect_refused(tiled(), stitch("B", "shared", m_block, 1), 4, "k.block runs over A.begin[m.block]");
  Schedule by_warps = bare({});
  by_warps.split(n = 64).reorder(n.outer, m_block, k_block, m_row, n.inner, k_place).bind(m_block, warp);
  expect_refused(by_warps, stitch("B", "shared", k_block), 5, "m.block is warp");
  expect_refused(staged(), stitch("B", "shared", k_block, 9), 7, "depth = 9");
  expect_refused(staged(), stitch("B", "shared", k_block, 0), 7, "depth = 0");
  expect_refused(tiled({.target = "sm_75"}), stitch("B", "shared", k_block), 7, "no cp.async");
  expect_refused(staged(), stitch("B", "shared", k_block, 3), 8, "A.values has 2 buffers at k.block");
  Schedule numbers = tiled();
  numbers.stage(std::string("A.column"), shared, at = k_block);
  expect_refused(numbers, stitch("B", "shared", k_block), 9, "which each iteration of k.block makes");
}

/// Weights that are stored whole: stage copies their tiles, and swizzles none.
Schedule of_dense_tiles() {
  const WeightMatrix matrix = synthetic_layer({.rows = 64, .columns = 128, .dtype = DType::f16});
  Schedule s = schedule(spmm_algorithm(64, 128, Extent(64), DType::f16), pack(matrix, formats::dense()),
                        target_named("sm_90a"));
  s.tile(m = 64, n = 64)
      .split(k = 64)
      .reorder(m.outer, n.outer, k.outer, m.inner, n.inner, k.inner)
      .bind(m.outer, block_x)
      .stage(std::string("A.values"), shared, at = k.outer)
      .stage(std::string("B"), shared, at = k.outer);
  return s;
}

TEST(TensorSteps, TensorizeRefuses) {
  expect_refused(tensorized(), tensorize(wgmma), 1, "0 nests");
  expect_refused(shared_out(tiled()), tensorize(wgmma), 2, "the sum asks 0 <= A.column");
  Schedule cut = stitched();
  cut.split(LoopFactor{k_place, 16});
  expect_refused(shared_out(cut), tensorize(wgmma), 3, "+=");
  Schedule by_lanes = stitched();
  by_lanes.vectorize(column_inner);
  expect_refused(shared_out(by_lanes), tensorize(wgmma), 3, "n.inner.inner is vectorized");
  Schedule half = tiled();
  half.stitch(std::string("B"), shared, at = k_block, depth = 2);
  expect_refused(shared_out(half), tensorize(wgmma), 4, "A.values is read from");
  expect_refused(shared_out(stitched()), tensorize("mma_m8n8k8"), 5, "no instruction is called mma_m8n8k8");
  expect_refused(shared_out(stitched({.target = "sm_80"})), tensorize(wgmma), 6,
                 "sm_80 has no wgmma_m64n64k16");
  expect_refused(shared_out(stitched({.target = "sm_90"})), tensorize(wgmma), 6,
                 "sm_90 has no wgmma_m64n64k16");
  expect_refused(shared_out(stitched({.target = "sm_75", .depth = 1})), tensorize(mma), 6,
                 "sm_75 has no mma_m16n8k16");
  expect_refused(shared_out(stitched({.warp_columns = 32})), tensorize(wgmma), 7,
                 "n.inner.inner has 32 iterations");
  Schedule turned = stitched();
  turned.reorder(row_outer, column_outer, column_inner, row_inner, k_place);
  expect_refused(shared_out(turned), tensorize(wgmma), 8, "m.row.inner stands inside n.inner.inner");
  expect_refused(of_dense_tiles(), tensorize(wgmma), 9, "swizzle 0");
}

TEST(TensorSteps, ReorderWritebackRefuses) {
  const Step of_c{"reorder_writeback", {word("C")}, {}};
  expect_refused(tensorized(), {"reorder_writeback", {word("B")}, {}}, 1, "B is not what the program stores");
  expect_refused(stitched(), of_c, 2, "0 nests store fragments to C");
  expect_refused(written_back(), of_c, 2, "0 nests store fragments to C");
  expect_refused(tensorized({.output = DType::f32}), of_c, 3, "C holds f32");
  for (const std::int64_t width : {0, 4, 24, 512})
    expect_refused(tensorized(), {"reorder_writeback", {word("C"), columns = width}, {}}, 4, "columns = ");
}

/// What an instruction does at once has no loops that steps change.
TEST(TensorSteps, LoopsOfAnInstructionStay) {
  const Schedule s = tensorized();
  std::string of_tile;
  ir::visit(s.program().body, [&](const ir::Stmt& stmt) {
    const auto* operation = stmt.as<ir::TensorOperation>();
    if (operation != nullptr && operation->meaning.defined())
      of_tile = operation->meaning.as<ir::For>()->name;
  });
  ASSERT_FALSE(of_tile.empty());
  expect_refused(s, {"split", {{of_tile, std::int64_t{4}}}, {}}, 1, "which does all its iterations at once");
  expect_refused(s, {"unroll", {{{}, of_tile}}, {}}, 1, (of_tile + " is a loop of wgmma").c_str());
}

TEST(TensorSteps, PersistRefuses) {
  expect_refused(written_back(), persist("q", "m.block", 3), 1, "q");
  expect_refused(written_back(), persist("n.outer", "q", 3), 1, "q");
  expect_refused(bare({}), persist("m.block", "m.row", 3), 2, "are bound to nothing");
  expect_refused(written_back(), persist("m.block", "n.outer", 3), 2, "does not stand directly inside");
  expect_refused(written_back(), persist("n.outer", "k.block", 3), 2, "does not stand directly inside");
  expect_refused(persistent(), persist("n.outer.block", "n.outer.tile", 3), 2, "both bound to blocks");
  expect_refused(written_back(), persist("n.outer", "m.block", 0), 3, "blocks = 0");
  Schedule three = test::spmm_schedule("sm_80");
  three.tile(m = 4, n = 32).bind(m.outer, block_z).bind(n.outer, block_y).bind(m.inner, block_x);
  expect_refused(three, persist("m.outer", "n.outer", 3), 4, "m.inner is bound to block_x");
  const auto dealt = [](const char* loop) {
    return Step{"persist", {word("n.outer"), word("m.block"), blocks = 3, deal = LoopName(loop)}, {}};
  };
  expect_refused(written_back(), dealt("q"), 1, "q");
  expect_refused(written_back(), dealt("m.row.outer"), 5, "m.row.outer");
  expect_refused(written_back({.columns = Extent(65)}), dealt("m.block"), 5, "m.block");
}

TEST(TensorSteps, SpecializeWarpsRefuses) {
  expect_refused(written_back({.target = "sm_80", .instruction = mma}), roles(), 1, "sm_80 has no barriers");
  expect_refused(written_back({.target = "sm_90", .instruction = mma}), roles(4, 40, 232), 1,
                 "sm_90 cannot hand registers over");
  expect_refused(written_back({.depth = 1}), roles(), 2, "0 loops have copies that run ahead");
  expect_refused(persistent(), roles(8), 3, "producers = 8");
  expect_refused(persistent(), roles(4, 16), 4, "16 registers");
  expect_refused(persistent(), roles(4, 40, 225), 4, "225 registers");
  expect_refused(persistent(), roles(4, 40, 248), 4, "consumer_registers = 248");
  Schedule twice = persistent();
  twice.apply(roles());
  expect_refused(twice, roles(), 5, "roles already");
  EXPECT_THROW(persistent().try_apply({"specialize_warps", {{"consumers", std::int64_t{4}}}, {}}), UserError);
}

/// Threads that compute meet where blocks count who came last.
TEST(TensorSteps, RolesWhereBlocksShareASum) {
  Schedule shared_sum = tensorized();
  shared_sum.bind(shared_sum.split_k(k_block, 2, second_pass), block_z);
  shared_sum.reorder_writeback(std::string("C"));
  for (const Step& of_warps : {roles(), roles(4, 40, 232)}) {
    Schedule with_roles = shared_sum;
    EXPECT_FALSE(with_roles.try_apply(of_warps));
    Schedule dealt = written_back();
    dealt.persist(n.outer, m_block, blocks = 3, deal = k_block);
    EXPECT_FALSE(dealt.try_apply(of_warps));
  }
  shared_sum.persist(n.outer, m_block, blocks = 3);
  expect_refused(shared_sum, roles(), 11, "the sums of several tiles");
}

TEST(TensorSteps, ProducersRefuseCopies) {
  Schedule rows_staged = tiled();
  rows_staged.stage(std::string("B"), shared, at = k_block, depth = 2);
  expect_refused(rows_staged, roles(), 6, "is no whole block of B");
  // Rows of B begin at odd places, or nobody knows where.
  for (const Extent& extent : {Extent(65), Extent::any("N")})
    expect_refused(persistent({.columns = extent}), roles(), 7, "2 bytes at a time");
  const Problem six_runs{.columns = Extent(96), .tile_columns = 48, .warp_columns = 48, .instruction = mma};
  expect_refused(persistent(six_runs), roles(), 8, "64 rows of 6 runs for 128 threads");
  const Problem one_run{.tile_columns = 8, .warp_columns = 8, .instruction = mma};
  expect_refused(persistent(one_run), roles(), 8, "64 rows of 1 runs for 128 threads");
}

TEST(TensorSteps, RolesRefuseThreads) {
  expect_refused(stitched(), roles(), 9, "1 threads compute");
  const Problem two_warps{.warp_columns = 32, .instruction = mma};
  expect_refused(persistent(two_warps), roles(4, 40, 232), 9, "64 threads compute");
  Schedule without_registers = persistent(two_warps);
  expect_refused(without_registers, {"specialize_warps", {producers = 4, blocks = 2}, {}}, 12,
                 "a loop without two blocks");
  EXPECT_EQ(without_registers.try_apply(roles()), std::nullopt);
  const Problem four_groups{.columns = Extent(256), .tile_columns = 256};
  expect_refused(persistent(four_groups), roles(4, 40, 232), 10, "registers for 640 threads");
}

TEST(TensorSteps, RolesRefuseRegistersThatNobodyGivesUp) {
  const Problem two_groups{.columns = Extent(128), .tile_columns = 128};
  // 384 threads begin with 168 each; who copies keeps them unless told otherwise.
  expect_refused(persistent(two_groups), roles(4, 0, 208), 10, "74752 registers for 384 threads");
  expect_refused(persistent(two_groups), roles(4, 88, 216), 10, "66560 registers for 384 threads");
  expect_refused(persistent(two_groups), roles(4, 208, 0), 10, "keep 208 registers of 168");
  expect_refused(persistent(two_groups), roles(4, 120, 96), 10, "keep 120 registers of 96");
  for (const auto& [own, others] : {std::pair{88, 208}, {40, 232}, {0, 168}, {168, 0}, {96, 96}}) {
    Schedule s = persistent(two_groups);
    EXPECT_EQ(s.try_apply(roles(4, own, others)), std::nullopt) << own << " and " << others;
  }
}

TEST(TensorSteps, AStepThatWouldBreakTheRolesOfWarpsIsRefused) {
  const Problem six_runs{.columns = Extent(96), .tile_columns = 48, .warp_columns = 48, .instruction = mma};
  Schedule s = staged(six_runs);
  s = shared_out(s);
  s.apply(roles());
  try {
    s.stitch(std::string("B"), shared, at = k_block, depth = 2);
    FAIL() << "applied";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr(".stitch("), testing::HasSubstr("after .specialize_warps("),
                               testing::HasSubstr("whose precondition 8 it would break")));
  }
}

/// Which rows the results go to, and, to producers, where the next tile's list begins.
TEST(TensorSteps, ATileWaitsForNoNumbersOfTheWeights) {
  const WeightMatrix matrix =
      synthetic_layer({.rows = 128, .columns = 150, .sparsity = 0.9, .dtype = DType::f16});
  Schedule s = schedule(spmm_algorithm(128, 150, Extent(128), DType::f16),
                        pack(matrix, parse_format("shfl_bw:V=64")), target_named("sm_90a"));
  s.split(n = 64).split(LoopFactor{LoopName("n.inner"), 64}, LoopFactor{m_row, 64});
  s.reorder(n.outer, m_block, k_block, row_outer, column_outer, row_inner, column_inner, k_place)
      .bind(n.outer, block_y)
      .bind(m_block, block_x);
  s.stage(std::string("A.values"), shared, at = k_block, depth = 2)
      .stitch(std::string("B"), shared, at = k_block, depth = 2);
  s = shared_out(s);
  s.tensorize(wgmma).reorder_writeback(std::string("C")).persist(n.outer, m_block, blocks = 3);
  s.specialize_warps(producers = 4);
  const std::string program = ir::print(lower(s.program(), s.target()).program);
  const auto producers_begin = program.find("producer.turn = 0");
  ASSERT_NE(producers_begin, std::string::npos);
  const std::string consumers = program.substr(0, producers_begin),
                    producers = program.substr(producers_begin);
  // Before the sum, and nowhere behind it.
  EXPECT_LT(consumers.find("A.row_order["), consumers.find("mbarrier_wait"));
  EXPECT_EQ(consumers.find("A.row_order[", consumers.find("mbarrier_wait")), std::string::npos);
  EXPECT_EQ(producers.find("in A.begin["), std::string::npos);
  EXPECT_LT(producers.find("A.begin["), producers.find("mbarrier_wait"));
  EXPECT_THAT(producers, testing::HasSubstr("B.stitched.loaded[0] = B.stitched.coming[0]"));
}

TEST(TensorSteps, AScheduleOfAllFiveRoundTripsThroughJson) {
  Schedule s = tensorized();
  s.reorder_writeback(std::string("C"), columns = 32).persist(n.outer, m_block, blocks = 3);
  s.specialize_warps(producers = 4, producer_registers = 40, consumer_registers = 232);
  Schedule replayed = bare({});
  for (const Step& step : steps_of_json(s.json())) replayed.apply(step);
  EXPECT_EQ(ir::print(s.program()), ir::print(replayed.program()));
  EXPECT_EQ(s.cpp(), replayed.cpp());
  for (const char* text :
       {".stitch(\"B\", shared, at = \"k.block\", depth = 2)", ".tensorize(\"wgmma_m64n64k16\")",
        ".reorder_writeback(\"C\", columns = 32)", ".persist(n.outer, \"m.block\", blocks = 3)",
        ".specialize_warps(producers = 4, producer_registers = 40, consumer_registers = 232)"})
    EXPECT_THAT(s.cpp(), testing::HasSubstr(text));
}

}  // namespace
}  // namespace weft
