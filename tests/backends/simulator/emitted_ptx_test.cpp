// The reader takes what both emitters make.
#include <gtest/gtest.h>
#include <support/examples.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/ptx/parse.h>

#include <algorithm>

namespace weft::simulator::ptx {
namespace {

struct Case {
  Emitter emitter;
  const char* target;
  Format format;
  bool is_convolution;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Emitter emitter : {Emitter::llvm, Emitter::cuda}) {
    for (const char* target : {"sm_80", "sm_90a"}) {
      for (const Format& format : {formats::csr(), formats::csc(), formats::coo(), formats::ell()}) {
        for (const bool is_convolution : {false, true})
          all.push_back({emitter, target, format, is_convolution});
      }
    }
  }
  return all;
}

/// Without instructions that no kernel can lack, something was not read.
void expect_whole(const Module& module, const char* target) {
  EXPECT_EQ(module.target, target);
  ASSERT_EQ(module.functions.size(), 1U);
  const Function& kernel = module.functions[0];
  EXPECT_TRUE(kernel.is_entry);
  EXPECT_GE(kernel.parameters.size(), 3U);
  EXPECT_GT(kernel.max_threads[0] + kernel.required_threads[0], 0);
  for (const char* opcode : {"ld", "st", "ret"}) {
    EXPECT_TRUE(std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                            [&](const Instruction& each) { return each.opcode == opcode; }))
        << opcode;
  }
}

class EmittedPtx : public ::testing::TestWithParam<Case> {};

TEST_P(EmittedPtx, IsRead) {
  const auto& [emitter, target, format, is_convolution] = GetParam();
  if (emitter == Emitter::cuda) {
    const bool has_compiler = cuda::compiler_status(cuda::Compiler::nvrtc).found() ||
                              cuda::compiler_status(cuda::Compiler::nvcc).found();
    if (!has_compiler) GTEST_SKIP() << "[SKIP] no compiler of CUDA source";
  }
  const Schedule schedule =
      is_convolution ? test::convolution_schedule(target, format) : test::spmm_schedule(target, format);
  KernelOptions options;
  options.emitter = emitter;
  options.assemble = false;
  expect_whole(parse(compile(schedule, options).ptx()), target);
}

INSTANTIATE_TEST_SUITE_P(All, EmittedPtx, ::testing::ValuesIn(cases()));

}  // namespace
}  // namespace weft::simulator::ptx
