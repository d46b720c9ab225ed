#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/cuda/assemble.h>
#include <weft/backends/cuda/toolkit.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>

namespace weft::cuda {
namespace {

using ::testing::Contains, ::testing::Field, ::testing::HasSubstr, ::testing::StartsWith;

std::string kernel(const std::string& name, const std::string& body) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry " + name + "(.param .u64 p)\n{\n" +
         body + "  ret;\n}\n";
}

/// Loads `count` values, waits for all threads, stores them: all of them live at once.
std::string wide_kernel(int count) {
  std::string body =
      "  .reg .b64 %rd;\n  .reg .f32 %f<" + std::to_string(count) + ">;\n  ld.param.u64 %rd, [p];\n";
  const auto access = [](int i) { return "[%rd+" + std::to_string(4 * i) + "]"; };
  for (int i = 0; i < count; ++i) {
    body += "  ld.volatile.global.f32 %f" + std::to_string(i) + ", " + access(i) + ";\n";
  }
  body += "  bar.sync 0;\n";
  for (int i = 0; i < count; ++i) {
    body += "  st.volatile.global.f32 " + access(i) + ", %f" + std::to_string(i) + ";\n";
  }
  return kernel("wide", body);
}

const std::string serialised = kernel("w", R"(
  .reg .f32 f<4>; .reg .b64 r<3>; .reg .pred q;
  ld.param.u64 r0, [p]; mov.u64 r1, r0; mov.u64 r2, r0;
  mov.f32 f0, 0f00000000; mov.f32 f1, f0; mov.f32 f2, f0; mov.f32 f3, f0;
  setp.ne.b32 q, 1, 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {f0, f1, f2, f3}, r1, r2, q, 1, 1, 0, 0;
  add.f32 f0, f0, f1;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {f0, f1, f2, f3}, r1, r2, q, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  st.global.f32 [r0], f0; st.global.f32 [r0+4], f1;
)");

class Ptxas : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_assemble()) GTEST_SKIP() << "[SKIP] " << toolkit().ptxas.reason;
  }
};

TEST_F(Ptxas, MakesACubinAndReportsIt) {
  const Assembled assembled = assemble(wide_kernel(16));
  EXPECT_TRUE(assembled.cubin.starts_with("\177ELF"));
  const FunctionResources* wide = assembled.report.find("wide");
  ASSERT_NE(wide, nullptr);
  EXPECT_GE(wide->registers, 16);
  EXPECT_EQ(wide->barriers, 1);
  EXPECT_EQ(wide->spill_store_bytes, 0U);
  EXPECT_GT(assembled.seconds, 0);
}

const std::string head = ".version 8.0\n.target sm_90a\n.address_size 64\n";
const std::string doubling = "func (.param .b32 r) twice (.param .b32 a)";
const std::string caller = head + ".extern ." + doubling +
                           ";\n.visible .entry calls(.param .u64 p)\n{\n"
                           "  .reg .b64 %rd; .reg .b32 %v; .param .b32 x; .param .b32 y;\n"
                           "  ld.param.u64 %rd, [p]; ld.global.u32 %v, [%rd]; st.param.b32 [x], %v;\n"
                           "  call (y), twice, (x);\n"
                           "  ld.param.b32 %v, [y]; st.global.u32 [%rd], %v; ret;\n}\n";

TEST_F(Ptxas, PartsAreLinked) {
  if (!can_link()) GTEST_SKIP() << "[SKIP] " << toolkit().nvlink.reason;
  AssembleOptions options;
  options.relocatable = true;
  const std::string callee = head + ".visible ." + doubling +
                             "\n{\n  .reg .b32 %v; ld.param.b32 %v, [a]; add.u32 %v, %v, %v;\n"
                             "  st.param.b32 [r], %v; ret;\n}\n";
  const std::string parts[] = {assemble(caller, options).cubin, assemble(callee, options).cubin};
  const Assembled linked = link(parts);
  EXPECT_TRUE(linked.cubin.starts_with("\177ELF"));
  ASSERT_NE(linked.report.find("calls"), nullptr);
  EXPECT_GT(linked.report.find("calls")->registers, 0);
  try {
    link({parts, 1});
    ADD_FAILURE() << "what is called is missing";
  } catch (const RuntimeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("twice"));
  }
}

TEST_F(Ptxas, ReportsSpills) {
  AssembleOptions options;
  options.most_registers = 32;
  const FunctionResources worst = assemble(wide_kernel(100), options).report.worst();
  EXPECT_LE(worst.registers, 32);
  EXPECT_GT(worst.spill_store_bytes, 0U);
  EXPECT_GT(worst.spill_load_bytes, 0U);
  EXPECT_GE(worst.stack_bytes, worst.spill_store_bytes);
}

TEST_F(Ptxas, ReportsSerialisedWgmma) {
  const Assembled assembled = assemble(serialised);
  EXPECT_THAT(assembled.report.notes, Contains(Field(&Note::code, StartsWith("C751"))));
  EXPECT_TRUE(assembled.cubin.starts_with("\177ELF"));
}

TEST_F(Ptxas, ErrorsCarryItsWordsAndTheLine) {
  try {
    assemble(kernel("k", "  .reg .f32 a;\n  adz.f32 a, a, a;\n"));
    FAIL();
  } catch (const RuntimeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("line 7: Not a name of any known instruction: 'adz'"));
    EXPECT_THAT(error.what(), HasSubstr("|   adz.f32 a, a, a;"));
    EXPECT_THAT(error.what(), HasSubstr("exit code 255"));
  }
}

TEST_F(Ptxas, UnknownArchitecturesAreRefused) {
  AssembleOptions options;
  options.architecture = "sm_90; rm -rf x";
  EXPECT_THROW(assemble(wide_kernel(4), options), UserError);
  options.architecture = "sm_91";
  try {
    assemble(wide_kernel(4), options);
    FAIL();
  } catch (const RuntimeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'sm_91' is not defined"));
  }
}

// Any program can stand in for ptxas, so these need no toolkit.
std::filesystem::path script(const TemporaryFolder& folder, const std::string& text) {
  const auto path = folder.path() / "ptxas";
  write_bytes(path, "#!/bin/sh\n" + text);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST(Assemble, ALimitInTime) {
  const TemporaryFolder folder;
  AssembleOptions options;
  options.ptxas = script(folder, "sleep 60\n");
  options.limit_seconds = 0.2;
  try {
    assemble("", options);
    FAIL();
  } catch (const RuntimeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no end within 0.2 s"));
  }
}

TEST(Assemble, NoOutputIsAnErrorAndTheFolderIsRemoved) {
  const TemporaryFolder folder;
  AssembleOptions options;
  options.ptxas = script(folder, "pwd > " + (folder.path() / "where").string() + "\n");
  EXPECT_THROW(assemble("text", options), RuntimeError);
  std::string where = read_bytes(folder.path() / "where");
  where.pop_back();
  EXPECT_FALSE(std::filesystem::exists(where)) << where;
}

TEST(Assemble, AMissingProgram) {
  AssembleOptions options;
  options.ptxas = "/no/such/ptxas";
  EXPECT_THROW(assemble("", options), RuntimeError);
}

}  // namespace
}  // namespace weft::cuda
