// Sums that groups of threads share: right by their meaning, as PTX and as CUDA source's twin, for any count.
#include <gtest/gtest.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/ir/print.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <map>
#include <string>

namespace weft {
namespace {

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

struct Shape {
  std::int64_t rows, inner, columns;
};

std::shared_ptr<const SparseTensor> weights_of(const Shape& shape, double sparsity, const Format& format) {
  return std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = shape.rows, .columns = shape.inner, .sparsity = sparsity, .seed = 4}),
           format));
}

void expect_right(const Schedule& schedule, const Shape& shape) {
  SCOPED_TRACE(schedule.cpp() + "\n" + ir::print(schedule.program()));
  std::map<std::string, Array> arrays{{"B", random_array(DType::f32, {shape.inner, shape.columns}, 3)},
                                      {"C", random_array(DType::f32, {shape.rows, shape.columns}, 4)},
                                      {"bias", random_array(DType::f32, {shape.rows}, 5)}};
  Arguments arguments;
  for (const Operand& operand : schedule.algorithm().operands) {
    if (operand.storage != Storage::sparse) arguments.tensors[operand.name] = &arrays.at(operand.name);
  }
  for (const std::string& scalar : schedule.algorithm().scalars) arguments.scalars[scalar] = -1.5;
  for (const bool by_meaning : {true, false}) {
    KernelOptions options;
    options.by_meaning = by_meaning;
    options.assemble = false;
    const Kernel kernel = compile(schedule, options);
    for (const std::uint64_t seed : {1, 2}) {
      const Device device = by_meaning ? Device::cpu() : Device::simulator("sm_80");
      if (!by_meaning) simulator::options(device).launch.seed = seed;
      const Verification verification = verify(kernel, device, arguments);
      EXPECT_TRUE(verification.passed) << verification.text();
      if (by_meaning) break;
    }
  }
}

TEST(SplitK, AnyNumberOfGroupsInEveryFormat) {
  for (const Shape& shape : {Shape{9, 37, 33}, Shape{1, 1, 1}, Shape{4, 60, 70}}) {
    for (const Format& format : {formats::csr(), formats::ell(), formats::dense()}) {
      for (const std::int64_t count : {1, 2, 3, 8, 31}) {
        Epilogue epilogue;
        epilogue.alpha = epilogue.beta = epilogue.bias = true;
        epilogue.activation = Activation::relu;
        Schedule s = schedule(spmm_algorithm(shape.rows, shape.inner, shape.columns, DType::f32, epilogue),
                              weights_of(shape, 0.7, format), target_named("sm_80"));
        s.split(m = 4, n = 32)
            .reorder(m.outer, n.outer, n.inner, m.inner)
            .bind(m.outer, block_y)
            .bind(n.outer, block_x)
            .bind(n.inner, lane)
            .split_k(k, groups = count)
            .bind("k.group", warp);
        expect_right(s, shape);
      }
    }
  }
}

TEST(SplitK, BakedEntriesAreDealtByColumns) {
  struct Case {
    Shape shape;
    double sparsity;
    std::int64_t rows, warps, columns, count;
  };
  for (const Case& each : {Case{{9, 37, 33}, 0.7, 4, 1, 1, 3}, Case{{1, 1, 1}, 0, 1, 1, 1, 2},
                           Case{{21, 60, 70}, 0.8, 8, 1, 2, 4}, Case{{13, 40, 49}, 0.9, 16, 1, 1, 16},
                           Case{{6, 9, 31}, 1.0, 4, 1, 1, 2}, Case{{40, 64, 65}, 0.8, 5, 2, 1, 4}}) {
    for (const bool open : {false, true}) {
      Epilogue epilogue;
      epilogue.alpha = epilogue.beta = epilogue.bias = true;
      epilogue.activation = Activation::relu;
      const Algorithm algorithm =
          spmm_algorithm(each.shape.rows, each.shape.inner,
                         open ? Extent::any("N") : Extent(each.shape.columns), DType::f32, epilogue);
      Schedule s =
          schedule(algorithm, weights_of(each.shape, each.sparsity, formats::csr()), target_named("sm_80"));
      s.split(m = each.rows * each.warps, n = 32 * each.columns)
          .split(m.inner = each.rows)
          .split(n.inner = 32)
          .reorder(n.outer, m.outer, m.inner.outer, n.inner.inner, m.inner.inner, k, n.inner.outer)
          .bind(n.outer, block_x)
          .bind(m.outer, block_y)
          .bind(n.inner.inner, lane);
      if (each.warps > 1) s.bind(m.inner.outer, warp);
      s.split_k(k, groups = each.count).bind("k.group", warp);
      if (each.rows < 16) expect_right(s, each.shape);
      s.bake_values(m.inner.inner);
      expect_right(s, each.shape);
    }
  }
}

TEST(SplitK, ColumnsInsideTheSum) {
  const Shape shape{7, 50, 100};
  Schedule s = schedule(spmm_algorithm(7, 50, Extent::any("N"), DType::f32),
                        weights_of(shape, 0.8, formats::csr()), target_named("sm_80"));
  s.split(n = 64).split(n.inner = 32).reorder(m, n.outer, n.inner.inner, k, n.inner.outer);
  s.bind(m, block_y).bind(n.outer, block_x).bind(n.inner.inner, lane).split_k(k, groups = 4);
  expect_right(s, shape);
  s.bind("k.group", warp);
  expect_right(s, shape);
}

/// The loop over k begins elsewhere for every group, and so does the tile.
TEST(SplitK, TilesOfAGroupBeginWhereItsShareDoes) {
  const Shape shape{6, 24, 40};
  Schedule s = schedule(spmm_algorithm(6, 24, 40, DType::f32), weights_of(shape, 0.5, formats::dense()),
                        target_named("sm_80"));
  s.bind(m, block_y).split_k(k, groups = 3).stage("A", shared, at = "k.group");
  expect_right(s, shape);
}

/// Groups that are blocks, at any place among the loops, baked and not.
Schedule between_blocks(const Algorithm& algorithm, const std::shared_ptr<const SparseTensor>& weights,
                        std::int64_t count, Word reduction, bool baked) {
  Schedule s = schedule(algorithm, weights, target_named("sm_80"));
  s.split(m = 4, n = 32)
      .reorder(m.outer, n.outer, n.inner, m.inner)
      .bind(m.outer, block_y)
      .bind(n.outer, block_x)
      .bind(n.inner, lane)
      .split_k(k, groups = count, reduce = reduction)
      .bind("k.group", block_z);
  if (baked) s.bake_values(m.inner);
  return s;
}

TEST(SplitK, AcrossBlocks) {
  Epilogue epilogue;
  epilogue.alpha = epilogue.beta = epilogue.bias = true;
  epilogue.activation = Activation::relu;
  for (const Shape& shape : {Shape{9, 37, 33}, Shape{1, 1, 1}, Shape{4, 60, 70}}) {
    for (const Word reduction : {second_pass, atomic}) {
      for (const std::int64_t count : {std::int64_t{1}, std::int64_t{2}, std::int64_t{7}, shape.inner}) {
        for (const bool baked : {false, true}) {
          const Algorithm algorithm =
              spmm_algorithm(shape.rows, shape.inner, baked ? Extent::any("N") : Extent(shape.columns),
                             DType::f32, epilogue);
          expect_right(
              between_blocks(algorithm, weights_of(shape, 0.7, formats::csr()), count, reduction, baked),
              shape);
        }
      }
    }
  }
}

/// A thread's columns inside the sum, warps of rows, and rows in an order of their own.
TEST(SplitK, AcrossBlocksOfSeveralWarpsAndColumns) {
  const Shape shape{21, 40, 90};
  for (const Word reduction : {second_pass, atomic}) {
    for (const int form : {0, 1, 2}) {
      Schedule s = schedule(spmm_algorithm(21, 40, 90, DType::f32),
                            weights_of(shape, 0.8, formats::csr({.order = RowOrder::dealt, .rows = 4})),
                            target_named("sm_80"));
      s.split(m = 8, n = 64)
          .split(m.inner = 4)
          .split(n.inner = 32)
          .reorder(n.outer, m.outer, m.inner.outer, n.inner.inner, m.inner.inner, k, n.inner.outer)
          .bind(n.outer, block_x)
          .bind(m.outer, block_y)
          .bind(m.inner.outer, warp)
          .bind(n.inner.inner, lane)
          .split_k(k, groups = 3, reduce = reduction)
          .bind("k.group", block_z);
      if (form == 1) s.vectorize(n.inner.outer);
      if (form == 2) s.bake_values(m.inner.inner);
      expect_right(s, shape);
    }
  }
}

/// Blocks of rows behind the last row count no arrivals.
/// A thread has 16 sums, whose parts of all groups no registers hold.
TEST(SplitK, PartsOfManySumsComeInTurns) {
  const Shape shape{9, 90, 600};
  for (const auto& [count, turns] : {std::pair{16, 2}, {15, 3}, {8, 0}, {13, 13}}) {
    Schedule s = schedule(spmm_algorithm(9, 90, 600, DType::f32), weights_of(shape, 0.5, formats::csr()),
                          target_named("sm_80"));
    s.split(m = 4, n = 512)
        .split(n.inner = 32)
        .reorder(n.outer, m.outer, n.inner.inner, m.inner, k, n.inner.outer)
        .bind(n.outer, block_x)
        .bind(m.outer, block_y)
        .bind(n.inner.inner, lane)
        .split_k(k, groups = count, reduce = second_pass)
        .bind("k.group", block_z);
    const std::string text = ir::print(s.program());
    EXPECT_EQ(text.find("k.turn in 0 .. " + std::to_string(turns)) != std::string::npos, turns > 0) << text;
    EXPECT_EQ(text.find("k.turn") != std::string::npos, turns > 0) << text;
    expect_right(s, shape);
  }
}

TEST(SplitK, AcrossBlocksOfRowsThatAreNotThere) {
  const Shape shape{37, 24, 5};
  Schedule s = schedule(spmm_algorithm(37, 24, 5, DType::f32), weights_of(shape, 0.7, formats::csr()),
                        target_named("sm_80"));
  s.split_k(k, groups = 3, reduce = second_pass)
      .split(m = 32)
      .split(m.inner = 2)
      .reorder(m.outer, n, m.inner.outer, m.inner.inner)
      .bind(m.outer, block_x)
      .bake_values(m.inner.inner);
  expect_right(s, shape);
}

/// What one launch leaves in the workspaces, the next one begins with.
TEST(SplitK, AcrossBlocksLaunchAfterLaunch) {
  const Shape shape{9, 37, 33};
  for (const Word reduction : {second_pass, atomic}) {
    const Schedule s = between_blocks(spmm_algorithm(9, 37, 33, DType::f32),
                                      weights_of(shape, 0.7, formats::csr()), 5, reduction, true);
    KernelOptions options;
    options.assemble = false;
    Array b = random_array(DType::f32, {37, 33}, 3), c(DType::f32, {9, 33}), first(DType::f32, {9, 33});
    const Device device = Device::simulator("sm_80");
    const BoundKernel bound = compile(s, options).bind(device, Arguments{{{"B", &b}, {"C", &c}}, {}});
    for (int launch = 0; launch < 4; ++launch) {
      bound.poison_output();
      bound.launch({});
      bound.download("C", c);
      if (launch == 0) bound.download("C", first);
      for (std::int64_t i = 0; i < c.size(); ++i) ASSERT_NEAR(c.get(i), first.get(i), 1e-5) << launch;
    }
  }
}

/// The fences around the count are what orders blocks: without either of them the simulator complains.
TEST(SplitK, AcrossBlocksNeedsItsFences) {
  const Shape shape{9, 37, 33};
  KernelOptions options;
  options.assemble = false;
  const Kernel kernel = compile(between_blocks(spmm_algorithm(9, 37, 33, DType::f32),
                                               weights_of(shape, 0.7, formats::csr()), 5, second_pass, true),
                                options);
  Array b = random_array(DType::f32, {37, 33}, 3), c(DType::f32, {9, 33});
  const std::string fence = "membar.gl;", ptx = kernel.ptx();
  int fences = 0;
  for (auto at = ptx.find(fence); at != std::string::npos; at = ptx.find(fence, at + 1), ++fences) {
    std::string without = ptx;
    without.erase(at, fence.size());
    try {
      kernel.with_ptx(without)(Device::simulator("sm_80"), Arguments{{{"B", &b}, {"C", &c}}, {}});
      ADD_FAILURE() << "nothing found without fence " << fences;
    } catch (const RuntimeError& error) {
      EXPECT_NE(std::string(error.what()).find("race"), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(fences, 2);
}

TEST(SplitK, AcrossBlocksInCudaSource) {
  const Shape shape{9, 37, 33};
  for (const Word reduction : {second_pass, atomic}) {
    const Schedule s = between_blocks(spmm_algorithm(9, 37, 33, DType::f32),
                                      weights_of(shape, 0.7, formats::csr()), 5, reduction, false);
    KernelOptions options;
    options.assemble = false;
    const Kernel kernel = compile(s, options);
    const std::string text = kernel.cuda_source();
    EXPECT_NE(text.find("if (last_arrival(sum_arrivals["), std::string::npos) << text;
    EXPECT_NE(text.find("float* sum_parts"), std::string::npos) << text;
    EXPECT_EQ(text.find("atomicAdd(&sum_parts[") != std::string::npos, reduction.text == "atomic") << text;
    EXPECT_NE(kernel.ptx().find("membar.gl"), std::string::npos);
    EXPECT_NE(kernel.ptx().find("atom.global.add.u32"), std::string::npos);
    // A package clears these in every launch, and the parts of many groups are many bytes.
    std::map<std::string, bool> zeros;
    for (const ir::BufferRef& workspace : kernel.lowered().program.workspaces)
      zeros[workspace->name] = workspace->begins_as_zero;
    EXPECT_EQ(zeros, (std::map<std::string, bool>{{"sum.arrivals", true},
                                                  {"sum.parts", reduction.text == "atomic"}}));
    if (!cuda::compiler_status().found()) continue;
    options.emitter = Emitter::cuda;
    Array b = random_array(DType::f32, {37, 33}, 3), c(DType::f32, {9, 33});
    const Verification verification =
        verify(compile(s, options), Device::simulator("sm_80"), Arguments{{{"B", &b}, {"C", &c}}, {}});
    EXPECT_TRUE(verification.passed) << verification.text();
  }
}

TEST(SplitK, RefusesOtherAxesForGroupsOfBlocks) {
  const Shape shape{9, 37, 33};
  Schedule s = schedule(spmm_algorithm(9, 37, 33, DType::f32), weights_of(shape, 0.7, formats::csr()),
                        target_named("sm_80"));
  const auto found = [&](const Step& step) {
    const auto reason = Schedule(s).try_apply(step);
    return reason ? reason->found + " | " + reason->accepted : std::string("none");
  };
  const auto split = [](const std::string& reduction) {
    return Step{"split_k", {{"", std::string("k")}, {"groups", std::int64_t{3}}, {"reduce", reduction}}, {}};
  };
  EXPECT_EQ(found(split("second_pass")), "none");
  EXPECT_NE(found(split("tree")).find("shared, atomic or second_pass"), std::string::npos);
  s.balance(m, parts = 2);
  EXPECT_NE(found(split("atomic")).find("sizes that the launch knows"), std::string::npos);
  s = schedule(s.algorithm(), s.shared_weights(), s.target());
  s.split_k(k, groups = 3, reduce = atomic);
  const auto bind = [](const std::string& loop, const std::string& axis) {
    return Step{"bind", {{"", loop}, {"", axis}}, {}};
  };
  EXPECT_EQ(found(bind("k.group", "block_x")), "none");
  EXPECT_NE(found(bind("k.group", "warp")).find("reduce = shared"), std::string::npos);
  EXPECT_NE(found(bind("n", "thread")).find("before split_k"), std::string::npos);
}

/// Parts of rows are of different lengths: threads with one each would meet at different barriers.
TEST(SplitK, RefusesLoopsThatAreLongerForSomeThreads) {
  Schedule s = schedule(spmm_algorithm(9, 37, 33, DType::f32), weights_of({9, 37, 33}, 0.7, formats::ell()),
                        target_named("sm_80"));
  s.balance(m, parts = 2);
  Schedule lanes = s, blocks = s;
  lanes.bind(m.outer, lane);
  const Step split{"split_k", {{"", std::string("k")}, {"groups", std::int64_t{3}}}, {}};
  const auto refused = lanes.try_apply(split);
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->found.find("m.inner around the sum"), std::string::npos) << refused->found;
  EXPECT_NE(refused->accepted.find(".bind(m.outer, block_x)"), std::string::npos) << refused->accepted;
  blocks.bind(m.outer, block_x);
  EXPECT_FALSE(blocks.try_apply(split));
  Array b = random_array(DType::f32, {37, 33}, 3), c(DType::f32, {9, 33});
  const Verification verification =
      verify(compile(blocks), Device::simulator("sm_80"), Arguments{{{"B", &b}, {"C", &c}}, {}});
  EXPECT_TRUE(verification.passed) << verification.text();
}

/// Blocks inside the sum would all count the arrival of their group.
TEST(SplitK, RefusesBlocksInsideTheSum) {
  const Schedule s = schedule(spmm_algorithm(9, 37, 33, DType::f32),
                              weights_of({9, 37, 33}, 0.7, formats::csr()), target_named("sm_80"));
  const Step bind{"bind", {{"", std::string("n")}, {"", std::string("block_y")}}, {}};
  for (const std::string reduction : {"second_pass", "atomic"}) {
    const Step split{
        "split_k", {{"", std::string("k")}, {"groups", std::int64_t{3}}, {"reduce", reduction}}, {}};
    Schedule inside = s;
    inside.reorder(m, k, n);
    Schedule bound = inside, around = s, shared_bound = s, shared_split = s;
    EXPECT_FALSE(inside.try_apply(split));
    const auto late = inside.try_apply(bind);
    ASSERT_TRUE(late);
    EXPECT_NE(late->found.find("count a group's arrival"), std::string::npos) << late->found;
    EXPECT_FALSE(bound.try_apply(bind));
    const auto early = bound.try_apply(split);
    ASSERT_TRUE(early);
    EXPECT_NE(early->accepted.find("n around k when it is bound"), std::string::npos) << early->accepted;
    // What the refusals propose.
    EXPECT_FALSE(around.try_apply(bind));
    EXPECT_FALSE(around.try_apply(split));
    const Step in_shared{"split_k", {{"", std::string("k")}, {"groups", std::int64_t{3}}}, {}};
    for (Schedule* each : {&shared_bound, &shared_split}) {
      each->reorder(m, k, n);
      const bool is_bound_first = each == &shared_bound;
      EXPECT_FALSE(each->try_apply(is_bound_first ? bind : in_shared));
      EXPECT_FALSE(each->try_apply(is_bound_first ? in_shared : bind));
      Array b = random_array(DType::f32, {37, 33}, 3), c(DType::f32, {9, 33});
      const Verification verification =
          verify(compile(*each), Device::simulator("sm_80"), Arguments{{{"B", &b}, {"C", &c}}, {}});
      EXPECT_TRUE(verification.passed) << verification.text();
    }
  }
}

/// Run by their meaning, threads would each count the arrival of a group around them.
TEST(SplitK, RefusesThreadsInsideGroupsThatMeetBetweenBlocks) {
  const Shape shape{42, 65, 1};
  for (const Word reduction : {second_pass, atomic}) {
    Schedule s = schedule(spmm_algorithm(shape.rows, shape.inner, shape.columns, DType::f32),
                          weights_of(shape, 0.8, formats::csr()), target_named("sm_80"));
    s.bind(m, thread).split_k(k, groups = 5, reduce = reduction);
    const auto reorder = [](const std::string& outer, const std::string& inner) {
      return Step{"reorder", {{"", outer}, {"", inner}}, {}};
    };
    const auto refused = s.try_apply(reorder("k.group", "m"));
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->precondition, 9);
    EXPECT_NE(refused->found.find("m, bound to thread, would stand inside k.group"), std::string::npos)
        << refused->found;
    EXPECT_NE(refused->accepted.find(".reorder(m, \"k.group\")"), std::string::npos) << refused->accepted;
    EXPECT_FALSE(s.try_apply(reorder("k.group", "n")));
    EXPECT_FALSE(s.try_apply(reorder("m", "k.group")));
    expect_right(s, shape);
    s.bind("k.group", block_x);
    expect_right(s, shape);
  }
}

TEST(SplitK, OnTheCpu) {
  const Shape shape{7, 50, 30};
  Schedule s = schedule(spmm_algorithm(7, 50, 30, DType::f32), weights_of(shape, 0.8, formats::csr()),
                        target_named("cpu"));
  Schedule in_order = s, added = s;
  s.split_k(k, groups = 3);
  in_order.parallel(m).split_k(k, groups = 3, reduce = second_pass);
  added.parallel(m).split_k(k, groups = 3, reduce = atomic);
  for (const Schedule* each : {&s, &in_order, &added}) {
    KernelOptions options;
    Array b = random_array(DType::f32, {50, 30}, 3), c(DType::f32, {7, 30});
    const Verification verification =
        verify(compile(*each, options), Device::cpu(), Arguments{{{"B", &b}, {"C", &c}}, {}});
    EXPECT_TRUE(verification.passed) << verification.text();
  }
}

// Baking moves the rows into loops of their own, and the sums of all groups are added up outside of these.
TEST(SplitK, RefusesBlocksThatEachHaveAPartOfTheSharedSums) {
  Schedule s = schedule(spmm_algorithm(14, 40, 11, DType::f32),
                        weights_of({14, 40, 11}, 0.7, formats::hb_ell()), target_named("sm_80"));
  s.split_k("k.place", groups = 3);
  s.bake_values("m.row", code_bytes = 8192);
  const Step bind{"bind", {{"", std::string("m.row")}, {"", std::string("block_z")}}, {}};
  const auto refused = s.try_apply(bind);
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->found.find("other blocks have another shared memory"), std::string::npos)
      << refused->found;
}

// Written out for each part of the groups, sums would have lost the groups that choose their entries.
TEST(SplitK, BakesRowsAndNotPartsOfTheGroups) {
  for (const Word reduction : {shared, second_pass}) {
    Schedule s = schedule(spmm_algorithm(14, 40, 11, DType::f32),
                          weights_of({14, 40, 11}, 0.7, formats::csr()), target_named("sm_80"));
    s.split_k(k, groups = 3, reduce = reduction).split(LoopFactor{LoopName("k.group"), 2});
    for (const std::string part : {"k.group.outer", "k.group.inner"}) {
      const auto refused = s.try_apply(Step{"bake_values", {{"", part}}, {}});
      ASSERT_TRUE(refused) << part;
      EXPECT_EQ(refused->found, part + " goes over groups that share a sum");
      EXPECT_NE(refused->accepted.find("one of m, n"), std::string::npos) << refused->accepted;
    }
    expect_right(s, {14, 40, 11});
  }
}

// A group of one iteration: its loop ends where an element of the vector says, once the iteration's number is
// that of the group.
TEST(SplitK, GroupsThatAreAVectorMayHaveLengthsOfTheirOwn) {
  const Shape shape{6, 225, 5};
  Schedule s = schedule(spmm_algorithm(shape.rows, shape.inner, shape.columns, DType::f32),
                        weights_of(shape, 0.2, parse_format("hb_ell:every=8")), target_named("cpu"));
  s.split_k("k.block", groups = 16);
  s.vectorize("k.block.group");
  s.split("k.place", 4, "k.block", 8);
  Array b = random_array(DType::f32, {shape.inner, shape.columns}, 3),
        c(DType::f32, {shape.rows, shape.columns});
  const Verification verification = verify(compile(s), Device::cpu(), Arguments{{{"B", &b}, {"C", &c}}, {}});
  EXPECT_TRUE(verification.passed) << verification.text();
}

// Parts of a sum that an unrolled loop around the parallel one writes out: each thread has its own.
TEST(SplitK, ThreadsShareNoPartsOnTheCpu) {
  const Shape shape{2048, 200, 3};
  Schedule s = schedule(spmm_algorithm(shape.rows, shape.inner, shape.columns, DType::f32),
                        weights_of(shape, 0.5, formats::csr()), target_named("cpu"));
  s.split(n = 4).reorder(n.inner, m, k).unroll(n.inner).parallel(m).split_k(k, groups = 40);
  KernelOptions options;
  options.threads = 8;
  const Kernel kernel = compile(s, options);
  Array b = random_array(DType::f32, {shape.inner, shape.columns}, 3),
        c(DType::f32, {shape.rows, shape.columns});
  for (int i = 0; i < 20; ++i) {
    const Verification verification = verify(kernel, Device::cpu(), Arguments{{{"B", &b}, {"C", &c}}, {}});
    ASSERT_TRUE(verification.passed) << verification.text();
  }
}

}  // namespace
}  // namespace weft
