// What hand-built programs ask of a device, number by number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/scheduler/limits/resource_constraints.h>

namespace weft {
namespace {

using ir::Expr;
using ir::LoopKind;
using ir::Stmt;

const Expr tile = ir::variable("tile");
const Expr stages = ir::variable("stages");

Stmt loop(const std::string& name, LoopKind kind, const Expr& extent, const Stmt& body) {
  return ir::for_loop({name, 0, extent, kind, -1, body});
}

ir::BufferRef buffer(const std::string& name, DType dtype, ir::Scope scope, std::vector<Expr> shape) {
  return ir::make_buffer(name, dtype, scope, ir::Access::read_write, std::move(shape));
}

Stmt zero(const ir::BufferRef& target, std::vector<Expr> indices) {
  return ir::store(target, std::move(indices),
                   is_float(target->dtype) ? ir::constant(target->dtype, 0) : Expr(0));
}

ir::Program program(Stmt body) {
  ir::Program result;
  result.name = "hand_built";
  result.extents = {{"N"}};
  result.knobs = {{"tile", {16, 32, 64, 128}}, {"stages", {1, 2, 3, 4, 5, 6}}};
  result.body = std::move(body);
  return result;
}

/// Name -> {left, limit} at a point.
using Numbers = std::map<std::string, std::pair<std::int64_t, std::int64_t>>;

Numbers numbers(const ir::Program& p, const std::string& target, const KnobValues& values = {},
                std::int64_t resident_blocks = 1) {
  Numbers result;
  for (const Constraint& constraint : resource_constraints(p, target_named(target), resident_blocks)) {
    EXPECT_EQ(result.count(constraint.name), 0u) << constraint.name << " stands twice";
    result[constraint.name] = {evaluate(constraint.left, values), evaluate(constraint.limit, values)};
  }
  return result;
}

using P = std::pair<std::int64_t, std::int64_t>;

/// Blocks over N, 8 warps of 32 lanes, a staged tile of A and accumulators of 4 x 2 a thread.
ir::Program staged() {
  const auto a = buffer("A.shared", DType::f32, ir::Scope::shared, {stages, tile, Expr(32)});
  const auto rows = buffer("rows", DType::i32, ir::Scope::shared, {Expr(33)});
  const auto sum = buffer("sum", DType::f32, ir::Scope::registers, {Expr(8), Expr(32), tile / 16, Expr(2)});
  const Stmt inner = zero(sum, {ir::variable("w"), ir::variable("l"), 0, 1});
  const Stmt again = loop("w", LoopKind::warp, 8, loop("l", LoopKind::lane, 32, inner));
  return program(
      loop("n.outer", LoopKind::block_x, ir::ceil_divide(ir::variable("N"), tile),
           loop("m.outer", LoopKind::block_y, ir::ceil_divide(Expr(1000), tile),
                ir::allocate(a, ir::allocate(rows, ir::allocate(sum, ir::block({again, again})))))));
}

TEST(ResourceConstraints, StagedProgramOnAGpu) {
  const Numbers found = numbers(staged(), "sm_86", {{"tile", 64}, {"stages", 3}});
  EXPECT_THAT(found, testing::ContainerEq(Numbers{
                         {"lanes", P{32, 32}},
                         {"warps", P{8, 32}},
                         {"threads", P{256, 1024}},
                         {"grid y", P{16, 65535}},
                         // 3 * 64 * 32 * 4, and 33 * 4 in units of 16.
                         {"shared memory", P{24576 + 144, 101376}},
                         {"registers", P{8, 255 - reserved_registers}},
                         // 8 + 24 registers for each of 256 threads.
                         {"registers of a multiprocessor", P{32 * 256, 65536}},
                     }));
}

TEST(ResourceConstraints, PartsAddUp) {
  const KnobValues values{{"tile", 128}, {"stages", 6}};
  int sums = 0;
  for (const Constraint& constraint : resource_constraints(staged(), target_named("sm_80"))) {
    if (constraint.parts.empty()) continue;
    std::int64_t sum = 0;
    for (const auto& [name, part] : constraint.parts) sum += evaluate(part, values);
    EXPECT_EQ(sum, evaluate(constraint.left, values)) << constraint.name;
    ++sums;
    if (constraint.name == "shared memory") {
      ASSERT_EQ(constraint.parts.size(), 2u);
      EXPECT_EQ(constraint.parts[0].first, "A.shared");
      EXPECT_EQ(evaluate(constraint.parts[0].second, values), 98304);
    }
  }
  EXPECT_EQ(sums, 2);
}

TEST(ResourceConstraints, SeveralBlocksOnAMultiprocessor) {
  const Numbers found = numbers(staged(), "sm_86", {{"tile", 64}, {"stages", 3}}, 2);
  EXPECT_EQ(found.at("shared memory of a multiprocessor"), (P{2 * (24720 + 1024), 102400}));
  EXPECT_EQ(found.at("registers of a multiprocessor"), (P{2 * 32 * 256, 65536}));
  EXPECT_EQ(found.at("threads of a multiprocessor"), (P{512, 1536}));
  EXPECT_EQ(found.at("blocks of a multiprocessor"), (P{2, 16}));
}

TEST(ResourceConstraints, NumbersKnownOnlyAtLaunchAreLeftOut) {
  const auto unknown = buffer("unknown", DType::f32, ir::Scope::shared, {ir::variable("N")});
  const Numbers found = numbers(
      program(loop("n", LoopKind::block_x, ir::variable("N"), ir::allocate(unknown, zero(unknown, {0})))),
      "sm_90");
  EXPECT_EQ(found, (Numbers{{"threads", P{1, 1024}}}));
}

TEST(ResourceConstraints, ThreadsOfEveryShapeOfBlock) {
  const auto out = buffer("C", DType::f32, ir::Scope::global, {Expr(4)});
  const Stmt store = zero(out, {0});
  const auto threads = [](const Stmt& body) {
    return evaluate(threads_per_block_of(program(body)), {{"tile", 64}});
  };
  EXPECT_EQ(threads(store), 1);
  EXPECT_EQ(threads(loop("l", LoopKind::lane, 8, store)), 32);
  EXPECT_EQ(threads(loop("w", LoopKind::warp, 4, loop("l", LoopKind::lane, 8, store))), 128);
  EXPECT_EQ(threads(loop("t", LoopKind::thread, tile, store)), 64);
  // Inside one another they multiply, beside one another they share the threads.
  EXPECT_EQ(threads(loop("t", LoopKind::thread, tile, loop("u", LoopKind::thread, 3, store))), 192);
  EXPECT_EQ(
      threads(ir::block({loop("t", LoopKind::thread, tile, store), loop("u", LoopKind::thread, 96, store)})),
      96);
  EXPECT_EQ(threads(ir::block(
                {loop("t", LoopKind::thread, tile, store), loop("t", LoopKind::thread, tile, store)})),
            64);
  EXPECT_FALSE(
      threads_per_block_of(program(loop("t", LoopKind::thread, ir::variable("N"), store))).defined());
}

TEST(ResourceConstraints, RegistersOfBuffersThatThreadsShareOut) {
  const auto registers = [](const ir::BufferRef& sum, std::vector<Expr> indices) {
    const Stmt body = loop("t", LoopKind::thread, 64, ir::allocate(sum, zero(sum, std::move(indices))));
    return numbers(program(body), "sm_80", {{"tile", 32}}).at("registers").first;
  };
  const Expr t = ir::variable("t");
  EXPECT_EQ(registers(buffer("s", DType::f32, ir::Scope::registers, {Expr(64), Expr(10)}), {t, 3}), 10);
  EXPECT_EQ(registers(buffer("s", DType::f64, ir::Scope::registers, {Expr(10)}), {3}), 20);
  EXPECT_EQ(registers(buffer("s", DType::f16, ir::Scope::registers, {Expr(5)}), {3}), 3);
  EXPECT_EQ(registers(buffer("s", DType::f32, ir::Scope::registers, {}), {}), 1);
  EXPECT_EQ(registers(buffer("s", DType::f32, ir::Scope::registers, {tile, tile}), {3, 4}), 1024);
  // 256 elements over 64 threads.
  EXPECT_EQ(registers(buffer("s", DType::f32, ir::Scope::registers, {Expr(256)}), {t}), 4);
}

TEST(ResourceConstraints, RegisterBuffersBesideOneAnotherDoNotAdd) {
  const auto outer = buffer("outer", DType::f32, ir::Scope::registers, {Expr(10)});
  const auto first = buffer("first", DType::f32, ir::Scope::registers, {Expr(20)});
  const auto second = buffer("second", DType::f32, ir::Scope::registers, {Expr(200)});
  const Numbers found =
      numbers(program(loop("t", LoopKind::thread, 32,
                           ir::allocate(outer, ir::block({ir::allocate(first, zero(first, {0})),
                                                          ir::allocate(second, zero(second, {0}))})))),
              "sm_80");
  EXPECT_EQ(found.at("registers of first").first, 30);
  EXPECT_EQ(found.at("registers of second").first, 210);
  EXPECT_EQ(found.at("registers of a multiprocessor").first, 32 * 240);  // 210 + 24, in eights
}

TEST(ResourceConstraints, OnTheCpuOnlyLocalArrays) {
  const auto panel = buffer("panel", DType::f64, ir::Scope::registers, {tile, Expr(100)});
  const Numbers found =
      numbers(program(loop("n", LoopKind::parallel, 8, ir::allocate(panel, zero(panel, {0, 0})))), "cpu",
              {{"tile", 16}});
  EXPECT_EQ(found, (Numbers{{"local array panel", P{16 * 100 * 8, local_array_bytes}}}));
}

TEST(ResourceConstraints, EveryNameOnceAndEveryTextThere) {
  for (const Target& target : targets()) {
    for (const Constraint& constraint : resource_constraints(staged(), target, 2)) {
      EXPECT_FALSE(constraint.name.empty());
      EXPECT_FALSE(constraint.text.empty()) << constraint.name;
      EXPECT_FALSE(constraint.unit.empty()) << constraint.name;
    }
  }
}

}  // namespace
}  // namespace weft
