// Numbers of blocks and threads, and what the lanes of a warp tell one another.
#include <fmt/format.h>
#include <weft/scheduler/hardware/instructions/family.h>

namespace weft::families {
namespace {

/// The number of a block or a thread.
Instruction number_of(std::string_view name, std::string_view in_ptx, std::string_view in_cuda) {
  return {.name = name,
          .operands = {},
          .ptx = kept_text(fmt::format("mov.u32 $0, %{};", in_ptx)),
          .cuda = in_cuda,
          .llvm = kept_text(fmt::format("llvm.nvvm.read.ptx.sreg.{}", in_ptx))};
}

Instruction of_warp(std::string_view name, const char* what) {
  return effect(name, 80, {DType::i32}, fmt::format("redux.sync.{}.s32 $0, $1, 0xffffffff;", what),
                DType::i32, 1);
}

}  // namespace

Rows threads() {
  using enum DType;
  return {
      number_of("block_x", "ctaid.x", "blockIdx.x"),
      number_of("block_y", "ctaid.y", "blockIdx.y"),
      number_of("block_z", "ctaid.z", "blockIdx.z"),
      number_of("thread", "tid.x", "threadIdx.x"),
      // What lane $2 of the warp has in $1.
      effect("shuffle", 0, {i32, i32}, "shfl.sync.idx.b32 $0, $1, $2, 31, 0xffffffff;", i32, 1),
      // Whether no lane of the warp has a negative number.
      effect("none_negative", 0, {i32},
             "{ .reg .pred all; setp.ge.s32 all, $1, 0; vote.sync.all.pred all, all, "
             "0xffffffff; selp.b32 $0, 1, 0, all; }",
             i32, 1),
      of_warp(warp_maximum, "max"),
      of_warp(warp_minimum, "min"),
  };
}

}  // namespace weft::families
