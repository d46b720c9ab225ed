// What launches count, how seeds order them, calls and tables of branches, and PTX that cannot run.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>

#include "run_ptx.h"

namespace weft::simulator::machine_tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string write_result = "mad.wide.u32 %l3, %r1, 4, %l2;\nst.global.u32 [%l3], %r2;\n";

/// The counts of the instruction with `// here`.
InstructionCounts counts_of(const std::string& body, unsigned threads = 32) {
  const std::string text = framed(body);
  const Outcome run = run_ptx(text, {.threads = threads});
  EXPECT_TRUE(run.report.clean()) << run.report.text();
  const auto found =
      std::ranges::find(run.report.memory, *marked_lines(text).begin(), &InstructionCounts::line);
  if (found == run.report.memory.end()) return {};
  return *found;
}

TEST(Counts, PassesOfSharedMemory) {
  const auto passes = [](int stride, const char* type, const char* value) {
    return counts_of(fmt::format("mul.lo.u32 %r2, %r1, {};\nmov.u32 %r3, tile;\nadd.u32 %r3, %r3, %r2;\n"
                                 "mov.u32 %r4, 1;\nmov.u32 %r5, 1;\nmov.u32 %r6, 1;\nmov.u32 %r7, 1;\n"
                                 "st.shared.{} [%r3], {};  // here",
                                 stride, type, value))
        .shared_passes;
  };
  EXPECT_EQ(passes(4, "u32", "%r4"), 1U);
  EXPECT_EQ(passes(8, "u32", "%r4"), 2U);
  EXPECT_EQ(passes(12, "u32", "%r4"), 1U) << "odd strides meet every bank once";
  EXPECT_EQ(passes(64, "u32", "%r4"), 16U);
  EXPECT_EQ(passes(124, "u32", "%r4"), 1U);
  EXPECT_EQ(passes(0, "u32", "%r4"), 1U) << "one word for all";
  EXPECT_EQ(passes(8, "v2.u32", "{%r4, %r5}"), 2U);
  EXPECT_EQ(passes(16, "v4.u32", "{%r4, %r5, %r6, %r7}"), 4U);
  EXPECT_EQ(passes(32, "v4.u32", "{%r4, %r5, %r6, %r7}"), 8U);
}

TEST(Counts, SectorsOfGlobalMemory) {
  const auto sectors = [](int stride, int offset) {
    return counts_of(fmt::format("mad.wide.u32 %l3, %r1, {}, %l1;\nld.global.u32 %r2, [%l3+{}];  // here",
                                 stride, offset))
        .sectors;
  };
  EXPECT_EQ(sectors(4, 0), 4U);
  EXPECT_EQ(sectors(4, 4), 5U) << "shifted by a word";
  EXPECT_EQ(sectors(8, 0), 8U);
  EXPECT_EQ(sectors(32, 0), 32U);
  EXPECT_EQ(sectors(0, 96), 1U);
}

TEST(Counts, ExecutionsAreOfWarps) {
  const InstructionCounts counts =
      counts_of("mad.wide.u32 %l3, %r1, 4, %l2;\nst.global.u32 [%l3], %r1;  // here", 96);
  EXPECT_EQ(counts.executions, 3U);
  EXPECT_EQ(counts.sectors, 12U);
  EXPECT_EQ(counts.least_sectors, 12U);
}

TEST(Counts, InstructionsOfThreads) {
  const std::string compare = "setp.lt.u32 %p1, %r1, 5;\n";
  const LaunchReport less = run_ptx(framed(compare), {.threads = 48}).report;
  const LaunchReport more =
      run_ptx(framed(compare + "@%p1 mov.u32 %r2, 1;\nmov.u32 %r3, 1;\n"), {.threads = 48}).report;
  EXPECT_EQ(more.thread_instructions - less.thread_instructions, 5U + 48U);
  EXPECT_EQ(more.warp_instructions - less.warp_instructions, 4U);
}

TEST(Registers, NobodyGetsWhatNobodyGivesUp) {
  // 12 warps begin with 168 registers a thread.
  const auto findings = [](const std::string& of_producers) {
    const std::string body =
        "setp.lt.u32 %p1, %r1, 128;\n@%p1 bra $producers;\n"
        "setmaxnreg.inc.sync.aligned.u32 208;\nbra $done;\n$producers:\n" +
        of_producers + "$done:\n";
    return run_ptx(framed(body), {.threads = 384}).report.text();
  };
  EXPECT_THAT(findings("setmaxnreg.dec.sync.aligned.u32 88;\n"), Not(HasSubstr("registers")));
  EXPECT_THAT(findings("setmaxnreg.dec.sync.aligned.u32 96;\n"),
              HasSubstr("ask for 65536 registers in all and begin with 64512"));
  EXPECT_THAT(findings(""), HasSubstr("ask for 74752 registers"));
}

/// Warps draw numbers.
const std::string tickets =
    "setp.eq.u32 %p1, %r1, 0;\nmov.u32 %r3, 0;\n@%p1 st.shared.u32 [tile], %r3;\nbar.sync 0;\n"
    "and.b32 %r4, %r1, 31;\nsetp.eq.u32 %p2, %r4, 0;\nmov.u32 %r2, 99;\n"
    "@%p2 atom.shared.add.u32 %r2, [tile], 1;\n" +
    write_result;

TEST(Seeds, GiveTheSameRunEachTimeAndOthersAnother) {
  std::set<std::vector<std::uint32_t>> results;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Launch launch{.threads = 256};
    launch.options.seed = seed;
    const Outcome first = run_ptx(framed(tickets), launch), again = run_ptx(framed(tickets), launch);
    EXPECT_TRUE(first.report.clean()) << first.report.text();
    EXPECT_EQ(first.out, again.out);
    EXPECT_EQ(first.report.text(), again.report.text());
    results.insert(first.out);
  }
  EXPECT_GT(results.size(), 4U);
}

TEST(Seeds, FindingsOfASeedStay) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Launch launch{.blocks = 3, .threads = 64};
    launch.options.seed = seed;
    const std::string text = framed("st.global.u32 [%l2], %r1;\nst.shared.u32 [tile], %r1;\n");
    EXPECT_EQ(run_ptx(text, launch).report.text(), run_ptx(text, launch).report.text());
  }
}

TEST(Calls, AreExpanded) {
  const std::string functions =
      ".func (.param .b32 sum) twice(.param .b32 x)\n{\n  .reg .b32 %a, %b;\n  ld.param.b32 %a, [x];\n"
      "  add.u32 %b, %a, %a;\n  st.param.b32 [sum], %b;\n  ret;\n}\n"
      ".func (.param .b32 sum) fourfold(.param .b32 x)\n{\n  .reg .b32 %a, %b;\n  ld.param.b32 %a, [x];\n"
      "  {\n  .param .b32 p;\n  .param .b32 q;\n  st.param.b32 [p], %a;\n  call.uni (q), twice, (p);\n"
      "  ld.param.b32 %a, [q];\n  st.param.b32 [p], %a;\n  call.uni (q), twice, (p);\n"
      "  ld.param.b32 %b, [q];\n  }\n  st.param.b32 [sum], %b;\n  ret;\n}\n";
  const std::string call =
      "{\n.param .b32 p;\n.param .b32 q;\nst.param.b32 [p], %r1;\n"
      "call.uni (q), fourfold, (p);\nld.param.b32 %r2, [q];\n}\n";
  const Outcome run = run_ptx(framed(call + write_result, functions));
  EXPECT_TRUE(run.report.clean()) << run.report.text();
  for (std::uint32_t thread = 0; thread < 32; ++thread) EXPECT_EQ(run.out[thread], 4 * thread);
}

TEST(Calls, ScopesHaveParametersOfTheirOwnUnderOneName) {
  const std::string functions =
      ".func (.param .b32 sum) twice(.param .b32 x)\n{\n  .reg .b32 %a, %b;\n  ld.param.b32 %a, [x];\n"
      "  add.u32 %b, %a, %a;\n  st.param.b32 [sum], %b;\n  ret;\n}\n"
      ".func (.param .b16 sum) half(.param .b16 x)\n{\n  .reg .b16 %a;\n  ld.param.b16 %a, [x];\n"
      "  st.param.b16 [sum], %a;\n  ret;\n}\n";
  const std::string calls =
      "{\n.param .b32 p;\n.param .b32 q;\nst.param.b32 [p], 65536;\nst.param.b32 [q], 0;\n"
      "call.uni (q), twice, (p);\nld.param.b32 %r2, [q];\n}\n"
      "{\n.reg .b16 %h;\n.param .b16 p;\n.param .b16 q;\nmov.b16 %h, 3;\nst.param.b16 [p], %h;\n"
      "call.uni (q), half, (p);\n}\n";
  const Outcome run = run_ptx(framed(calls + write_result, functions));
  EXPECT_TRUE(run.report.clean()) << run.report.text();
  for (std::uint32_t thread = 0; thread < 32; ++thread) EXPECT_EQ(run.out[thread], 131072U);
}

TEST(Calls, FindingsAreOfTheLineInTheFunction) {
  const std::string functions =
      ".func read(.param .b64 from)\n{\n  .reg .b64 %a;\n  .reg .b32 %b;\n  ld.param.b64 %a, [from];\n"
      "  ld.global.u32 %b, [%a+2048];  // here\n  ret;\n}\n";
  const std::string text =
      framed("{\n.param .b64 p;\nst.param.b64 [p], %l1;\ncall.uni read, (p);\n}\n", functions);
  const Outcome run = run_ptx(text);
  ASSERT_EQ(run.report.findings.size(), 1U);
  EXPECT_EQ(run.report.findings[0].line, *marked_lines(text).begin());
  EXPECT_EQ(run.report.findings[0].kind, "out of bounds");
}

TEST(Branches, LanesGoWhereTheTableSays) {
  const Outcome run = run_ptx(
      framed("and.b32 %r3, %r1, 3;\nmov.u32 %r2, 7;\ntargets: .branchtargets A, B, C, A;\n"
             "brx.idx %r3, targets;\nA: add.u32 %r2, %r2, 100;\nbra.uni done;\nB: add.u32 %r2, %r2, 200;\n"
             "bra.uni done;\nC: add.u32 %r2, %r2, 300;\ndone:\nadd.u32 %r2, %r2, %r1;\n" +
             write_result));
  EXPECT_TRUE(run.report.clean()) << run.report.text();
  constexpr std::uint32_t added[] = {100, 200, 300, 100};
  for (std::uint32_t thread = 0; thread < 32; ++thread)
    EXPECT_EQ(run.out[thread], 7 + added[thread % 4] + thread);
}

TEST(Branches, LanesMeetAgainAfterLoopsOfTheirOwnLength) {
  const Outcome run =
      run_ptx(framed("mov.u32 %r2, 0;\nmov.u32 %r3, 0;\nnext: add.u32 %r2, %r2, 2;\nadd.u32 %r3, %r3, 1;\n"
                     "setp.le.u32 %p1, %r3, %r1;\n@%p1 bra next;\n"
                     "shfl.sync.bfly.b32 %r2, %r2, 1, 31, 0xffffffff;\n" +
                     write_result));
  EXPECT_TRUE(run.report.clean()) << run.report.text();
  for (std::uint32_t thread = 0; thread < 32; ++thread) EXPECT_EQ(run.out[thread], 2 * ((thread ^ 1) + 1));
}

/// The error's text; its line has to be the marked one.
void expect_refused(const std::string& text, const std::string& found) {
  try {
    run_ptx(text);
    ADD_FAILURE() << "accepted:\n" << text;
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr(found));
    EXPECT_THAT(error.what(),
                ::testing::ContainsRegex(fmt::format("line {}([^0-9]|$)", *marked_lines(text).begin())))
        << text;
  }
}

TEST(BadPtx, IsRefusedWithItsLine) {
  expect_refused(framed("add.u32 %r2, %r1;  // here"), "add.u32");
  expect_refused(framed("add.u32 %r2;  // here"), "add.u32");
  expect_refused(framed("add.u32 %r2, %r1, %r1, %r1;  // here"), "add.u32");
  expect_refused(framed("frobnicate.u32 %r2, %r1;  // here"), "frobnicate");
  expect_refused(framed("add.rn.u32 %r2, %r1, %r1;  // here"), "add.rn.u32");
  expect_refused(framed("add.u32 %l3, %l1, %l1;  // here"), "add.u32");
  expect_refused(framed("ld.global.u32 %r2;  // here"), "ld.global.u32");
  expect_refused(framed("st.global.u32 [%l2];  // here"), "st.global.u32");
  expect_refused(
      framed("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0}, {%r1}, {%r1}, {%f0};  // here"),
      "mma.sync");
  expect_refused(framed("call.uni nowhere;  // here"), "nowhere");
}

TEST(BadPtx, RecursionIsRefused) {
  const std::string functions =
      ".func again(.param .b32 x)\n{\n  .reg .b32 %a;\n  ld.param.b32 %a, [x];\n  {\n  .param .b32 p;\n"
      "  st.param.b32 [p], %a;\n  call.uni again, (p);  // here\n  }\n  ret;\n}\n";
  expect_refused(framed("{\n.param .b32 p;\nst.param.b32 [p], %r1;\ncall.uni again, (p);\n}\n", functions),
                 "recursion");
}

TEST(SimulatedMachine, StoresTheLowPartOfAWiderRegister) {
  const Outcome outcome = run_ptx(framed(R"(
  mad.wide.u32 %l3, %r1, 4, %l2;
  cvt.u64.u32 %l4, %r1;
  add.u64 %l4, %l4, 0x7000000010000;
  mov.u32 %r2, 0;
  st.global.u32 [%l3], %r2;
  st.global.u16 [%l3], %l4;
)"));
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(outcome.out[lane], lane);
}

TEST(SimulatedMachine, BytesOfALoadThatAreNotUsedNeedNotBeWritten) {
  const Outcome outcome = run_ptx(framed(R"(
  mad.wide.u32 %l3, %r1, 4, %l2;
  cvt.u16.u32 %h1, %r1;
  st.shared.u16 [tile], %h1;
  bar.warp.sync -1;
  .pragma "used_bytes_mask 3";
  ld.shared.u32 %r2, [tile];
  cvt.u16.u32 %h2, %r2;
  cvt.u32.u16 %r3, %h2;
  st.global.u32 [%l3], %r3;
)"));
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
}

TEST(SimulatedMachine, BytesOfALoadThatAreNotUsedMayBeWrittenMeanwhile) {
  const std::string read = R"(
  setp.eq.u32 %p1, %r1, 0;
  @%p1 st.shared.v2.u32 [tile], {%r1, %r1};
  cp.async.ca.shared.global [tile+4], [%l1], 4;
)";
  const std::string load = "  ld.shared.v2.u32 {%r2, %r3}, [tile];\n  cp.async.wait_all;\n";
  EXPECT_FALSE(run_ptx(framed(read + load), {.threads = 1}).report.findings.empty());
  const Outcome outcome =
      run_ptx(framed(read + "  .pragma \"used_bytes_mask 15\";\n" + load), {.threads = 1});
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
}

TEST(SimulatedMachine, OneWrittenPartMakesAPair) {
  const Outcome outcome = run_ptx(framed(R"(
  mad.wide.u32 %l3, %r1, 4, %l2;
  cvt.u16.u32 %h1, %r1;
  mov.b32 %r2, {%h1, %h2};
  mov.b32 {%h3, %h4}, %r2;
  cvt.u32.u16 %r3, %h3;
  st.global.u32 [%l3], %r3;
)"));
  EXPECT_TRUE(outcome.report.findings.empty()) << outcome.report.text();
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(outcome.out[lane], lane);
}

}  // namespace
}  // namespace weft::simulator::machine_tests
