// mma.sync and mma.sp: products of a warp, whose factors ldmatrix brings to registers from shared memory.
#include <fmt/format.h>
#include <weft/scheduler/hardware/instructions/family.h>

namespace weft::families {
namespace {

struct WarpForm {
  DType type;
  int k;
  int lowest_sm;
  bool two_of_four = false;
  std::string_view ptx_version = {};
};
constexpr WarpForm warp_forms[] = {
    {DType::f16, 8, 75},
    {DType::f16, 16, 80},
    {DType::bf16, 16, 80},
    {DType::f16, 32, 80, true, "8.5"},
    {DType::bf16, 32, 80, true, "8.5"},
    {DType::e4m3, 32, 89, false, "8.4"},
    {DType::e4m3, 64, 89, true, "8.5"},
    {DType::e5m2, 32, 89, false, "8.4"},
    {DType::e5m2, 64, 89, true, "8.5"},
    {DType::i8, 32, 80},
    {DType::i8, 64, 80, true, "8.5"},
};

/// A register has so many elements that are neighbours along k, and those of four lanes follow one another.
TensorProduct product_of(const WarpForm& row) {
  const int together = 4 / static_cast<int>(size_of(row.type)), of_lanes = 4 * together;
  TensorProduct product{.name = kept_text(fmt::format("mma{}_m16n8k{}", row.two_of_four ? "_sp" : "", row.k)),
                        .m = 16,
                        .n = 8,
                        .k = row.k,
                        .sum = {sums_of(row.type), layout_of_sums(8)}};
  if (row.two_of_four) product.codes = layout_of_codes(row.type);
  product.left = {row.type,
                  {.lane = {over_columns(4, together), over_rows(8, 1)},
                   .element = {over_columns(together, 1), over_rows(2, 8),
                               over_columns(product.kept() / of_lanes, of_lanes)}}};
  product.right = {row.type,
                   {.lane = {over_rows(4, together), over_columns(8, 1)},
                    .element = {over_rows(together, 1), over_rows(row.k / of_lanes, of_lanes)}}};
  return product;
}

/// Behind its factors, an instruction with two of four has the codes and, as argument 0, the selector.
Instruction multiply(const WarpForm& row) {
  const TensorProduct product = product_of(row);
  const std::string_view type = type_in_ptx(row.type), sums = type_in_ptx(product.sum.type);
  const int left = product.left.registers(), right = product.right.registers();
  Instruction made =
      multiplying(product, row.lowest_sm, left + right + (row.two_of_four ? 1 : 0),
                  fmt::format("mma{}.sync.aligned.m16n8k{}.row.col.{}.{}.{}.{} {}, {}, {}, {}{};",
                              row.two_of_four ? ".sp::ordered_metadata" : "", row.k, sums, type, type, sums,
                              numbered(0, 4), numbered(4, left), numbered(4 + left, right), numbered(0, 4),
                              row.two_of_four ? fmt::format(", ${}, #0", 4 + left + right) : ""));
  made.ptx_version = row.ptx_version;
  made.only_registers = true;
  return made;
}

Instruction load_matrices(int count, bool transposed) {
  const std::string name = fmt::format("ldmatrix_x{}{}", count, transposed ? "_trans" : "");
  return effect(kept_text(name), 75, {DType::i32},
                fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {}, [${}];", count,
                            transposed ? ".trans" : "", numbered(0, count), count),
                DType::i32, count);
}

}  // namespace

Layout layout_of_codes(DType type) {
  if (size_of(type) == 2)
    return {.lane = {over_columns(4, 8), over_rows(8, 1)}, .element = {over_columns(8, 1), over_rows(2, 8)}};
  return {.lane = {over_rows(2, 8), over_columns(2, 16), over_rows(8, 1)}, .element = {over_columns(16, 1)}};
}

Rows warp_products() {
  Rows rows;
  for (const WarpForm& row : warp_forms) rows.push_back(multiply(row));
  for (const bool transposed : {false, true})
    for (const int count : {1, 2, 4}) rows.push_back(load_matrices(count, transposed));
  // The lower halves of two registers, or where $3 is 1 the upper ones: codes of a row.
  rows.push_back(effect(join_halves, 0, {DType::i32, DType::i32, DType::i32},
                        "{ .reg .b32 which; mad.lo.u32 which, $3, 8738, 21520; prmt.b32 $0, $1, $2, which; }",
                        DType::i32, 1));
  return rows;
}

}  // namespace weft::families
