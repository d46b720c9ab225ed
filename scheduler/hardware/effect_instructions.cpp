#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/effect_text.h>
#include <weft/scheduler/hardware/instruction_texts.h>
#include <weft/scheduler/hardware/stream_instructions.h>
#include <weft/scheduler/hardware/swmma_instructions.h>
#include <weft/scheduler/hardware/tensor_instructions.h>

#include <deque>
#include <string>

namespace weft {

std::string_view kept_text(std::string text) {
  static std::deque<std::string> texts;
  return texts.emplace_back(std::move(text));
}

std::string numbered(int first, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(fmt::format("${}", first + i));
  return fmt::format("{{{}}}", fmt::join(names, ", "));
}

Instruction effect(std::string_view name, int lowest_sm, std::vector<DType> operands, std::string text,
                   DType result, int results) {
  return {.name = name,
          .result = result,
          .operands = std::move(operands),
          .ptx = kept_text(std::move(text)),
          .lowest_sm = lowest_sm,
          .effect = true,
          .results = results};
}

namespace {

Instruction load_matrices(int count, bool transposed) {
  const std::string name = fmt::format("ldmatrix_x{}{}", count, transposed ? "_trans" : "");
  return effect(kept_text(name), 75, {DType::i32},
                fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {}, [${}];", count,
                            transposed ? ".trans" : "", numbered(0, count), count),
                DType::i32, count);
}

/// Behind its factors, an instruction with two of four has the codes and, as argument 0, the selector.
Instruction multiply_of_warp(const TensorInstruction& tensor) {
  const std::string_view type = tensor.operand_in_ptx(), sums = tensor.sums_in_ptx();
  const int left = tensor.registers_of_left();
  const int right = tensor.registers_of_right();
  const int inputs = left + right + (tensor.two_of_four ? 1 : 0);
  Instruction row = effect(
      tensor.executed, tensor.lowest_sm, std::vector<DType>(static_cast<std::size_t>(inputs), DType::i32),
      fmt::format("mma{}.sync.aligned.m16n8k{}.row.col.{}.{}.{}.{} {}, {}, {}, {}{};",
                  tensor.two_of_four ? ".sp::ordered_metadata" : "", tensor.k, sums, type, type, sums,
                  numbered(0, 4), numbered(4, left), numbered(4 + left, right), numbered(0, 4),
                  tensor.two_of_four ? fmt::format(", ${}, #0", 4 + left + right) : ""),
      tensor.sums(), 4);
  row.reads_results = true;
  if (tensor.two_of_four) row.ptx_version = "8.5";
  if (is_float_of_a_byte(tensor.operands) && !tensor.two_of_four) row.ptx_version = "8.4";
  row.only_registers = true;
  return row;
}

/// Operands: the address, the low and the high half of what else the descriptor says, of the left and of the
/// right factor. The left one lies with its k contiguous; argument 6 says whether the right one does with its
/// n (1) or its k (0), of elements of two bytes: others have none. In front of them, an instruction with two
/// of four has the codes; behind them, as the last argument, the selector.
Instruction multiply_of_warpgroup(const TensorInstruction& tensor) {
  const int results = tensor.n / 2;
  const int codes = tensor.two_of_four ? 1 : 0;
  const std::string_view type = tensor.operand_in_ptx();
  const auto descriptor = [&](const char* which, int first) {
    return fmt::format("bfe.u32 low, ${}, 4, 14; or.b32 low, low, ${}; mov.b64 {}, {{low, ${}}}; ", first,
                       first + 1, which, first + 2);
  };
  const bool either_way = !tensor.only_by_depth();
  Instruction row = effect(
      tensor.executed, 90, std::vector<DType>(static_cast<std::size_t>(6 + codes), DType::i32),
      fmt::format("{{ .reg .pred add; .reg .b32 low; .reg .b64 left, right; setp.eq.b32 add, 0, 0; {}{}"
                  "wgmma.mma_async{}.sync.aligned.m64n{}k{}.{}.{}.{} {}, left, right{}, add{}{}; }}",
                  descriptor("left", results + codes), descriptor("right", results + codes + 3),
                  tensor.two_of_four ? ".sp" : "", tensor.n, tensor.k, tensor.sums_in_ptx(), type, type,
                  numbered(0, results),
                  tensor.two_of_four ? fmt::format(", ${}, #{}", results, either_way ? 7 : 6) : "",
                  is_float(tensor.operands) ? ", 1, 1" : "", either_way ? ", 0, #6" : ""),
      tensor.sums(), results);
  row.reads_results = true;
  return row;
}

void add_multiplications(std::vector<Instruction>& rows) {
  for (const TensorInstruction& tensor : tensor_instructions()) {
    if (tensor.place == TensorOperands::blocks) continue;  // one of swmma_instructions()
    rows.push_back(tensor.place == TensorOperands::registers ? multiply_of_warp(tensor)
                                                             : multiply_of_warpgroup(tensor));
  }
  // The lower halves of two registers, or where $3 is 1 the upper ones: codes of a row.
  rows.push_back(effect(join_halves, 0, {DType::i32, DType::i32, DType::i32},
                        "{ .reg .b32 which; mad.lo.u32 which, $3, 8738, 21520; prmt.b32 $0, $1, $2, which; }",
                        DType::i32, 1));
  for (const int count : {1, 2, 4}) rows.push_back(load_matrices(count, false));
  for (const int count : {1, 2, 4}) rows.push_back(load_matrices(count, true));
  // Nothing but an order: who uses the accumulators comes after.
  for (const DType sums : {DType::f32, DType::i32}) {
    Instruction hold = effect(sums == DType::f32 ? "hold_accumulators" : "hold_integers", 0, {}, "", sums);
    hold.reads_results = true;
    rows.push_back(std::move(hold));
  }
  rows.push_back(effect("wgmma_fence", 90, {}, "wgmma.fence.sync.aligned;"));
  rows.push_back(effect("wgmma_commit", 90, {}, "wgmma.commit_group.sync.aligned;"));
  rows.push_back(effect("wgmma_wait", 90, {DType::i32}, "wgmma.wait_group.sync.aligned #0;"));
}

void add_barriers(std::vector<Instruction>& rows) {
  using enum DType;
  rows.push_back(effect("mbarrier_init", 80, {i32, i32}, "mbarrier.init.shared.b64 [$0], $1;"));
  rows.push_back(effect("mbarrier_end", 80, {i32}, "mbarrier.inval.shared.b64 [$0];"));
  // A wait that does not end would hang the device: it traps after a second or so.
  rows.push_back(effect("mbarrier_wait", 90, {i32, i32},
                        "{ .reg .pred done; .reg .b32 tries; mov.u32 tries, 0; again: "
                        "mbarrier.try_wait.parity.shared.b64 done, [$0], $1; @done bra over; "
                        "add.u32 tries, tries, 1; setp.lt.u32 done, tries, 1048576; @done bra again; trap; "
                        "over: }"));
  // The same where nothing suspends a thread until then.
  rows.push_back(effect("mbarrier_test", 80, {i32, i32},
                        "{ .reg .pred done; .reg .b32 tries; mov.u32 tries, 0; again: "
                        "mbarrier.test_wait.parity.shared.b64 done, [$0], $1; @done bra over; "
                        "add.u32 tries, tries, 1; setp.lt.u32 done, tries, 67108864; @done bra again; trap; "
                        "over: }"));
  rows.push_back(
      effect("mbarrier_arrive", 80, {i32}, "{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [$0]; }"));
  rows.push_back(effect("mbarrier_expect", 90, {i32, i32},
                        "{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [$0], $1; }"));
  rows.push_back(
      effect("mbarrier_arrive_copies", 80, {i32}, "cp.async.mbarrier.arrive.noinc.shared.b64 [$0];"));
  // To shared memory, from global memory, 16 bytes.
  rows.push_back(effect("copy_16_bytes", 80, {i32, i64}, "cp.async.cg.shared.global [$0], [$1], 16;"));
  rows.push_back(effect("fence_mbarrier_init", 90, {}, "fence.mbarrier_init.release.cluster;"));
  rows.push_back(effect("fence_async", 90, {}, "fence.proxy.async.shared::cta;"));
  rows.push_back(effect("fence_of_block", 70, {}, "fence.acq_rel.cta;"));
  // To shared memory, from global memory, bytes, the barrier that counts them.
  rows.push_back(
      effect("bulk_copy", 90, {i32, i64, i32, i32},
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];"));
  // The same to that place in each block of the cluster that has a bit, whose barrier there counts the bytes.
  rows.push_back(
      effect("bulk_copy_to_cluster", 90, {i32, i64, i32, i32, i32},
             "{ .reg .b16 blocks; mov.b16 blocks, #4; "
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
             "[$0], [$1], $2, [$3], blocks; }"));
  // At the barrier in that place of the block of the cluster with that number. Not of the scope of the
  // cluster: that is slow, and copies into what the block has read wait at the barrier (docs/decisions.md).
  rows.push_back(effect("mbarrier_arrive_at", 90, {i32, i32},
                        "{ .reg .b32 there; mapa.shared::cluster.u32 there, $0, $1; "
                        "mbarrier.arrive.shared::cluster.b64 _, [there]; }"));
  rows.push_back(effect("barrier_of_cluster", 90, {},
                        "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"));
  // The next launch of the stream may begin; what the launches in front of this one wrote is there.
  rows.push_back(effect("allow_next_launch", 90, {}, "griddepcontrol.launch_dependents;"));
  rows.push_back(effect("wait_for_launch", 90, {}, "griddepcontrol.wait;"));
  rows.push_back(effect("less_registers", 90, {i32}, "setmaxnreg.dec.sync.aligned.u32 #0;"));
  rows.push_back(effect("more_registers", 90, {i32}, "setmaxnreg.inc.sync.aligned.u32 #0;"));
  // What lane $2 of the warp has in $1.
  rows.push_back(effect("shuffle", 0, {i32, i32}, "shfl.sync.idx.b32 $0, $1, $2, 31, 0xffffffff;", i32, 1));
  // Whether no lane of the warp has a negative number.
  rows.push_back(effect("none_negative", 0, {i32},
                        "{ .reg .pred all; setp.ge.s32 all, $1, 0; vote.sync.all.pred all, all, "
                        "0xffffffff; selp.b32 $0, 1, 0, all; }",
                        i32, 1));
  rows.push_back(effect("barrier_of_warp", 0, {}, "bar.warp.sync 0xffffffff;"));
  rows.push_back(effect("barrier_of_some", 0, {i32, i32}, "bar.sync #0, #1;"));
}

}  // namespace

bool is_immediate(const Instruction& row, std::size_t argument) {
  return row.ptx.find(fmt::format("#{}", argument)) != std::string_view::npos;
}

const char* register_letter(DType dtype) {
  if (dtype == DType::f32) return "f";
  return dtype == DType::i64 ? "l" : "r";
}

std::string effect_text(const Instruction& row, const ir::Execute& use) {
  std::string text(row.ptx);
  for (std::size_t i = 0; i < use.arguments.size(); ++i) {
    if (!is_immediate(row, i)) continue;
    const std::int64_t* number = ir::integer_value(use.arguments[i]);
    internal_check(number != nullptr, "an operand of " + use.instruction + " has to be a constant");
    const std::string mark = fmt::format("#{}", i);
    text.replace(text.find(mark), mark.size(), std::to_string(*number));
  }
  return text;
}

std::vector<Instruction> effect_instructions() {
  std::vector<Instruction> rows;
  add_multiplications(rows);
  add_barriers(rows);
  for (Instruction& row : swmma_instructions()) rows.push_back(std::move(row));
  for (Instruction& row : stream_instructions()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace weft
