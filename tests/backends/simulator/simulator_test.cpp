// Each kind of finding by a small kernel that has it, and a correct twin that has none.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "run_ptx.h"

namespace weft::simulator::machine_tests {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A kernel and what has to be found in it, in every order: at a line with `// here`.
struct Case {
  std::string name;
  std::string kind;
  std::string wrong, right;  ///< bodies
  std::string text;          ///< part of the finding's
  std::string place;         ///< with the buffer's name; empty where no memory is involved
  std::set<int> warps{0};
  Launch launch{};
  std::set<unsigned> blocks{0};
};

const std::string fill_tile =
    "  shl.b32 %r9, %r1, 2;\n  mov.u32 %r8, tile;\n  add.u32 %r9, %r9, %r8;\n"
    "  st.shared.u32 [%r9], %r1;\n  bar.sync 0;\n";

/// Takes %r3 out of the thread; what is only computed with may have been computed ahead.
const std::string keep_3 = "mad.wide.u32 %l3, %r1, 4, %l2;\nst.global.u32 [%l3], %r3;\n";
const std::string keep_3_where_p1 = "mad.wide.u32 %l3, %r1, 4, %l2;\n@%p1 st.global.u32 [%l3], %r3;\n";

std::vector<Case> accesses() {
  return {
      {"OutOfBounds", "out of bounds", "ld.global.u32 %r2, [%l1+1024];  // here",
       "ld.global.u32 %r2, [%l1+1020];", "data has 1024 bytes", "data + 1024 bytes"},
      {"BeforeABuffer", "out of bounds", "st.global.u32 [%l2+-4], %r1;  // here", "st.global.u32 [%l2], %r0;",
       "4 bytes at", ""},
      {"FarFromAnyBuffer", "out of bounds",
       "mov.u64 %l3, 0xFFFF000000000000;\nld.global.u32 %r2, [%l3];  // here", "ld.global.u32 %r2, [%l1];",
       "no buffer is", ""},
      {"OutOfSharedMemory", "out of bounds", fill_tile + "ld.shared.u32 %r2, [tile+8192];  // here",
       fill_tile + "ld.shared.u32 %r2, [tile+124];", "shared memory has", "shared memory + 8192 bytes"},
      {"Misaligned", "misaligned", "ld.global.u32 %r2, [%l1+6];  // here", "ld.global.u32 %r2, [%l1+8];",
       "4 bytes at", "data + 6 bytes"},
      {"MisalignedVector", "misaligned", "ld.global.v2.u32 {%r2, %r3}, [%l1+4];  // here",
       "ld.global.v2.u32 {%r2, %r3}, [%l1+8];", "8 bytes at", "data + 4 bytes"},
      {"UnwrittenMemory", "unwritten memory", "ld.global.u32 %r2, [%l2+16];  // here",
       "mad.wide.u32 %l3, %r1, 4, %l2;\nst.global.u32 [%l3], %r1;\nld.global.u32 %r2, [%l3];",
       "4 bytes that nobody wrote", "out + 16 bytes"},
      {"UnwrittenSharedMemory", "unwritten memory",
       "ld.shared.u32 %r2, [tile+64];  // here\nadd.u32 %r3, %r2, 1;\n" + keep_3,
       fill_tile + "ld.shared.u32 %r2, [tile+64];\nadd.u32 %r3, %r2, 1;\n" + keep_3,
       "4 bytes that nobody wrote", "tile + 64 bytes"},
      {"UnwrittenVector", "unwritten memory",
       "ld.shared.v2.u32 {%r2, %r4}, [tile+64];  // here\nadd.u32 %r3, %r4, 1;\n" + keep_3,
       "ld.shared.v2.u32 {%r2, %r4}, [tile+64];\nadd.u32 %r3, %r4, 1;", "8 bytes that nobody wrote",
       "tile + 64 bytes"},
      {"UnwrittenAndKeptByOthers", "unwritten memory",
       "ld.shared.u32 %r2, [tile+64];  // here\nadd.u32 %r3, %r2, 1;\nsetp.lt.u32 %p1, %r1, 40;\n" +
           keep_3_where_p1,
       "ld.shared.u32 %r2, [tile+64];\nadd.u32 %r3, %r2, 1;\nsetp.gt.u32 %p1, %r1, 40;\n" + keep_3_where_p1,
       "4 bytes that nobody wrote", "tile + 64 bytes"},
      {"UnwrittenElement", "unwritten register",
       "mov.u32 %r2, 5;\nst.shared.u32 [tile], %r2;\nbar.warp.sync -1;\n"
       "ld.shared.v2.u32 {%r2, %r4}, [tile];\nadd.u32 %r3, %r4, 1;  // here\n" +
           keep_3,
       "mov.u32 %r2, 5;\nst.shared.u32 [tile], %r2;\nbar.warp.sync -1;\n"
       "ld.shared.v2.u32 {%r2, %r4}, [tile];\nadd.u32 %r3, %r2, 1;\n" +
           keep_3,
       "reads %r4, which nobody wrote", ""},
      {"UnwrittenAndUsed", "unwritten register",
       "cvt.u16.u32 %h1, %r1;\nst.shared.u16 [tile], %h1;\nst.shared.u16 [tile+2], %h1;\n"
       "st.shared.u16 [tile+4], %h1;\nbar.warp.sync -1;\n.pragma \"used_bytes_mask 0xff\";\n"
       "ld.shared.v2.u32 {%r2, %r4}, [tile];\nadd.u32 %r3, %r4, 1;  // here\n" +
           keep_3,
       "cvt.u16.u32 %h1, %r1;\nst.shared.u16 [tile], %h1;\nst.shared.u16 [tile+2], %h1;\n"
       "st.shared.u16 [tile+4], %h1;\nbar.warp.sync -1;\n.pragma \"used_bytes_mask 63\";\n"
       "ld.shared.v2.u32 {%r2, %r4}, [tile];\nadd.u32 %r3, %r4, 1;\n" +
           keep_3,
       "reads %r4, which nobody wrote", ""},
      {"UnwrittenRegister", "unwritten register", "add.u32 %r3, %r2, 1;  // here\n" + keep_3,
       "mov.u32 %r2, 5;\nadd.u32 %r3, %r2, 1;\n" + keep_3, "reads %r2, which nobody wrote", ""},
      {"UnwrittenSum", "unwritten register",
       "add.u32 %r3, %r2, 1;  // here\nadd.u32 %r3, %r3, %r3;\nsetp.lt.u32 %p1, %r3, 7;\n@%p1 mov.u32 %r4, "
       "5;",
       "add.u32 %r3, %r2, 1;\nadd.u32 %r3, %r3, %r3;\nsetp.lt.u32 %p1, %r3, 7;",
       "reads %r2, which nobody wrote", ""},
      {"UnwrittenCondition", "unwritten register",
       "setp.lt.u32 %p1, %r1, 90;\nsetp.lt.u32 %p2, %r2, 7;  // here\nand.pred %p1, %p1, %p2;\n@%p1 mov.u32 "
       "%r4, 5;",
       "setp.gt.u32 %p1, %r1, 90;\nsetp.lt.u32 %p2, %r2, 7;\nand.pred %p1, %p1, %p2;\n@%p1 mov.u32 %r4, 5;",
       "reads %r2, which nobody wrote", ""},
      {"UnwrittenAlternative", "unwritten register",
       "setp.gt.u32 %p1, %r1, 90;\nsetp.lt.u32 %p2, %r2, 7;  // here\nor.pred %p1, %p1, %p2;\n@%p1 mov.u32 "
       "%r4, 5;",
       "setp.lt.u32 %p1, %r1, 90;\nsetp.lt.or.u32 %p2, %r2, 7, %p1;\n@%p2 mov.u32 %r4, 5;",
       "reads %r2, which nobody wrote", ""},
      {"UnwrittenSign", "unwritten register",
       "sub.s32 %r4, %r1, 90;\nor.b32 %r3, %r4, %r2;  // here\nsetp.gt.s32 %p1, %r3, 0;\n@%p1 mov.u32 %r5, "
       "5;",
       "sub.s32 %r4, %r1, 90;\nor.b32 %r3, %r4, %r2;\nsetp.lt.s32 %p1, %r3, 0;\n@%p1 mov.u32 %r5, 5;",
       "reads %r2, which nobody wrote", ""},
      {"UnwrittenOtherSign", "unwritten register",
       "or.b32 %r3, %r1, %r2;  // here\nsetp.gt.s32 %p1, %r3, -1;\n@%p1 mov.u32 %r5, 5;",
       "and.b32 %r3, %r1, %r2;\nsetp.gt.s32 %p1, %r3, -1;\n@%p1 mov.u32 %r5, 5;",
       "reads %r2, which nobody wrote", ""},
      {"UnwrittenGuard", "unwritten register", "@%p1 mov.u32 %r2, 5;  // here",
       "setp.eq.u32 %p1, %r1, 3;\n@%p1 mov.u32 %r2, 5;", "its guard %p1 was never written", ""},
      {"PartlyWrittenRegister", "unwritten register",
       "setp.lt.u32 %p1, %r1, 7;\n@%p1 mov.u32 %r2, 5;\nadd.u32 %r3, %r2, 1;  // here\n" + keep_3,
       "setp.lt.u32 %p1, %r1, 7;\n@%p1 mov.u32 %r2, 5;\nadd.u32 %r3, %r2, 1;\n" + keep_3_where_p1,
       "reads %r2", ""},
  };
}

/// Words of which somebody wrote a part: %r4 has its byte 1 from the thread's number, by the line that is
/// `here`.
std::vector<Case> parts_of_words() {
  const std::string byte_1 = "bfi.b32 %r4, %r1, %r2, 8, 8;  // here\n";
  const std::string halves =
      "cvt.u16.u32 %h1, %r1;\nst.shared.u16 [tile+2], %h1;\nbar.warp.sync -1;\n"
      "ld.shared.u32 %r2, [tile];  // here\n";
  const std::string product =
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f0, %f1, %f2, %f3}, {%r4, %r4, %r4, %r4}, "
      "{%r1, %r1}, {%f4, %f4, %f4, %f4};\n";
  const std::string some_again = "setp.lt.u32 %p1, %r1, 7;\n@%p1 add.u32 %r4, %r5, 1;  // here\n";
  const auto one = [](std::string name, std::string wrong, std::string right, std::string text) {
    return Case{std::move(name),  "unwritten register", std::move(wrong),
                std::move(right), std::move(text),      ""};
  };
  const auto of_byte_1 = [&](std::string name, const std::string& wrong, const std::string& right) {
    return one(std::move(name), byte_1 + wrong, byte_1 + right, "reads %r2, which nobody wrote");
  };
  return {
      of_byte_1("Extracted", "bfe.u32 %r3, %r4, 9, 8;\n" + keep_3, "bfe.u32 %r3, %r4, 8, 8;\n" + keep_3),
      of_byte_1("ExtractedWithItsSign", "bfe.s32 %r3, %r4, 8, 9;\n" + keep_3,
                "bfe.s32 %r3, %r4, 8, 8;\n" + keep_3),
      of_byte_1("Masked", "and.b32 %r3, %r4, 0x1FF00;\n" + keep_3, "and.b32 %r3, %r4, 0xFF00;\n" + keep_3),
      of_byte_1("Covered", "or.b32 %r3, %r4, 0xFFFE00FF;\n" + keep_3,
                "or.b32 %r3, %r4, 0xFFFF00FF;\n" + keep_3),
      of_byte_1("InAnyLogic", "lop3.b32 %r3, %r4, 0x1FF00, %r1, 0xEA;\n" + keep_3,
                "lop3.b32 %r3, %r4, 0xFF00, %r1, 0xEA;\n" + keep_3),
      of_byte_1("Shifted", "shl.b32 %r5, %r4, 15;\nshr.u32 %r3, %r5, 24;\n" + keep_3,
                "shl.b32 %r5, %r4, 16;\nshr.u32 %r3, %r5, 24;\n" + keep_3),
      of_byte_1("Permuted", "prmt.b32 %r3, %r4, %r1, 0x4425;\n" + keep_3,
                "prmt.b32 %r3, %r4, %r1, 0x4415;\n" + keep_3),
      of_byte_1("InsertedInto", "bfi.b32 %r3, %r4, %r1, 16, 9;\n" + keep_3,
                "shr.u32 %r5, %r4, 8;\nbfi.b32 %r3, %r5, %r1, 16, 8;\n" + keep_3),
      of_byte_1("Copied",
                "mov.b32 %f0, %r4;\nmov.b32 %r5, %f0;\nmov.b32 {%h1, %h2}, %r5;\n"
                "cvt.u32.u16 %r3, %h2;\n" +
                    keep_3,
                "mov.b32 %f0, %r4;\nmov.b32 %r5, %f0;\nmov.b32 {%h1, %h2}, %r5;\nshr.u16 %h1, %h1, 8;\n"
                "cvt.u32.u16 %r3, %h1;\n" +
                    keep_3),
      of_byte_1("Narrowed", "shr.u32 %r5, %r4, 8;\ncvt.u32.u16 %r3, %r5;\n" + keep_3,
                "shr.u32 %r5, %r4, 8;\ncvt.u32.u8 %r3, %r5;\n" + keep_3),
      of_byte_1("Stored", "shr.u32 %r5, %r4, 8;\nst.global.u16 [%l2], %r5;\n",
                "shr.u32 %r5, %r4, 8;\nst.global.u8 [%l2], %r5;\n"),
      of_byte_1("Compared", "setp.lt.u32 %p1, %r4, 7;\n@%p1 mov.u32 %r5, 5;\n",
                "and.b32 %r4, %r4, 0xFF00;\nsetp.lt.u32 %p1, %r4, 7;\n@%p1 mov.u32 %r5, 5;\n"),
      of_byte_1("Multiplied", "mov.f32 %f4, 0f00000000;\n" + product,
                "mov.f32 %f4, 0f00000000;\nprmt.b32 %r4, %r4, 0, 0x1111;\n" + product),
      of_byte_1("AnAddress", "mov.u32 %r5, tile;\nadd.u32 %r5, %r5, %r4;\nst.shared.u32 [%r5], %r1;\n",
                "mov.u32 %r5, tile;\nbfe.u32 %r4, %r4, 10, 6;\nshl.b32 %r4, %r4, 2;\n"
                "add.u32 %r5, %r5, %r4;\nst.shared.u32 [%r5], %r1;\n"),
      one("AddedAgain", byte_1 + some_again + "bfe.u32 %r3, %r4, 8, 8;\n" + keep_3,
          byte_1 + "mov.u32 %r5, 5;\n" + some_again + "bfe.u32 %r3, %r4, 8, 8;\n" + keep_3,
          "reads %r5, which nobody wrote"),
      one("WhichByte", "prmt.b32 %r3, %r1, %r1, %r2;  // here\n" + keep_3,
          "and.b32 %r2, %r2, 0;\nprmt.b32 %r3, %r1, %r1, %r2;\n" + keep_3, "reads %r2, which nobody wrote"),
      one("HowFar", "shl.b32 %r3, %r1, %r2;  // here\n" + keep_3,
          "and.b32 %r2, %r2, 0;\nshl.b32 %r3, %r1, %r2;\n" + keep_3, "reads %r2, which nobody wrote"),
      one("OfTwo", "xor.b32 %r3, %r2, %r4;  // here\n" + keep_3, "xor.b32 %r3, %r2, %r2;\n" + keep_3,
          "which nobody wrote"),
      {"Loaded", "unwritten memory", halves + "shr.u32 %r3, %r2, 15;\n" + keep_3,
       halves + "shr.u32 %r3, %r2, 16;\n" + keep_3, "4 bytes that nobody wrote", "tile + 0 bytes"},
  };
}

std::vector<Case> races() {
  const std::string first_warp = "setp.lt.u32 %p1, %r1, 32;\n";
  const std::string read_and_write = fill_tile + first_warp + "@%p1 ld.shared.u32 %r2, [tile+8];  // here\n";
  const std::string write = "@!%p1 st.shared.u32 [tile+8], %r0;  // here\n";
  const std::string copy = fill_tile + "cp.async.ca.shared.global [tile], [%l1], 16;  // here\n";
  const std::string read = "ld.shared.u32 %r2, [tile];  // here\n";
  const std::string first_thread = "setp.eq.u32 %p1, %r1, 0;\n";
  const std::string bulk =
      "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%l2], [tile], 128;  // here\n"
      "@%p1 cp.async.bulk.commit_group;\n@%p1 cp.async.bulk.wait_group 0;\n";
  return {
      {"BetweenWarps",
       "race",
       read_and_write + write,
       read_and_write + "bar.sync 0;\n" + write,
       "and nothing orders the two",
       "tile + 8 bytes",
       {0, 1},
       {.threads = 64}},
      {"BetweenBlocks",
       "race",
       "st.global.u32 [%l2+12], %r0;  // here",
       "mad.wide.u32 %l3, %r0, 4, %l2;\nst.global.u32 [%l3+12], %r0;",
       "of another block",
       "out + 12 bytes",
       {0},
       {.blocks = 2},
       {0, 1}},
      {"WithACopyNotWaitedFor", "race", copy + read, copy + "cp.async.wait_all;\nbar.sync 0;\n" + read,
       "nothing orders the two", "tile + 0 bytes"},
      {"WithACopyOfTheLastGroup", "race", copy + "cp.async.commit_group;\ncp.async.wait_group 1;\n" + read,
       copy + "cp.async.commit_group;\ncp.async.wait_group 0;\n" + read, "nothing orders the two",
       "tile + 0 bytes"},
      {"MissingProxyFence", "missing proxy fence", fill_tile + first_thread + bulk,
       "shl.b32 %r9, %r1, 2;\nmov.u32 %r8, tile;\nadd.u32 %r9, %r9, %r8;\nst.shared.u32 [%r9], %r1;\n"
       "fence.proxy.async;\nbar.sync 0;\n" +
           first_thread + bulk,
       "without fence.proxy.async", "tile + 0 bytes"},
  };
}

std::vector<Case> meetings() {
  const std::string init =
      "mov.u32 %r5, barrier;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared.b64 [%r5], 2;\nbar.sync "
      "0;\n"
      "@%p1 mbarrier.arrive.shared.b64 %l5, [%r5];\n";
  const std::string two_of_four =
      "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra first;\nsetp.ge.u32 %p2, %r1, 64;\n@%p2 bra done;\n";
  const std::string load = fill_tile + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r8];\n";
  const std::string wait =
      "again: // here\nmbarrier.try_wait.parity.shared.b64 %p2, [%r5], 0;  // here\n@!%p2 bra again;  // "
      "here\n";
  return {
      {"BarrierOfSomeLanes", "barrier",
       "setp.lt.u32 %p1, %r1, 16;\n@%p1 bar.sync 0;  // here\n@!%p1 bar.sync 0;  // here", "bar.sync 0;",
       "only lanes 0x", ""},
      {"BarrierOfOtherCount",
       "barrier",
       two_of_four + "bar.sync 1, 64;  // here\nbra done;\nfirst:\nbar.sync 1, 96;  // here\ndone:",
       two_of_four + "bar.sync 1, 64;\nbra done;\nfirst:\nbar.arrive 1, 64;\ndone:",
       "threads, others at the same barrier expect",
       "",
       {0, 1},
       {.threads = 128}},
      {"BarrierNotReachedByAll",
       "deadlock",
       "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra done;\nbar.sync 0;  // here\ndone:",
       "bar.sync 0;",
       "waits at a barrier that not all threads reach",
       "",
       {1},
       {.threads = 64}},
      {"WaitsForAnArrivalThatNeverComes", "deadlock", init + wait,
       init + "@%p1 mbarrier.arrive.shared.b64 %l5, [%r5];\n" + wait,
       "waits for something that nobody will do", ""},
      {"ArrivalBesideLdmatrix", "early arrival",
       init + "bar.sync 0;\n" + load + "@%p1 mbarrier.arrive.shared.b64 %l5, [%r5];  // here\n" + wait,
       init + "bar.sync 0;\n" + load + "fence.acq_rel.cta;\nbar.warp.sync 0xffffffff;\n" +
           "@%p1 mbarrier.arrive.shared.b64 %l5, [%r5];\n" + wait,
       "ldmatrix may still read", ""},
      {"Trap", "trap", "setp.eq.u32 %p1, %r1, 5;\n@%p1 trap;  // here",
       "setp.eq.u32 %p1, %r1, 50;\n@%p1 trap;", "gave up", ""},
      {"DivergedShuffle", "diverged",
       "setp.lt.u32 %p1, %r1, 16;\n@%p1 shfl.sync.idx.b32 %r2, %r1, 0, 31, 0xffffffff;  // here",
       "setp.lt.u32 %p1, %r1, 16;\n@%p1 shfl.sync.idx.b32 %r2, %r1, 0, 31, 0x0000ffff;",
       "names lanes 0xffff0000 that are elsewhere", ""},
      {"ShuffleFromAnAbsentLane", "diverged",
       "setp.lt.u32 %p1, %r1, 16;\n@%p1 shfl.sync.idx.b32 %r2, %r1, 20, 31, 0x0000ffff;  // here",
       "setp.lt.u32 %p1, %r1, 16;\n@%p1 shfl.sync.idx.b32 %r2, %r1, 10, 31, 0x0000ffff;",
       "reads lane 20, which does not take part", ""},
  };
}

std::vector<Case> in_flight() {
  // A of ones in registers, B of 16 x 8 in shared memory.
  const std::string product =
      "shl.b32 %r9, %r1, 2;\nmov.u32 %r8, tile;\nadd.u32 %r9, %r9, %r8;\nmov.u32 %r7, 0x3C003C00;\n"
      "st.shared.u32 [%r9], %r7;\nfence.proxy.async;\nbar.sync 0;\n"
      "shr.u32 %r8, %r8, 4;\nand.b32 %r8, %r8, 0x3FFF;\ncvt.u64.u32 %l3, %r8;\n"
      "or.b64 %l3, %l3, 0x0000000800080000;\n"
      "mov.f32 %f0, 0f00000000;\nmov.f32 %f1, %f0;\nmov.f32 %f2, %f0;\nmov.f32 %f3, %f0;\n"
      "wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, {%r7, %r7, %r7, %r7}, %l3, 1, "
      "1, 1, 0;\n"
      "wgmma.commit_group.sync.aligned;\n";
  const std::string wait = "wgmma.wait_group.sync.aligned 0;\n";
  const std::string use = "add.f32 %f4, %f2, %f2;  // here\n", write = "mov.f32 %f1, 0f00000000;  // here\n";
  const std::set<int> all{0, 1, 2, 3};
  return {
      {"Read",
       "register in flight",
       product + use + wait,
       product + wait + use,
       "reads %f2 while a wgmma that was not waited for owns it",
       "",
       all,
       {.threads = 128}},
      {"Written",
       "register in flight",
       product + write + wait,
       product + wait + write,
       "writes %f1 while a wgmma that was not waited for owns it",
       "",
       all,
       {.threads = 128}},
  };
}

std::ostream& operator<<(std::ostream& to, const Case& of) {
  return to << of.name;
}

class Findings : public ::testing::TestWithParam<Case> {};

TEST_P(Findings, SayWhatIsWrongAndWhere) {
  const Case& wanted = GetParam();
  const std::string text = framed(wanted.wrong);
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Launch launch = wanted.launch;
    launch.options.seed = seed;
    const Outcome run = run_ptx(text, launch);
    ASSERT_FALSE(run.report.findings.empty()) << "seed " << seed;
    const auto found = std::ranges::find(run.report.findings, wanted.kind, &Finding::kind);
    ASSERT_NE(found, run.report.findings.end()) << run.report.text();
    EXPECT_TRUE(marked_lines(text).contains(found->line)) << run.report.text();
    EXPECT_THAT(found->text, HasSubstr(wanted.text));
    EXPECT_TRUE(wanted.warps.contains(found->warp)) << run.report.text();
    EXPECT_TRUE(wanted.blocks.contains(found->block[0])) << run.report.text();
    EXPECT_THAT(found->place, HasSubstr(wanted.place));
    EXPECT_FALSE(found->instruction.empty());
    EXPECT_THAT(run.report.text(), HasSubstr(fmt::format("{} at PTX line {}", wanted.kind, found->line)));
  }
}

TEST_P(Findings, AreNotMadeOfTheCorrectTwin) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    for (const bool late : {true, false}) {
      Launch launch = GetParam().launch;
      launch.options.seed = seed;
      launch.options.late = late;
      const Outcome run = run_ptx(framed(GetParam().right), launch);
      EXPECT_THAT(run.report.findings, IsEmpty()) << run.report.text();
    }
  }
}

const auto name_of = [](const auto& of) { return of.param.name; };
INSTANTIATE_TEST_SUITE_P(OfAccesses, Findings, ::testing::ValuesIn(accesses()), name_of);
INSTANTIATE_TEST_SUITE_P(OfPartsOfWords, Findings, ::testing::ValuesIn(parts_of_words()), name_of);
INSTANTIATE_TEST_SUITE_P(OfRaces, Findings, ::testing::ValuesIn(races()), name_of);
INSTANTIATE_TEST_SUITE_P(OfMeetings, Findings, ::testing::ValuesIn(meetings()), name_of);
INSTANTIATE_TEST_SUITE_P(OfRegistersInFlight, Findings, ::testing::ValuesIn(in_flight()), name_of);

}  // namespace
}  // namespace weft::simulator::machine_tests
