// Clashes of hand-made problems: which constraints and knobs are named, and that what is suggested is true.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/scheduler/limits/resource_constraints.h>
#include <weft/scheduler/limits/resources.h>
#include <weft/scheduler/limits/resources_problem.h>

#include <algorithm>
#include <ctime>

namespace weft {
namespace {

using ir::Expr;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::UnorderedElementsAre;

Expr v(const char* name) {
  return ir::variable(name);
}

std::vector<std::int64_t> powers(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> result;
  for (; from <= to; from *= 2) result.push_back(from);
  return result;
}

std::vector<std::int64_t> numbers(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> result;
  for (; from <= to; ++from) result.push_back(from);
  return result;
}

std::vector<std::string> names(const std::vector<Constraint>& constraints) {
  std::vector<std::string> result;
  for (const Constraint& constraint : constraints) result.push_back(constraint.name);
  return result;
}

/// Tiles of a dense product on an sm_86: shared memory, registers, threads, divisibility, occupancy of 2.
struct Product {
  std::vector<Constraint> constraints;
  std::vector<ir::Knob> knobs{{"BM", powers(16, 256)}, {"BN", powers(16, 256)}, {"BK", powers(8, 64)},
                              {"WM", powers(16, 128)}, {"WN", powers(8, 128)},  {"stages", numbers(1, 5)},
                              {"V", powers(16, 256)}};

  Product() {
    const Expr shared = (v("BM") + v("BN")) * v("BK") * v("stages") * 2;
    const Expr warps = (v("BM") / v("WM")) * (v("BN") / v("WN"));
    const Expr accumulators = v("WM") * v("WN") / 32;
    add("BM fits V", v("BM"), v("V"));
    add("warps divide BM", v("BM") % v("WM"), 0);
    add("warps divide BN", v("BN") % v("WN"), 0);
    add("at least one warp", 1, warps);
    add("threads", warps * 32, 1024);
    add("registers", accumulators + 40, 255);
    add("shared memory", shared, 101376);
    add("shared memory of two blocks", (shared + 1024) * 2, 102400);
    add("registers of two blocks", warps * 32 * (accumulators + 40) * 2, 65536);
  }
  void add(const char* name, const Expr& left, const Expr& limit) {
    constraints.push_back({name, name, "", left, limit, {}});
  }
};

/// Every suggestion must hold when it is tried.
void check_suggestions(const std::vector<Constraint>& constraints, const std::vector<ir::Knob>& knobs,
                       const KnobValues& fixed, const Feasibility& clash) {
  for (const Remedy& remedy : clash.remedies) {
    EXPECT_EQ(clash.clashes.front().fixed.count(remedy.knob), 1u) << remedy.knob;
    KnobValues changed = fixed;
    changed[remedy.knob] = remedy.value;
    const Feasibility now = complete(constraints, knobs, changed);
    ASSERT_EQ(now.answer, Answer::feasible) << remedy.knob;
    EXPECT_EQ(first_violation(constraints, now.witness), nullptr);
  }
  if (clash.nearest.empty()) return;
  KnobValues changed = fixed;
  for (const auto& [knob, value] : clash.nearest) {
    EXPECT_NE(value, fixed.at(knob));
    changed[knob] = value;
  }
  const Feasibility now = complete(constraints, knobs, changed);
  ASSERT_EQ(now.answer, Answer::feasible);
  for (const auto& [knob, value] : changed) EXPECT_EQ(now.witness.at(knob), value);
  EXPECT_EQ(first_violation(constraints, now.witness), nullptr);
}

/// No element of a core can be missed.
void check_minimal(const std::vector<ir::Knob>& knobs, const Clash& clash) {
  for (std::size_t i = 0; i < clash.core.size(); ++i) {
    std::vector<Constraint> fewer = clash.core;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(complete(fewer, knobs, clash.fixed).answer, Answer::feasible) << clash.core[i].name;
  }
  for (const auto& [knob, value] : clash.fixed) {
    KnobValues fewer = clash.fixed;
    fewer.erase(knob);
    EXPECT_EQ(complete(clash.core, knobs, fewer).answer, Answer::feasible) << knob;
  }
  EXPECT_EQ(complete(clash.core, knobs, clash.fixed).answer, Answer::infeasible);
}

/// Shared memory of a fixed A and a staged B: the message of the design page.
struct Staged {
  std::vector<Constraint> constraints;
  std::vector<ir::Knob> knobs{{"stages", numbers(1, 8)}};
  Staged() {
    const Expr a = 32768;
    const Expr b = v("stages") * 16384;
    constraints = {{"threads", "", "threads", 256, 1024, {}},
                   {"shared memory", "", "B", a + b, 101376, {{"A", a}, {"B", b}}}};
  }
};

TEST(Resources, MessageOfAClash) {
  const Staged problem;
  const Feasibility clash = complete(problem.constraints, problem.knobs, {{"stages", 6}});
  EXPECT_EQ(clash.answer, Answer::infeasible);
  EXPECT_THAT(
      explain(clash, "sm_86"),
      StartsWith("infeasible on sm_86: shared memory A 32768 + B 16384 x 6 stages = 131072 B > 101376 B; "
                 "feasible with stages <= 4"));
  EXPECT_EQ(clash.clashes.front().proved, resources::has_z3());
  EXPECT_EQ(explain(clash, "sm_86").find("built without Z3") != std::string::npos, !resources::has_z3());
}

TEST(Resources, MessageOffersEveryKnobThatHelps) {
  const Expr a = 32768;
  const Expr b = v("stages") * v("tile_n") * 128;
  const std::vector<Constraint> constraints{{"shared memory", "", "B", a + b, 101376, {{"A", a}, {"B", b}}}};
  const std::vector<ir::Knob> knobs{{"stages", numbers(1, 8)}, {"tile_n", powers(32, 256)}};
  const KnobValues fixed{{"stages", 6}, {"tile_n", 128}};
  const Feasibility clash = complete(constraints, knobs, fixed);
  EXPECT_THAT(
      explain(clash, "sm_86"),
      StartsWith("infeasible on sm_86: shared memory A 32768 + B 128 x 6 stages x 128 tile_n = 131072 B > "
                 "101376 B; feasible with stages <= 4 or tile_n <= 64"));
  EXPECT_THAT(clash.remedies, ElementsAre(Remedy{"stages", Remedy::Kind::at_most, 4},
                                          Remedy{"tile_n", Remedy::Kind::at_most, 64}));
  EXPECT_EQ(clash.nearest, (KnobValues{{"stages", 4}}));
  check_suggestions(constraints, knobs, fixed, clash);
}

TEST(Resources, ErrorHasTheFourAnswers) {
  const Staged problem;
  const Feasibility clash = complete(problem.constraints, problem.knobs, {{"stages", 6}});
  const InfeasibleError error = infeasible_error(clash, "sm_86", "stage, program.cpp:12");
  EXPECT_EQ(error.report().what, "infeasible on sm_86");
  EXPECT_EQ(error.report().where, "stage, program.cpp:12");
  EXPECT_THAT(error.report().found, HasSubstr("131072 B > 101376 B"));
  EXPECT_EQ(error.report().accepted, "stages <= 4");
}

TEST(Resources, FeasibleHasAWitness) {
  const Product product;
  const KnobValues fixed{{"BM", 128}, {"stages", 3}};
  const Feasibility result = complete(product.constraints, product.knobs, fixed);
  ASSERT_EQ(result.answer, Answer::feasible);
  EXPECT_EQ(result.witness.size(), product.knobs.size());
  EXPECT_EQ(result.witness.at("BM"), 128);
  EXPECT_EQ(result.witness.at("stages"), 3);
  EXPECT_EQ(first_violation(product.constraints, result.witness), nullptr);
  for (const ir::Knob& knob : product.knobs) {
    EXPECT_THAT(knob.values, testing::Contains(result.witness.at(knob.name)));
  }
}

TEST(Resources, CoreNamesOccupancyAndItsKnobs) {
  const Product product;
  const KnobValues fixed{{"BM", 128}, {"BN", 256}, {"BK", 64}, {"stages", 4}};
  const std::vector<Constraint> one_block(product.constraints.begin(), product.constraints.end() - 2);
  const Feasibility clash = complete(one_block, product.knobs, fixed);
  EXPECT_THAT(names(clash.clashes.front().core), ElementsAre("shared memory"));
  // The narrowest BM would not help, so the clash does without it.
  EXPECT_EQ(clash.clashes.front().fixed, (KnobValues{{"BN", 256}, {"BK", 64}, {"stages", 4}}));
  EXPECT_THAT(clash.remedies, UnorderedElementsAre(Remedy{"BK", Remedy::Kind::at_most, 32},
                                                   Remedy{"stages", Remedy::Kind::at_most, 2},
                                                   Remedy{"BN", Remedy::Kind::at_most, 64}));
  check_minimal(product.knobs, clash.clashes.front());
  check_suggestions(one_block, product.knobs, fixed, clash);
}

TEST(Resources, CoreNamesOnlyWhatClashes) {
  const Product product;
  const KnobValues fixed{{"BM", 64}, {"V", 32}, {"stages", 2}};
  const Feasibility clash = complete(product.constraints, product.knobs, fixed);
  EXPECT_THAT(names(clash.clashes.front().core), ElementsAre("BM fits V"));
  EXPECT_EQ(clash.clashes.front().fixed, (KnobValues{{"BM", 64}, {"V", 32}}));
  EXPECT_THAT(clash.remedies, UnorderedElementsAre(Remedy{"BM", Remedy::Kind::at_most, 32},
                                                   Remedy{"V", Remedy::Kind::at_least, 64}));
  check_minimal(product.knobs, clash.clashes.front());
  check_suggestions(product.constraints, product.knobs, fixed, clash);
}

TEST(Resources, CoreOfRegisters) {
  const Product product;
  const KnobValues fixed{{"WM", 128}, {"WN", 64}, {"BK", 16}};
  const Feasibility clash = complete(product.constraints, product.knobs, fixed);
  EXPECT_THAT(names(clash.clashes.front().core), ElementsAre("registers"));
  EXPECT_EQ(clash.clashes.front().fixed, (KnobValues{{"WM", 128}, {"WN", 64}}));
  check_minimal(product.knobs, clash.clashes.front());
  check_suggestions(product.constraints, product.knobs, fixed, clash);
}

TEST(Resources, TwoConstraintsThatOnlyClashTogether) {
  const std::vector<Constraint> constraints{{"enough", "", "", 10, v("x"), {}},
                                            {"not too much", "", "", v("x") * v("y"), 50, {}},
                                            {"idle", "", "", v("x"), 1000, {}}};
  const std::vector<ir::Knob> knobs{{"x", numbers(1, 16)}, {"y", numbers(1, 16)}};
  const Feasibility clash = complete(constraints, knobs, {{"y", 8}});
  EXPECT_THAT(names(clash.clashes.front().core), ElementsAre("enough", "not too much"));
  EXPECT_EQ(clash.clashes.front().fixed, (KnobValues{{"y", 8}}));
  EXPECT_THAT(clash.remedies, ElementsAre(Remedy{"y", Remedy::Kind::at_most, 5}));
  check_minimal(knobs, clash.clashes.front());
  EXPECT_THAT(explain(clash, "sm_80"), HasSubstr("; feasible with y <= 5"));
}

TEST(Resources, NearestChangeOfTwoKnobs) {
  const std::vector<Constraint> constraints{{"first", "", "", v("a"), 4, {}},
                                            {"second", "", "", v("b"), 4, {}}};
  const std::vector<ir::Knob> knobs{{"a", powers(1, 16)}, {"b", powers(1, 16)}, {"c", powers(1, 16)}};
  const KnobValues fixed{{"a", 8}, {"b", 16}, {"c", 2}};
  const Feasibility clash = complete(constraints, knobs, fixed);
  EXPECT_EQ(clash.clashes.front().core.size(), 1u);
  EXPECT_TRUE(clash.remedies.empty());
  if (resources::has_z3()) {
    EXPECT_EQ(clash.nearest, (KnobValues{{"a", 4}, {"b", 4}}));
    EXPECT_THAT(explain(clash, "sm_80"), HasSubstr("feasible with a = 4 and b = 4"));
  }
  check_suggestions(constraints, knobs, fixed, clash);
}

TEST(Resources, HolesAreNotCalledBounds) {
  // Multiples of 3 only: "x <= 6" would promise 4 and 5.
  const std::vector<Constraint> constraints{{"multiple", "", "", v("x") % 3, 0, {}},
                                            {"limit", "", "", v("x"), 7, {}}};
  const std::vector<ir::Knob> knobs{{"x", numbers(1, 12)}};
  const Feasibility clash = complete(constraints, knobs, {{"x", 9}});
  EXPECT_THAT(clash.remedies, ElementsAre(Remedy{"x", Remedy::Kind::exactly, 6}));
  EXPECT_THAT(explain(clash, "sm_80"), HasSubstr("feasible with x = 6"));
}

TEST(Resources, FixedKnobsWithoutAListMayTakeAnyNumber) {
  const std::vector<Constraint> constraints{{"shared memory", "", "B", v("tile") * 4096, 101376, {}}};
  const Feasibility clash = complete(constraints, {}, {{"tile", 64}});
  EXPECT_EQ(clash.remedies, (std::vector<Remedy>{{"tile", Remedy::Kind::at_most, 24}}));
  EXPECT_THAT(explain(clash, "sm_86"), StartsWith("infeasible on sm_86: shared memory 4096 x 64 tile = "
                                                  "262144 B > 101376 B; feasible with tile <= 24"));
}

TEST(Resources, NoKnobAtAll) {
  const std::vector<Constraint> constraints{{"shared memory", "", "B", 131072, 101376, {{"B", 131072}}}};
  const Feasibility clash = complete(constraints, {}, {});
  EXPECT_THAT(explain(clash, "sm_86"),
              StartsWith("infeasible on sm_86: shared memory B 131072 B > 101376 B"));
  EXPECT_THAT(explain(clash, "sm_86"), Not(HasSubstr("feasible with")));
}

TEST(Resources, OpenKnobsAreShownWhereTheyComeNearest) {
  const std::vector<Constraint> constraints{
      {"shared memory", "", "B", v("tile_m") * v("tile_k") * 4, 101376, {}}};
  const std::vector<ir::Knob> knobs{{"tile_k", {128, 64, 256}}};
  const Feasibility clash = complete(constraints, knobs, {{"tile_m", 1024}});
  EXPECT_EQ(clash.clashes.front().numbers.at("tile_k"), 64);
  EXPECT_THAT(explain(clash, "sm_86"), HasSubstr("4 x 1024 tile_m x 64 tile_k = 262144 B > 101376 B"));
}

TEST(Resources, SpacesTooLargeToTryAreDecidedByZ3) {
  std::vector<ir::Knob> knobs;
  Expr sum = 0;
  for (int i = 0; i < 30; ++i) {
    knobs.push_back({"k" + std::to_string(i), {1, 2, 3, 4}});
    sum = sum + ir::variable(knobs.back().name);
  }
  const Feasibility above = complete({{"sum", "", "", 1000, sum, {}}}, knobs, {});
  EXPECT_EQ(above.answer, resources::has_z3() ? Answer::infeasible : Answer::unknown);
  const std::vector<Constraint> exactly{{"at least", "", "", 77, sum, {}}, {"at most", "", "", sum, 77, {}}};
  const Feasibility within = complete(exactly, knobs, {});
  if (within.answer == Answer::feasible) {
    EXPECT_EQ(first_violation(exactly, within.witness), nullptr);
  } else {
    EXPECT_EQ(within.answer, Answer::unknown);
  }
}

TEST(Resources, WhatIsNotDecidedIsNotFeasible) {
  const Expr x = v("x"), y = v("y"), z = v("z");
  const Expr difference = x * x * x + y * y * y - z * z * z;
  const std::vector<Constraint> constraints{{"below", "", "", difference, 0, {}},
                                            {"above", "", "", 0, difference, {}}};
  const std::vector<ir::Knob> knobs{{"x", numbers(1, 200)}, {"y", numbers(1, 200)}, {"z", numbers(1, 200)}};
  const Feasibility result = complete(constraints, knobs, {});
  EXPECT_NE(result.answer, Answer::feasible);
  if (result.answer == Answer::unknown) {
    EXPECT_THAT(explain(result, "sm_80"), StartsWith("unknown on sm_80"));
    EXPECT_THAT(infeasible_error(result, "sm_80", "").report().what, HasSubstr("nothing shows"));
  }
}

TEST(Resources, RandomProblemsHaveMinimalCoresAndTrueSuggestions) {
  const Product product;
  unsigned state = 7;
  const auto next = [&](std::size_t count) {
    return (state = state * 1664525u + 1013904223u) / 65536u % count;
  };
  int clashes = 0;
  for (int round = 0; round < 30; ++round) {
    KnobValues fixed;
    for (const ir::Knob& knob : product.knobs) {
      if (next(3) != 0) fixed[knob.name] = knob.values[next(knob.values.size())];
    }
    const Feasibility result = complete(product.constraints, product.knobs, fixed);
    ASSERT_NE(result.answer, Answer::unknown);
    const Answer tried = resources::solve_by_trying({product.constraints, product.knobs, fixed}).answer;
    EXPECT_EQ(result.answer, tried);
    if (resources::has_z3()) {
      const Answer proved = resources::solve_by_z3({product.constraints, product.knobs, fixed}).answer;
      EXPECT_TRUE(proved == tried || proved == Answer::unknown);
    }
    if (result.answer == Answer::feasible) continue;
    ++clashes;
    check_minimal(product.knobs, result.clashes.front());
    check_suggestions(product.constraints, product.knobs, fixed, result);
    EXPECT_FALSE(result.nearest.empty());
  }
  EXPECT_GE(clashes, 10);
}

TEST(Resources, ACoreTakesLessThanATenthOfASecond) {
  const Product product;
  const KnobValues fixed{{"BM", 128}, {"BN", 256}, {"BK", 64}, {"stages", 4}};
  // Processor time: what else the machine does is not counted.
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const std::clock_t begin = std::clock();
    const auto core = resources::core_by_z3({product.constraints, product.knobs, fixed});
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    EXPECT_EQ(core.has_value(), resources::has_z3());
  }
  std::printf("core: %.1f ms\n", best * 1e3);
  EXPECT_LT(best, 0.1);
}

TEST(Resources, ProgramsAreCheckedAgainstTheirTarget) {
  const auto tile =
      ir::make_buffer("B.shared", DType::f32, ir::Scope::shared, ir::Access::read_write, {v("tile_n"), 256});
  ir::Program program;
  program.name = "spmm";
  program.knobs = {{"tile_n", powers(16, 256)}};
  program.body = ir::for_loop({"m", 0, 64, ir::LoopKind::block_x, -1,
                               ir::allocate(tile, ir::store(tile, {0, 0}, ir::constant(DType::f32, 0)))});
  EXPECT_NO_THROW(require_feasible(program, target_named("sm_86")));
  EXPECT_NO_THROW(require_feasible(program, target_named("sm_90"), {{"tile_n", 128}}));
  try {
    require_feasible(program, target_named("sm_86"), {{"tile_n", 128}});
    FAIL() << "131072 bytes were accepted";
  } catch (const InfeasibleError& error) {
    EXPECT_EQ(error.report().what, "infeasible on sm_86");
    EXPECT_THAT(error.report().where, testing::MatchesRegex("resources_test.cpp:[0-9]+, spmm"));
    EXPECT_THAT(error.report().found,
                StartsWith("shared memory B.shared 1024 x 128 tile_n = 131072 B > 101376 B"));
    EXPECT_EQ(error.report().accepted, "tile_n <= 64");
  }
}

TEST(Resources, BadQuestionsAreRefused) {
  const std::vector<Constraint> constraints{{"rule", "", "", v("x") * v("x"), 5, {}}};
  EXPECT_THROW(complete(constraints, {}, {}), InternalError);
  EXPECT_THROW(complete(constraints, {{"x", {}}}, {}), InternalError);
  EXPECT_THROW(complete(constraints, {}, {{"x", 0}}), UserError);
  EXPECT_THROW(complete(constraints, {}, {{"x", std::int64_t{1} << 40}}), UserError);
}

}  // namespace
}  // namespace weft
