// wgmma: products of four warps, whose factors lie in shared memory.
#include <fmt/format.h>
#include <weft/scheduler/hardware/instructions/family.h>

namespace weft::families {
namespace {

/// Of factors of those types, for each n.
struct WarpgroupForm {
  std::vector<DType> types;
  int k;
  bool two_of_four;
};
const WarpgroupForm warpgroup_forms[] = {
    {{DType::f16, DType::bf16}, 16, false},
    {{DType::e4m3, DType::e5m2, DType::i8}, 32, false},
    {{DType::f16, DType::bf16}, 32, true},
    {{DType::e4m3, DType::e5m2, DType::i8}, 64, true},
};

/// Operands: the address, the low and the high half of what else the descriptor says, of the left and of the
/// right factor. The left one lies with its k contiguous; argument 6 says whether the right one does with its
/// n (1) or its k (0), of elements of two bytes: others have none. In front of them, an instruction with two
/// of four has the codes; behind them, as the last argument, the selector.
Instruction multiply(DType operands, int n, int k, bool two_of_four) {
  constexpr int warps = 4;
  TensorProduct product{.name = kept_text(fmt::format("wgmma{}_m64n{}k{}", two_of_four ? "_sp" : "", n, k)),
                        .m = 64,
                        .n = n,
                        .k = k,
                        .place = TensorOperands::in_shared,
                        .left = {operands},
                        .right = {operands},
                        .sum = {sums_of(operands), layout_of_sums(n, warps)}};
  if (two_of_four) product.codes = layout_of_codes(operands);
  const int results = product.sum.registers(), codes = two_of_four ? 1 : 0;
  const std::string_view type = type_in_ptx(operands);
  const auto descriptor = [&](const char* which, int first) {
    return fmt::format("bfe.u32 low, ${}, 4, 14; or.b32 low, low, ${}; mov.b64 {}, {{low, ${}}}; ", first,
                       first + 1, which, first + 2);
  };
  const bool either_way = !product.only_by_depth();
  Instruction row = multiplying(
      product, 90, 6 + codes,
      fmt::format("{{ .reg .pred add; .reg .b32 low; .reg .b64 left, right; setp.eq.b32 add, 0, 0; {}{}"
                  "wgmma.mma_async{}.sync.aligned.m64n{}k{}.{}.{}.{} {}, left, right{}, add{}{}; }}",
                  descriptor("left", results + codes), descriptor("right", results + codes + 3),
                  two_of_four ? ".sp" : "", n, k, type_in_ptx(product.sum.type), type, type,
                  numbered(0, results),
                  two_of_four ? fmt::format(", ${}, #{}", results, either_way ? 7 : 6) : "",
                  is_float(operands) ? ", 1, 1" : "", either_way ? ", 0, #6" : ""));
  row.needs = Capability::warpgroup_tensor_cores;
  return row;
}

}  // namespace

Rows warpgroup_products() {
  Rows rows;
  for (const WarpgroupForm& row : warpgroup_forms) {
    for (int n = 16; n <= 256; n *= 2)
      for (const DType type : row.types) rows.push_back(multiply(type, n, row.k, row.two_of_four));
  }
  // Nothing but an order: who uses the accumulators comes after.
  for (const DType sums : {DType::f32, DType::i32}) {
    rows.push_back(effect(sums == DType::f32 ? "hold_accumulators" : "hold_integers", 0, {}, "", sums));
    rows.back().reads_results = true;
  }
  rows.push_back(effect("wgmma_fence", 90, {}, "wgmma.fence.sync.aligned;"));
  rows.push_back(effect("wgmma_commit", 90, {}, "wgmma.commit_group.sync.aligned;"));
  rows.push_back(effect("wgmma_wait", 90, {DType::i32}, "wgmma.wait_group.sync.aligned #0;"));
  return rows;
}

}  // namespace weft::families
