// The rows of the steps: what they declare holds together, loops that they make can be had, knobs may stand
// for every number; and docs/steps.md, made from them and from a program before and after each step.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/index.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/program/step_arguments.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "support/examples.h"
#include "support/golden.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);
WEFT_INDEX(p);
WEFT_INDEX(q);

/// A product of 64 x 64 weights in f16.
Schedule halves(const char* format, const char* target) {
  const WeightMatrix matrix =
      synthetic_layer({.rows = 64, .columns = 64, .sparsity = 0.75, .dtype = DType::f16});
  return schedule(spmm_algorithm(64, 64, 64, DType::f16), pack(matrix, parse_format(format)),
                  target_named(target));
}

Schedule tiled(const char* target = "sm_80") {
  Schedule s = halves("shfl_bw:V=64", target);
  s.split(LoopFactor{LoopName("m.row"), 64})
      .reorder("m.block", "k.block", "m.row.outer", "m.row.inner", n, "k.place")
      .bind("m.block", block_x);
  return s;
}

Schedule stitched(const char* target = "sm_80") {
  Schedule s = tiled(target);
  s.stage("A.values", shared, at = LoopName("k.block"), depth = 2);
  s.stitch("B", shared, at = LoopName("k.block"), depth = 2);
  return s;
}

Schedule tensorized(const char* target, const char* instruction) {
  Schedule s = stitched(target);
  s.bind("m.row.outer", warp).tensorize(std::string(instruction));
  return s;
}

Schedule clustered() {
  Schedule s = halves("shfl_bw:V=64", "sm_90a");
  s.split(n = 32).split(LoopFactor{LoopName("m.row"), 64}, n.outer = 2);
  s.reorder("n.outer.outer", "n.outer.inner", "m.block", "k.block", "m.row.outer", "m.row.inner", "n.inner",
            "k.place");
  s.bind("n.outer.outer", block_z).bind("n.outer.inner", block_y).bind("m.block", block_x);
  s.stage("A.values", shared, at = LoopName("k.block"), depth = 2);
  s.stitch("B", shared, at = LoopName("k.block"), depth = 2);
  s.bind("m.row.outer", warp).tensorize("wgmma_m64n32k16").specialize_warps(producers = 4);
  return s;
}

struct Example {
  Schedule before;
  std::function<void(Schedule&)> step;
};

/// A program for each step, as small as one can be.
std::map<std::string, Example> examples() {
  const auto cpu = [] { return test::spmm_schedule("cpu"); };
  const auto gpu = [] { return test::spmm_schedule("sm_80"); };
  std::map<std::string, Example> all;
  const auto add = [&](const char* name, Schedule before, std::function<void(Schedule&)> step) {
    all.emplace(name, Example{std::move(before), std::move(step)});
  };
  add("tile", cpu(), [](Schedule& s) { s.tile(m = 4, n = 64); });
  add("split", cpu(), [](Schedule& s) { s.split(n = 64); });
  add("fuse", test::convolution_schedule("cpu"), [](Schedule& s) { s.fuse(p, q); });
  add("peel", std::move(cpu().split(n = 32)),
      [](Schedule& s) { s.peel(n.outer, from_begin = 1, from_end = 1); });
  add("reorder", std::move(cpu().split(n = 25)), [](Schedule& s) { s.reorder(m, k, n.inner); });
  add("unroll", std::move(cpu().split(n = 4)), [](Schedule& s) { s.unroll(n.inner); });
  add("vectorize", std::move(cpu().split(n = 25)), [](Schedule& s) { s.vectorize(n.inner); });
  add("parallel", cpu(), [](Schedule& s) { s.parallel(m); });
  add("bind", gpu(), [](Schedule& s) { s.bind(m, block_x); });
  add("stagger", std::move(gpu().split(m = 4, n = 32).split(n.inner = 4)),
      [](Schedule& s) { s.stagger(n.inner.outer, m.inner); });
  add("stage", std::move(test::spmm_schedule("sm_80", formats::dense()).split(k = 8)),
      [](Schedule& s) { s.stage("B", shared, at = k.outer, depth = 2); });
  add("stitch", tiled(), [](Schedule& s) { s.stitch("B", shared, at = LoopName("k.block"), depth = 2); });
  add("decode", halves("hb_ell", "sm_80"),
      [](Schedule& s) { s.decode("A", shared, at = LoopName("k.block"), depth = 2, parts = 2); });
  add("tensorize", std::move(stitched().bind("m.row.outer", warp)),
      [](Schedule& s) { s.tensorize("mma_m16n8k16", promote = 1); });
  add("reorder_writeback", tensorized("sm_80", "mma_m16n8k16"),
      [](Schedule& s) { s.reorder_writeback("C", columns = 64); });
  add("persist", std::move(gpu().bind(m, block_y).bind(n, block_x)),
      [](Schedule& s) { s.persist(m, n, blocks = 4); });
  add("specialize_warps", tensorized("sm_90a", "wgmma_m64n64k16"), [](Schedule& s) {
    s.specialize_warps(producers = 4, producer_registers = 40, consumer_registers = 232, blocks = 1);
  });
  add("multicast", clustered(), [](Schedule& s) { s.multicast("A", "n.outer.inner"); });
  add("resident", std::move(gpu().bind(m, block_x)), [](Schedule& s) { s.resident(blocks = 2); });
  add("stream_results", gpu(), [](Schedule& s) { s.stream_results("C"); });
  add("overlap_launches", std::move(test::spmm_schedule("sm_90").bind(m, block_x)),
      [](Schedule& s) { s.overlap_launches("A"); });
  add("transpose", gpu(), [](Schedule& s) { s.transpose("B"); });
  add("align", gpu(), [](Schedule& s) { s.align("B"); });
  add("balance", gpu(), [](Schedule& s) { s.balance(m, parts = 3); });
  add("pool", test::spmm_schedule("sm_80", parse_format("padded_csr:pad=8,fill=16")),
      [](Schedule& s) { s.pool(m, k, workers = 4); });
  add("split_k", gpu(), [](Schedule& s) { s.split_k(k, groups = 4); });
  add("bake_values", std::move(test::spmm_schedule("cpu").split(m = 6)),
      [](Schedule& s) { s.bake_values(m.inner, code_bytes = 65536, chunk = 8); });
  return all;
}

std::string code(std::string_view language, const std::string& text) {
  return fmt::format("```{}\n{}{}```\n", language, text, text.ends_with('\n') ? "" : "\n");
}

std::string parameters_of(const StepKind& kind) {
  std::string text = "| parameter | kind | values | left out | what it says |\n|---|---|---|---|---|\n";
  for (const Parameter& each : kind.parameters) {
    const bool number = each.kind == ParameterKind::number || each.kind == ParameterKind::factor;
    std::string values = fmt::format("{}", fmt::join(each.words, ", "));
    if (number) values = fmt::format("from {}", each.least);
    if (number && each.most != INT64_MAX) values += fmt::format(" to {}", each.most);
    const std::string otherwise = each.required        ? "needed"
                                  : each.words.empty() ? std::to_string(each.otherwise)
                                                       : std::string(each.words.front());
    text += fmt::format("| {}{} | {} | {} | {} | {} |\n", each.name, each.repeated ? " (one or more)" : "",
                        name_of(each.kind), values, otherwise, each.sentence);
  }
  return text;
}

std::string page(const StepKind& kind, const Example& example) {
  Schedule after = example.before;
  example.step(after);
  std::string text = fmt::format("## {}\n\n{}\n\n", kind.name, kind.sentence);
  if (!kind.more.empty()) text += fmt::format("{}\n\n", kind.more);
  text += parameters_of(kind) + "\nIt applies if:\n\n";
  for (const Precondition& each : kind.preconditions)
    text += fmt::format("- ({}) {}\n", each.number, each.text);
  text += fmt::format("\nThis program:\n\n{}\nbecomes by `{}`:\n\n{}",
                      code("", ir::print(example.before.program())), after.steps().back().cpp(),
                      code("", ir::print(after.program())));
  return text;
}

TEST(StepPages, SayWhatEveryStepDoes) {
  std::string text =
      "# The steps\n\n"
      "What a schedule is made of. Each step is a checked rewrite of the program: it is honoured, or refused "
      "with the\n"
      "number of what it asked for. `weft steps` prints this table, `weft steps tile` one page. A knob,\n"
      "`knob(\"name\", {16, 32})`, may stand wherever a number may.\n\n"
      "This page is made from the rows in scheduler/steps/ and from programs that a test schedules.\n\n"
      "| step | written | what it does |\n|---|---|---|\n";
  for (const StepKind& kind : step_kinds())
    text += fmt::format("| [{0}](#{0}) | `{1}` | {2} |\n", kind.name, kind.usage(), kind.sentence);
  const std::map<std::string, Example> all = examples();
  for (const StepKind& kind : step_kinds()) {
    const auto found = all.find(std::string(kind.name));
    ASSERT_NE(found, all.end()) << "no program shows " << kind.name;
    text += "\n" + page(kind, found->second);
  }
  test::expect_golden("../../docs/steps.md", text);
}

TEST(StepRows, DeclareWhatTheyUse) {
  for (const StepKind& kind : step_kinds()) {
    SCOPED_TRACE(kind.name);
    EXPECT_FALSE(kind.sentence.empty());
    EXPECT_FALSE(kind.parameters.empty());
    int before = 0;
    for (const Precondition& each : kind.preconditions) {
      EXPECT_GT(each.number, before);
      EXPECT_FALSE(each.text.empty());
      before = each.number;
    }
    for (const Parameter& each : kind.parameters) {
      EXPECT_FALSE(each.sentence.empty()) << each.name;
      EXPECT_LE(each.least, each.most) << each.name;
      const bool is_listed = std::ranges::find(kind.preconditions, each.precondition,
                                               &Precondition::number) != kind.preconditions.end();
      // What can be refused of a tensor or an instruction, the step itself says.
      const bool is_checked = each.kind == ParameterKind::number || each.kind == ParameterKind::word ||
                              each.kind == ParameterKind::factor;
      EXPECT_TRUE(is_listed || !is_checked) << each.name;
    }
  }
}

TEST(StepRows, LoopsThatAreMadeStandInTheProgram) {
  for (const auto& [name, example] : examples()) {
    Schedule s = example.before;
    example.step(s);
    const StepKind& kind = step_kind(name);
    if (kind.loops == nullptr) continue;
    for (const std::string& loop : kind.loops(StepArguments(kind, s.steps().back()), s.algorithm()))
      EXPECT_NE(ir::find_loop(s.program().body, loop), nullptr) << name << " makes no " << loop;
  }
}

TEST(StepRows, StepsGiveTheirLoopsBack) {
  Schedule s = test::spmm_schedule("cpu");
  const auto [m_outer, n_outer, m_inner, n_inner] = s.tile(m, 4, n, 64);
  EXPECT_THAT((std::vector{m_outer.text(), n_outer.text(), m_inner.text(), n_inner.text()}),
              ElementsAre("m.outer", "n.outer", "m.inner", "n.inner"));
  const auto [outer, inner] = s.split(n_inner, knob("lanes", {8, 16}));
  EXPECT_EQ(inner.text(), "n.inner.inner");
  const auto [of_rows, of_columns] = test::spmm_schedule("cpu").split(m, 4, n, 64);
  EXPECT_THAT((std::vector{of_rows.outer.text(), of_rows.inner.text(), of_columns.outer.text(),
                           of_columns.inner.text()}),
              ElementsAre("m.outer", "m.inner", "n.outer", "n.inner"));
  EXPECT_EQ(s.split_k(k, 4).text(), "k.group");
  EXPECT_EQ(s.cpp(),
            ".tile(m = 4, n = 64)\n.split(n.inner = knob(\"lanes\", {8, 16}))\n.split_k(k, groups = 4)");
  EXPECT_EQ(test::convolution_schedule("cpu").fuse({p, q}).text(), "p_q");
  const auto [parts_of_rows, rows] = test::spmm_schedule("cpu").balance(m, 3);
  EXPECT_EQ(rows.text(), "m.inner");
  Schedule baked = std::move(test::spmm_schedule("cpu").split(m = 6));
  EXPECT_EQ(baked.bake_values(m.inner, 4).text(), "k.chunk");
  const PooledLoops pooled =
      test::spmm_schedule("sm_80", parse_format("padded_csr:pad=8,fill=16")).pool(m, k, 4);
  EXPECT_EQ(pooled.worker.text(), "k.group.inner");
}

TEST(StepRows, AKnobStandsForEveryNumber) {
  std::set<std::string> open;
  for (const auto& [name, example] : examples()) {
    Schedule s = example.before;
    example.step(s);
    const Step step = s.steps().back();
    for (std::size_t i = 0; i < step.arguments.size(); ++i) {
      const auto* number = std::get_if<std::int64_t>(&step.arguments[i].value);
      if (number == nullptr) continue;
      Schedule again = example.before;
      Step with_knob = step;
      with_knob.arguments[i].value = KnobChoice{"choice", {*number}};
      SCOPED_TRACE(with_knob.cpp());
      const auto refused = again.try_apply(with_knob);
      ASSERT_FALSE(refused.has_value()) << refused->found;
      ASSERT_EQ(again.program().knobs.size(), 1U);
      EXPECT_EQ(again.program().knobs.front().name, "choice");
      open.insert(fmt::format("{} {}", name, parameter_of(step_kind(name), step, i)->name));
    }
  }
  for (const StepKind& kind : step_kinds()) {
    for (const Parameter& each : kind.parameters) {
      const bool is_open = each.kind == ParameterKind::number || each.kind == ParameterKind::factor;
      EXPECT_EQ(is_open, open.contains(fmt::format("{} {}", kind.name, each.name)))
          << kind.name << " " << each.name;
    }
  }
}

std::string refusal(Schedule schedule, const Step& step) {
  const auto reason = schedule.try_apply(step);
  return reason ? fmt::format("({}) {} / {}", reason->precondition, reason->found, reason->accepted) : "";
}

TEST(StepRows, AKnobIsRefusedForAValueOutOfRange) {
  const Schedule s = std::move(test::spmm_schedule("sm_80", formats::dense()).split(k = 8));
  const auto stage = [](KnobChoice choice) {
    return Step{"stage", {{{}, "B"}, {{}, "shared"}, {"at", "k.outer"}, {"depth", std::move(choice)}}, {}};
  };
  EXPECT_EQ(refusal(s, stage({"depth", {2, 9}})),
            "(7) depth = knob depth, which may be 9 / depth = a number from 1 to 8");
  EXPECT_THAT(refusal(s, stage({"m", {2, 4}})), HasSubstr("a knob called m, as a loop of the program is"));
}

std::string thrown(Schedule schedule, const Step& step) {
  try {
    schedule.apply(step);
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

TEST(StepRows, ArgumentsThatARowDoesNotDeclareAreRefused) {
  const Schedule s = test::spmm_schedule("sm_80");
  EXPECT_THAT(thrown(s, {"split_k", {{{}, "k"}, {"parts", std::int64_t{4}}}, {}}),
              HasSubstr("has an argument that it does not take"));
  EXPECT_THAT(thrown(s, {"split_k", {{"groups", std::int64_t{4}}, {"reduce", "shared"}}, {}}),
              HasSubstr("no loop"));
  EXPECT_THAT(thrown(s, {"split_k", {{{}, "k"}, {"groups", "shared"}}, {}}),
              HasSubstr("has a text where a number stands"));
  EXPECT_THAT(thrown(s, {"bind", {{{}, "m"}, {{}, std::int64_t{4}}}, {}}),
              HasSubstr("a number where a name stands"));
  EXPECT_THAT(thrown(s, {"balance", {{"parts", std::int64_t{2}}, {"parts", std::int64_t{4}}}, {}}),
              HasSubstr("has an argument twice"));
  EXPECT_THAT(thrown(s, {"fuse", {{{}, "m"}}, {}}), HasSubstr(".fuse(p, q)"));
  EXPECT_THAT(thrown(s, {"fuse", {{{}, "m"}}, {}, "best.json"}),
              HasSubstr(R"({"step": "fuse", "arguments": [["", "p"], ["", "q"]]})"));
  EXPECT_THAT(thrown(s, {"stage", {{{}, "B"}}, {}, "best.json"}),
              HasSubstr(R"(["", "B"], ["", "shared"], ["at", )"));
}

}  // namespace
}  // namespace weft
