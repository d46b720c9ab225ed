// What multicast refuses, precondition by precondition; its step as JSON; what steps behind it break.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/index.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/passes/lower.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/search/spaces/problems.h>

#include <tuple>

#include "formats/generated_matrices.h"

namespace weft {
namespace {

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

const LoopName m_block("m.block"), k_block("k.block"), in_cluster("n.inner.outer"),
    column_outer("n.inner.inner.outer");

struct Problem {
  std::string target = "sm_90a";
  std::string format = "shfl_bw:V=64";
  std::int64_t blocks = 2;  ///< blocks of a cluster, 64 columns each
  std::int64_t rows = 130;
};

Argument word(const char* text) {
  return {{}, std::string(text)};
}
Step multicast(const char* tensor, const char* loop) {
  return {"multicast", {word(tensor), word(loop)}, {}};
}

Schedule bare(const Problem& problem) {
  const Format format = parse_format(problem.format);
  const WeightMatrix matrix = fitted(
      synthetic_layer({.rows = problem.rows, .columns = 192, .sparsity = 0.5, .dtype = DType::f16}), format);
  return schedule(spmm_algorithm(problem.rows, 192, Extent(256), DType::f16), pack(matrix, format),
                  target_named(problem.target));
}

/// Row groups, whose blocks of columns are in clusters; all warps copy.
Schedule copied_by_all(const Problem& problem = {}) {
  Schedule s = bare(problem);
  s.split(n = 64 * problem.blocks).split(LoopFactor{LoopName("n.inner"), 64});
  s.split(LoopFactor{LoopName("n.inner.inner"), 64}, LoopFactor{LoopName("m.row"), 64})
      .reorder(in_cluster, n.outer, m_block, k_block, LoopName("m.row.outer"), column_outer,
               LoopName("m.row.inner"), LoopName("n.inner.inner.inner"), LoopName("k.place"))
      .bind(in_cluster, block_z)
      .bind(n.outer, block_x)
      .bind(m_block, block_y)
      .stage(std::string("A.values"), shared, at = k_block, depth = 2)
      .stitch(std::string("B"), shared, at = k_block, depth = 2);
  if (problem.format.starts_with("n_m")) s.stage(std::string("A.metadata"), shared, at = k_block, depth = 2);
  s.bind(LoopName("m.row.outer"), warp).bind(column_outer, warp);
  s.tensorize(std::string(problem.target != "sm_90a"          ? "mma_m16n8k16"
                          : problem.format.starts_with("n_m") ? "wgmma_sp_m64n64k32"
                                                              : "wgmma_m64n64k16"))
      .reorder_writeback(std::string("C"));
  return s;
}
Schedule with_roles(const Problem& problem = {}) {
  Schedule s = copied_by_all(problem);
  s.persist(n.outer, m_block, blocks = 2).specialize_warps(producers = 4);
  return s;
}

void expect_refused(Schedule schedule, const Step& step, int precondition, const char* found) {
  SCOPED_TRACE(schedule.cpp() + "\n" + step.cpp());
  const std::string program = ir::print(schedule.program());
  const auto reason = schedule.try_apply(step);
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->precondition, precondition) << reason->found;
  EXPECT_THAT(reason->found, testing::HasSubstr(found));
  EXPECT_FALSE(reason->accepted.empty());
  EXPECT_EQ(ir::print(schedule.program()), program);
}

TEST(Multicast, RefusesWhatIsNoCluster) {
  expect_refused(with_roles(), multicast("A", "q"), 1, "no loop is called q");
  expect_refused(copied_by_all({.target = "sm_80"}), multicast("A", "n.inner.outer"), 2, "sm_80 has no");
  expect_refused(with_roles(), multicast("A", "k.block"), 3, "k.block is not bound to blocks");
  expect_refused(with_roles({.blocks = 16}), multicast("A", "n.inner.outer"), 3,
                 "n.inner.outer has 16 iterations");
  expect_refused(with_roles({.blocks = 1}), multicast("A", "n.inner.outer"), 3, "1 iterations");
  expect_refused(copied_by_all(), multicast("A", "n.inner.outer"), 4, "all warps copy");
}

TEST(Multicast, RefusesCopies) {
  expect_refused(with_roles(), multicast("B", "n.inner.outer"), 5, "B.stitched is copied row by row");
  expect_refused(with_roles(), multicast("C", "n.inner.outer"), 5, "no copy of C runs ahead at k.block");
  expect_refused(with_roles(), multicast("A.column", "n.inner.outer"), 5, "no copy of A.column");
  expect_refused(with_roles({.blocks = 3}), multicast("A", "n.inner.outer"), 8,
                 "A.values.shared for 3 blocks");
}

/// Clusters along the rows: groups have lists of their own, and one may be left over; 2:4 weights have lists
/// of one length, but not the same.
TEST(Multicast, RefusesWhatBlocksDoNotShare) {
  for (const auto& [format, height, precondition, found] :
       {std::tuple{"shfl_bw:V=64", 256, 7, "the range of k.block depends on m.block.inner"},
        {"shfl_bw:V=64", 130, 7, "m.block.outer * 2 + m.block.inner < 3 depends on m.block.inner"},
        {"n_m:V=64,k=64", 256, 6, "the place of A.values.shared depends on m.block.inner"}}) {
    Schedule s = bare({.format = format, .rows = height});
    const LoopName rows("m.block.inner"), column_warps("n.inner.outer");
    s.split(n = 64).split(LoopFactor{LoopName("n.inner"), 64}, LoopFactor{LoopName("m.row"), 64});
    s.split(LoopFactor{m_block, 2})
        .reorder(rows, n.outer, LoopName("m.block.outer"), k_block, LoopName("m.row.outer"), column_warps,
                 LoopName("m.row.inner"), LoopName("n.inner.inner"), LoopName("k.place"))
        .bind(rows, block_z)
        .bind(n.outer, block_y)
        .bind(LoopName("m.block.outer"), block_x)
        .stage(std::string("A.values"), shared, at = k_block, depth = 2)
        .stitch(std::string("B"), shared, at = k_block, depth = 2)
        .bind(LoopName("m.row.outer"), warp)
        .bind(column_warps, warp)
        .specialize_warps(producers = 4);
    expect_refused(s, multicast("A.values", "m.block.inner"), precondition, found);
  }
}

TEST(Multicast, HasOneLoopAndEachArrayOnce) {
  Schedule s = with_roles();
  s.multicast(std::string("A"), in_cluster);
  expect_refused(s, multicast("A.values", "n.inner.outer"), 9, "A.values goes to the cluster already");
  expect_refused(s, multicast("A", "m.block"), 1, "no loop");
  expect_refused(s, multicast("A", "k.block"), 9, "blocks of n.inner.outer are a cluster already");
}

TEST(Multicast, AnOperandIsAllThatIsStagedOfIt) {
  Schedule s = with_roles({.format = "n_m:V=64,k=64"});
  s.multicast(std::string("A"), in_cluster);
  EXPECT_THAT(s.program().cluster->arrays, testing::ElementsAre("A.values", "A.metadata"));
  Schedule values = with_roles({.format = "n_m:V=64,k=64"});
  values.multicast(std::string("A.values"), in_cluster);
  EXPECT_THAT(values.program().cluster->arrays, testing::ElementsAre("A.values"));
}

TEST(Multicast, AStepThatWouldBreakItIsRefused) {
  Schedule s = copied_by_all();
  s.specialize_warps(producers = 4).multicast(std::string("A"), in_cluster);
  try {
    s.persist(in_cluster, n.outer, blocks = 2);
    FAIL() << "applied";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr(".persist("), testing::HasSubstr("after .multicast("),
                               testing::HasSubstr("whose precondition 3 it would break")));
  }
}

TEST(Multicast, RoundTripsAndIsPrinted) {
  Schedule s = with_roles();
  s.multicast(std::string("A.values"), in_cluster);
  EXPECT_THAT(s.cpp(), testing::HasSubstr(".multicast(\"A.values\", n.inner.outer)"));
  EXPECT_THAT(ir::print(s.program()), testing::HasSubstr("cluster: the 2 blocks of n.inner.outer"));
  Schedule replayed = bare({});
  for (const Step& step : steps_of_json(s.json())) replayed.apply(step);
  EXPECT_EQ(ir::print(s.program()), ir::print(replayed.program()));
  EXPECT_THAT(lower(s.program(), s.target()).launch.cluster, testing::ElementsAre(1, 1, 2));
}

}  // namespace
}  // namespace weft
