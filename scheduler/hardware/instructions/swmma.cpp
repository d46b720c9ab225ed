#include <fmt/format.h>
#include <weft/scheduler/hardware/instructions/family.h>
#include <weft/scheduler/hardware/instructions/swmma.h>

namespace weft {
namespace families {
namespace {

// What Volta does: eight tensor cores of a multiprocessor multiply 4x4x4 a clock each, so 16x16x16 takes 8
// clocks of all of them; the two of one scheduler are busy for four times that. The dense instruction ends 54
// clocks after its issue (Raihan, Goli, Aamodt, ISPASS 2019, for f16 with f32 sums): 22 beside those that it
// issues for. A sparse one does PW of the 16 steps in k. Any row of B may be the first that is selected, so
// its four registers are read before the first step begins, two a clock (a register file has two banks),
// where the dense one reads each when its step comes.
constexpr double dense_clocks = 8;
constexpr double schedulers = 4;
constexpr double fill_latency = 22;
constexpr double registers_a_clock = 2;

/// Clocks of all tensor cores of a multiprocessor.
double clocks_of(int width) {
  if (!is_sparse_width(width)) return dense_clocks;
  const double selection = swmma_right.registers() / registers_a_clock / schedulers;
  return dense_clocks * width / static_cast<double>(swmma_block) + selection;
}

Instruction row(std::string name, DType result, int results, std::vector<DType> operands, std::string text) {
  return effect(kept_text(std::move(name)), simulated_only, std::move(operands), std::move(text), result,
                results);
}

Instruction load(std::string name, const std::string& opcode, int results) {
  return row(std::move(name), DType::i32, results, {DType::i64},
             fmt::format("{} {}, [${}];", opcode, numbered(0, results), results));
}

Instruction multiply(int width) {
  const int left = swmma_left(width).registers(), right = swmma_right.registers();
  const int offsets = is_sparse_width(width) ? 1 : 0;
  const int sums = swmma_sums.registers();
  std::string text = fmt::format("swmma.mma.f32.f32.{} {}, {}, {}, {}", width, numbered(0, sums),
                                 numbered(sums, left), numbered(sums + left, right), numbered(0, sums));
  if (offsets > 0) text += ", " + numbered(sums + left + right, offsets);
  Instruction made =
      row(swmma_mma(width), DType::f32, sums,
          std::vector<DType>(static_cast<std::size_t>(left + right + offsets), DType::i32), text + ";");
  made.reads_results = true;
  made.only_registers = true;
  made.clocks = clocks_of(width);
  made.latency = fill_latency + schedulers * made.clocks;
  // What stands for all of them.
  if (width == swmma_block)
    made.product = {.name = "swmma_m16n16k16",
                    .m = 16,
                    .n = 16,
                    .k = 16,
                    .place = TensorOperands::in_blocks,
                    .left = swmma_left(width),
                    .right = swmma_right,
                    .sum = swmma_sums};
  return made;
}

}  // namespace

Rows block_products() {
  using enum DType;
  Rows rows;
  for (const int width : swmma_widths) {
    rows.push_back(
        load(swmma_load_a(width), fmt::format("swmma.load.a.{}", width), swmma_left(width).registers()));
    if (is_sparse_width(width)) {
      const std::string opcode = fmt::format("swmma.load.offset.{}", width);
      rows.push_back(load(swmma_load_offset(width), opcode, 1));
      rows.push_back(load(swmma_load_offset(width, 4), opcode + ".b4", 1));
    }
    rows.push_back(multiply(width));
  }
  const int right = swmma_right.registers();
  // The place, elements between rows, rows and columns that there are.
  rows.push_back(row(std::string(swmma_load_b), i32, right, {i64, i32, i32, i32},
                     fmt::format("swmma.load.b {}, [${}], ${}, ${}, ${};", numbered(0, right), right,
                                 right + 1, right + 2, right + 3)));
  return rows;
}

}  // namespace families

std::string swmma_load_a(int width) {
  return fmt::format("swmma_load_a_{}", width);
}
std::string swmma_load_offset(int width, int bits) {
  return fmt::format("swmma_load_offset_{}{}", width, bits == 4 ? "_b4" : "");
}
std::string swmma_mma(int width) {
  return fmt::format("swmma_mma_{}", width);
}

}  // namespace weft
