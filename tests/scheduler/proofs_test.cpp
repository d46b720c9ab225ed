// What is proved of the recipes' programs for every shape and pattern, and that wrong programs are refuted.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/index.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/limits/proofs.h>
#include <weft/scheduler/limits/resources.h>
#include <weft/scheduler/program/build_program.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>
#include <functional>

namespace weft {
namespace {

using SharedWeights = std::shared_ptr<const SparseTensor>;

SharedWeights weights_of(std::int64_t rows, std::int64_t columns, DType dtype, const std::string& format) {
  return std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = rows, .columns = columns, .sparsity = 0.8, .dtype = dtype}),
           parse_format(format)));
}

Algorithm any_product(DType dtype, std::int64_t multiple) {
  return spmm_algorithm(Extent::any("M"), Extent::any("K"), Extent::any("N", multiple), dtype);
}

std::string all_of(const std::vector<Proof>& proofs) {
  std::string text;
  for (const Proof& proof : proofs) text += text_of(proof) + "\n";
  return text;
}

void expect_proved(const Schedule& schedule) {
  const std::vector<Proof> proofs = prove(schedule);
  ASSERT_FALSE(proofs.empty());
  for (const Proof& proof : proofs) {
    EXPECT_EQ(proof.outcome, ProofOutcome::proved) << text_of(proof) << "\n" << schedule.cpp();
  }
  fmt::print("{}: {}\n", schedule.target().name, summary_of(proofs));
}

TEST(Proofs, DefaultSchedulesOfAnyShape) {
  for (const std::string format : {"csr", "padded_csr", "bcsr:b=16", "bitmap"}) {
    SCOPED_TRACE(format);
    const SharedWeights example = weights_of(64, 64, DType::f32, format);
    for (const std::string target : {"cpu", "sm_80"})
      expect_proved(default_schedule(any_product(DType::f32, 1), example, target_named(target)));
  }
}

TEST(Proofs, TensorCoresOfAnyShape) {
  for (const std::string format : {"shfl_bw:V=64,k=32", "vector_wise:V=32,k=16"}) {
    SCOPED_TRACE(format);
    const SharedWeights example = weights_of(128, 64, DType::f16, format);
    for (const std::string target : {"sm_75", "sm_80"})
      expect_proved(shfl_bw(any_product(DType::f16, 8), example, target_named(target)));
  }
}

TEST(Proofs, TensorCoresOfAShape) {
  for (const std::int64_t group : {64, 128}) {
    const SharedWeights weights = weights_of(512, 200, DType::f16, fmt::format("shfl_bw:V={},k=64", group));
    expect_proved(shfl_bw(spmm_algorithm(512, 200, 1000, DType::f16), weights, target_named("sm_90a")));
  }
}

/// Which tile a block takes is a quotient by a number of the launch there.
TEST(Proofs, NothingIsRefutedOfBlocksThatGoThroughTilesOfAnyShape) {
  const SharedWeights example = weights_of(128, 64, DType::f16, "shfl_bw:V=64,k=32");
  const std::vector<Proof> proofs =
      prove(shfl_bw(any_product(DType::f16, 8), example, target_named("sm_90a")));
  fmt::print("sm_90a: {}\n", summary_of(proofs));
  for (const Proof& proof : proofs) EXPECT_NE(proof.outcome, ProofOutcome::refuted) << text_of(proof);
  EXPECT_GT(std::ranges::count(proofs, ProofOutcome::proved, &Proof::outcome), 40);
}

TEST(Proofs, GroupsThatShareASum) {
  const SharedWeights weights = weights_of(256, 200, DType::f16, "shfl_bw:V=64,k=32");
  // Whether one of the blocks is the last to come is a matter of time, which is not modelled.
  for (const Proof& proof : prove(shfl_bw(spmm_algorithm(256, 200, 136, DType::f16), weights,
                                          target_named("sm_90a"), {.groups = 2, .blocks = 0})))
    EXPECT_TRUE(proof.outcome == ProofOutcome::proved || proof.claim == Claim::all_written) << text_of(proof);
  const SharedWeights single = weights_of(100, 70, DType::f32, "csr");
  expect_proved(sparsert(spmm_algorithm(100, 70, 49, DType::f32), single, target_named("sm_80"),
                         {.form = SparseRtForm::row_per_warp, .groups = 4}));
}

TEST(Proofs, UnstructuredWeights) {
  const SharedWeights weights = weights_of(100, 70, DType::f32, "csr");
  const Algorithm product = spmm_algorithm(100, 70, Extent::any("N"), DType::f32);
  expect_proved(sparsert(product, weights, target_named("sm_80"), {.form = SparseRtForm::streaming}));
  expect_proved(sparsert(product, weights, target_named("sm_80"), {.form = SparseRtForm::row_per_warp}));
}

/// The program with each store of C changed.
ir::Program with_stores(const ir::Program& program, const std::function<ir::Stmt(const ir::Store&)>& change) {
  ir::Rewriter rewriter;
  rewriter.on_stmt = [&](const ir::Stmt& stmt) {
    const auto* store = stmt.as<ir::Store>();
    return store != nullptr && store->buffer->name == "C" ? change(*store) : stmt;
  };
  ir::Program changed = program;
  changed.body = rewriter(program.body);
  return changed;
}

bool refutes(const std::vector<Proof>& proofs, Claim claim) {
  return std::ranges::any_of(proofs, [&](const Proof& proof) {
    return proof.claim == claim && proof.outcome == ProofOutcome::refuted && !proof.witness.empty();
  });
}

class WrongPrograms : public testing::Test {
 protected:
  SharedWeights weights_ = weights_of(64, 64, DType::f16, "shfl_bw:V=16,k=16");
  Algorithm algorithm_ = any_product(DType::f16, 1);
  Schedule schedule_ = shfl_bw(algorithm_, weights_, target_named("sm_80"));

  std::vector<Proof> of(const std::function<ir::Stmt(const ir::Store&)>& change) {
    return prove(with_stores(schedule_.program(), change), algorithm_, weights_.get());
  }
};

TEST_F(WrongPrograms, AColumnTooFar) {
  const auto proofs = of([](const ir::Store& store) {
    return ir::store(store.buffer, {store.indices[0], store.indices[1] + 1}, store.value);
  });
  EXPECT_TRUE(refutes(proofs, Claim::inside)) << all_of(proofs);
}

TEST_F(WrongPrograms, TwoColumnsInOne) {
  const auto proofs = of([](const ir::Store& store) {
    return ir::store(store.buffer, {store.indices[0], store.indices[1] / 2}, store.value);
  });
  EXPECT_TRUE(refutes(proofs, Claim::written_once)) << all_of(proofs);
}

TEST_F(WrongPrograms, RowsWithoutTheirOrder) {
  const auto proofs = of([](const ir::Store& store) {
    const auto* order = store.indices[0].as<ir::Load>();
    EXPECT_NE(order, nullptr);
    return ir::store(store.buffer, {order->indices.front(), store.indices[1]}, store.value);
  });
  EXPECT_TRUE(refutes(proofs, Claim::inside)) << all_of(proofs);
}

TEST_F(WrongPrograms, EveryOtherColumnAlone) {
  const auto proofs = of([](const ir::Store& store) {
    return ir::if_then(ir::equal(store.indices[1] % 2, 0),
                       ir::store(store.buffer, store.indices, store.value));
  });
  const auto whole = std::ranges::find(proofs, Claim::all_written, &Proof::claim);
  ASSERT_NE(whole, proofs.end());
  EXPECT_NE(whole->outcome, ProofOutcome::proved);
}

TEST_F(WrongPrograms, AGuardThatIsMissing) {
  ir::Rewriter rewriter;
  rewriter.on_stmt = [](const ir::Stmt& stmt) {
    const auto* branch = stmt.as<ir::If>();
    return branch != nullptr ? branch->then : stmt;
  };
  ir::Program changed = schedule_.program();
  changed.body = rewriter(changed.body);
  EXPECT_TRUE(refutes(prove(changed, algorithm_, weights_.get()), Claim::inside));
}

}  // namespace
}  // namespace weft
