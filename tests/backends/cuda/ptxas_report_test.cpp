#include <gtest/gtest.h>
#include <weft/backends/cuda/ptxas_report.h>
#include <weft/backends/cuda/toolkit.h>
#include <weft/dsl/errors.h>

namespace weft::cuda {
namespace {

TEST(PtxasReport, SeveralKernels) {
  const PtxasReport report = read_ptxas_report(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'spill' for 'sm_90a'\n"
      "ptxas info    : Function properties for spill\n"
      "    352 bytes stack frame, 348 bytes spill stores, 436 bytes spill loads\n"
      "ptxas info    : Used 64 registers, used 1 barriers, 352 bytes cumulative stack size, 256 bytes smem\n"
      "ptxas info    : Compile time = 53.308 ms\n"
      "ptxas info    : Compiling entry function 'add' for 'sm_90a'\n"
      "ptxas info    : Function properties for add\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 12 registers, 380 bytes cmem[0]\n");
  ASSERT_EQ(report.functions.size(), 2U);
  const FunctionResources* spill = report.find("spill");
  ASSERT_NE(spill, nullptr);
  EXPECT_EQ(spill->registers, 64);
  EXPECT_EQ(spill->barriers, 1);
  EXPECT_EQ(spill->stack_bytes, 352U);
  EXPECT_EQ(spill->spill_store_bytes, 348U);
  EXPECT_EQ(spill->spill_load_bytes, 436U);
  EXPECT_EQ(spill->shared_bytes, 256U);
  const FunctionResources* add = report.find("add");
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(add->registers, 12);
  EXPECT_EQ(add->stack_bytes, 0U);
  EXPECT_EQ(add->constant_bytes, 380U);
  EXPECT_EQ(report.find("other"), nullptr);
  EXPECT_EQ(report.worst().function, "spill");
  EXPECT_EQ(report.worst().registers, 64);
  EXPECT_TRUE(report.notes.empty());
}

TEST(PtxasReport, NotesAndWarnings) {
  const PtxasReport report = read_ptxas_report(
      "ptxas info    : (C7517) warpgroup.wait is injected in around line 12 by compiler in function 'w'\n"
      "ptxas warning : Registers are spilled to local memory in function 'w', 8 bytes spill stores\n"
      "ptxas info    : (C7504) Potential Performance Loss: 'setmaxnreg' ignored\n");
  ASSERT_EQ(report.notes.size(), 2U);
  EXPECT_EQ(report.notes[0].code, "C7517");
  EXPECT_EQ(report.notes[0].text, "warpgroup.wait is injected in around line 12 by compiler in function 'w'");
  EXPECT_EQ(report.notes[1].code, "C7504");
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_EQ(report.warnings[0],
            "Registers are spilled to local memory in function 'w', 8 bytes spill stores");
}

TEST(PtxasReport, AnyTextIsRead) {
  for (const char* text :
       {"", "\n\n", "(C", "(C)", "(C7517", ": Used ", "99999999999999999999999 bytes stack frame",
        "Compiling entry function '", "Function properties for \n bytes stack frame", "warning "}) {
    const PtxasReport report = read_ptxas_report(text);
    EXPECT_EQ(report.worst().registers, 0) << text;
  }
}

TEST(PtxasReport, ErrorsShowTheLine) {
  EXPECT_EQ(
      explain_ptxas_errors("ptxas kernel.ptx, line 2; error   : Not a name of any known instruction: 'adz'\n"
                           "ptxas fatal   : Ptx assembly aborted due to errors\n",
                           "first\n  adz.f32 a, b;\nthird"),
      "  line 2: Not a name of any known instruction: 'adz'\n    |   adz.f32 a, b;\n");
  EXPECT_EQ(explain_ptxas_errors("ptxas kernel.ptx, line 9; fatal   : Parsing error\n", "one"),
            "  line 9: Parsing error\n");
  EXPECT_EQ(explain_ptxas_errors("ptxas fatal   : Value 'sm_91' is not defined\n", "one"),
            "ptxas fatal   : Value 'sm_91' is not defined\n");
}

TEST(Toolkit, Names) {
  EXPECT_EQ(version_in("Cuda compilation tools, release 13.0, V13.0.88\nBuild"), "13.0.88");
  EXPECT_EQ(version_in("release 12.4"), "12.4");
  EXPECT_EQ(version_in("something"), "");
  EXPECT_EQ(virtual_architecture("sm_90a"), "compute_90a");
  for (const char* name : {"sm_80", "sm_90", "sm_90a", "sm_100f", "sm_120"})
    EXPECT_NO_THROW(check_architecture(name));
  for (const char* name : {"", "sm_", "sm_9", "90a", "sm_90b", "sm_90 -o x", "sm_1234", "compute_90"}) {
    EXPECT_THROW(check_architecture(name), UserError) << name;
  }
}

}  // namespace
}  // namespace weft::cuda
