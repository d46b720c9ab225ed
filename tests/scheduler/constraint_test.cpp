// Evaluation of constraints: the two evaluators and Z3 must give the same numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/limits/constraint.h>
#include <weft/scheduler/limits/resources_problem.h>
#if WEFT_WITH_Z3
#include <weft/scheduler/limits/z3_context.h>
#endif

#include <deque>
#include <limits>
#include <new>
#include <random>

#include "support/memory_limit.h"
#include "support/sanitizers.h"

namespace weft {
namespace {

using ir::BinaryOperator;
using ir::Expr;

const std::vector<std::string> names{"a", "b", "c"};

/// Integer expressions over a, b, c of every operator; divisors are at least 1.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  KnobValues point() { return {{"a", between(1, 9)}, {"b", between(1, 64)}, {"c", between(1, 300)}}; }

  Expr integer(int depth) {
    if (depth == 0 || between(0, 5) == 0) {
      return between(0, 3) == 0 ? Expr(between(-20, 20))
                                : ir::variable(names[static_cast<std::size_t>(between(0, 2))]);
    }
    switch (between(0, 9)) {
      case 0: return ir::unary(ir::UnaryOperator::negate, integer(depth - 1));
      case 1: return ir::select(boolean(depth - 1), integer(depth - 1), integer(depth - 1));
      case 2: return ir::cast(DType::i64, boolean(depth - 1));
      case 3: return integer(depth - 1) / ir::maximum(integer(depth - 1), 1);
      case 4: return integer(depth - 1) % ir::maximum(integer(depth - 1), 1);
      default: {
        constexpr BinaryOperator operators[] = {BinaryOperator::add, BinaryOperator::subtract,
                                                BinaryOperator::multiply, BinaryOperator::minimum,
                                                BinaryOperator::maximum};
        return ir::binary(operators[between(0, 4)], integer(depth - 1), integer(depth - 1));
      }
    }
  }

  Expr boolean(int depth) {
    if (depth > 0 && between(0, 3) == 0) {
      if (between(0, 2) == 0) return ir::unary(ir::UnaryOperator::logical_not, boolean(depth - 1));
      return ir::binary(between(0, 1) == 0 ? BinaryOperator::logical_and : BinaryOperator::logical_or,
                        boolean(depth - 1), boolean(depth - 1));
    }
    constexpr BinaryOperator operators[] = {BinaryOperator::equal, BinaryOperator::not_equal,
                                            BinaryOperator::less, BinaryOperator::less_equal};
    const int below = std::max(depth - 1, 0);
    return ir::binary(operators[between(0, 3)], integer(below), integer(below));
  }

 private:
  std::mt19937 engine_;
};

Constraint at_most(const Expr& left, const Expr& limit) {
  return {"rule", "", "", left, limit, {}};
}

std::vector<std::int64_t> in_order(const KnobValues& values) {
  return {values.at("a"), values.at("b"), values.at("c")};
}

TEST(Constraint, EvaluatesEveryOperator) {
  const Expr a = ir::variable("a");
  const KnobValues values{{"a", -7}};
  EXPECT_EQ(evaluate(a + 3, values), -4);
  EXPECT_EQ(evaluate(a * a, values), 49);
  EXPECT_EQ(evaluate(a / 2, values), -4);
  EXPECT_EQ(evaluate(a % 2, values), 1);
  EXPECT_EQ(evaluate(ir::minimum(a, 2), values), -7);
  EXPECT_EQ(evaluate(ir::maximum(a, 2), values), 2);
  EXPECT_EQ(evaluate(a < 0, values), 1);
  EXPECT_EQ(evaluate(a <= -8, values), 0);
  EXPECT_EQ(evaluate(ir::equal(a, -7), values), 1);
  EXPECT_EQ(evaluate(ir::unary(ir::UnaryOperator::negate, a), values), 7);
  EXPECT_EQ(evaluate(ir::select(a < 0, 5, a), values), 5);
  EXPECT_EQ(evaluate(ir::ceil_divide(ir::variable("a") + 107, 32), values), 4);
}

TEST(Constraint, BothEvaluatorsAgreeOnRandomExpressions) {
  Random random(1);
  for (int i = 0; i < 5000; ++i) {
    const Expr expr = random.integer(4);
    const KnobValues point = random.point();
    std::int64_t value = 0;
    try {
      value = evaluate(expr, point);
    } catch (const UserError&) {
      continue;
    }
    const std::vector<Constraint> constraints{at_most(expr, value), at_most(value, expr),
                                              at_most(expr, value - 1)};
    const CompiledConstraints compiled(constraints, names);
    const std::vector<std::int64_t> numbers = in_order(point);
    ASSERT_TRUE(compiled.holds(0, numbers)) << ir::print(expr);
    ASSERT_TRUE(compiled.holds(1, numbers)) << ir::print(expr);
    ASSERT_EQ(compiled.first_violation(numbers), 2u) << ir::print(expr);
    ASSERT_EQ(first_violation(constraints, point), &constraints[2]) << ir::print(expr);
  }
}

TEST(Constraint, Z3AgreesOnTwoThousandRandomPoints) {
  if (!resources::has_z3()) {
    std::printf("[SKIP] built without Z3\n");
    return;
  }
  Random random(2);
  int points = 0;
  for (; points < 2000; points += 10) {
    // Ten expressions a question: Z3 finds each to be the evaluator's value, and none to be another.
    const KnobValues point = random.point();
    std::vector<Constraint> same;
    Expr different = 0;
    std::string text;
    for (int i = 0; i < 10; ++i) {
      const Expr expr = random.integer(3);
      const std::int64_t value = evaluate(expr, point);
      same.push_back(at_most(expr, value));
      same.push_back(at_most(value, expr));
      different = different + ir::cast(DType::i64, ir::binary(BinaryOperator::not_equal, expr, value));
      text += ir::print(expr) + "\n";
    }
    ASSERT_EQ(resources::solve_by_z3({same, {}, point}).answer, Answer::feasible) << text;
    const std::vector<Constraint> other{at_most(1, different)};
    ASSERT_EQ(resources::solve_by_z3({other, {}, point}).answer, Answer::infeasible) << text;
  }
}

TEST(Constraint, NumbersThatDoNotFitAreRefused) {
  const Expr a = ir::variable("a");
  const KnobValues values{{"a", std::int64_t{1} << 40}};
  EXPECT_THROW(evaluate(a * a, values), UserError);
  EXPECT_THROW(evaluate(a + std::numeric_limits<std::int64_t>::max(), values), UserError);
  const std::vector<Constraint> constraints{at_most(a * a, 1)};
  const std::vector<std::string> knobs{"a"};
  const std::vector<std::int64_t> point{std::int64_t{1} << 40};
  EXPECT_THROW(CompiledConstraints(constraints, knobs).first_violation(point), UserError);
}

TEST(Constraint, TheBranchNotTakenMayOverflow) {
  const Expr a = ir::variable("a");
  const Expr guarded = ir::select(a < 1000, a, a * a);
  const std::vector<Constraint> constraints{at_most(guarded, 999)};
  const std::vector<std::string> knobs{"a"};
  EXPECT_EQ(evaluate(ir::select(a < 1000, 1, a * a), {{"a", 7}}), 1);
  EXPECT_EQ(evaluate(ir::select(a < 1000, a * a, 5), {{"a", std::int64_t{1} << 40}}), 5);
  EXPECT_FALSE(CompiledConstraints(constraints, knobs).first_violation(std::vector<std::int64_t>{999}));
}

TEST(Constraint, WhatIsNoIntegerOverKnobsIsAnInternalError) {
  const auto buffer = ir::make_buffer("A", DType::i32, ir::Scope::global, ir::Access::read, {4});
  const Expr a = ir::variable("a");
  for (const Expr& wrong : {ir::variable("other"), ir::load(buffer, {0}), ir::constant(DType::f32, 1.5),
                            ir::cast(DType::i8, a), ir::call("thread", DType::i64, {})}) {
    EXPECT_THROW(evaluate(wrong, {{"a", 1}}), InternalError);
    const std::vector<Constraint> constraints{at_most(wrong, 1)};
    const std::vector<std::string> knobs{"a"};
    EXPECT_THROW(CompiledConstraints(constraints, knobs).first_violation(std::vector<std::int64_t>{1}),
                 InternalError);
  }
}

TEST(Constraint, WhatWouldDivideByNothingDoesNotHold) {
  const Expr a = ir::variable("a");
  const std::vector<std::string> knobs{"a"};
  for (const std::int64_t value : {1, 0, -7}) {
    for (const Expr& wild : {8 / (a - 1), 8 % (a - 1)}) {
      const std::vector<Constraint> constraints{at_most(a, 100), at_most(wild, 100), at_most(-100, wild)};
      EXPECT_FALSE(holds(constraints[1], {{"a", value}}));
      EXPECT_FALSE(holds(constraints[2], {{"a", value}}));
      EXPECT_EQ(first_violation(constraints, {{"a", value}}), &constraints[1]);
      EXPECT_EQ(CompiledConstraints(constraints, knobs).first_violation(std::vector<std::int64_t>{value}), 1);
      EXPECT_THROW(evaluate(wild, {{"a", value}}), UserError);
    }
  }
}

TEST(Constraint, DeepExpressionsEvaluate) {
  Expr deep = ir::variable("a");
  for (int i = 0; i < 100; ++i) deep = ir::variable("a") - deep;
  const std::vector<Constraint> constraints{at_most(deep, 3)};
  const std::vector<std::string> knobs{"a"};
  const CompiledConstraints compiled(constraints, knobs);
  EXPECT_FALSE(compiled.first_violation(std::vector<std::int64_t>{3}));
  EXPECT_EQ(compiled.first_violation(std::vector<std::int64_t>{4}), 0u);
}

TEST(Constraint, KnobsOfBothSidesSorted) {
  const Constraint constraint =
      at_most(ir::variable("c") * ir::variable("b"), ir::variable("a") + ir::variable("b"));
  EXPECT_THAT(knobs_of(constraint), testing::ElementsAre("a", "b", "c"));
}

#if WEFT_WITH_Z3
/// Holds contexts of Z3 until memory ends, and ends with 0 where that is said.
[[noreturn]] void take_all_memory() {
  leave_memory(std::uint64_t{16} << 20U);
  std::deque<Z3Context> held;
  try {
    for (int i = 0; i < 100'000; ++i) held.emplace_back();
  } catch (const std::bad_alloc&) {
    _exit(0);
  }
  _exit(1);
}

TEST(Constraint, ContextsOfZ3ThatFindNoMemorySaySo) {
  if (under_sanitizer) GTEST_SKIP() << "a sanitizer's own memory is beyond every limit";
  EXPECT_EXIT(take_all_memory(), testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace weft
