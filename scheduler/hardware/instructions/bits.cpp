// Bits of words: codes of 2:4 sparsity, and bitmaps.
#include <weft/scheduler/hardware/instructions/family.h>
#include <weft/scheduler/hardware/kept_blocks.h>

namespace weft::families {
namespace {

/// The slot of a kept place: two bits of the word, of the half for its row (formats/kept_slots.h).
ir::Expr slot_of_code(std::span<const ir::Expr> operands) {
  const ir::Expr& row = operands[1];
  const ir::Expr& place = operands[2];
  ir::Expr bits = operands[0];
  const auto skip = [&](const ir::Expr& lower, std::int64_t skipped) {
    bits = ir::select(lower, bits, bits / (std::int64_t{1} << skipped));
  };
  skip(row % 16 < 8, 16);
  skip(place % 8 < 4, 8);
  skip(place % 4 < 2, 4);
  skip(place % 2 < 1, 2);
  return place / 2 * 4 + bits % 4;
}

ir::Expr slot_behind(std::span<const ir::Expr> operands) {
  const ir::Expr of_code[] = {operands[0], operands[1], operands[4]};
  return ir::select(operands[2] < operands[3], operands[4], slot_of_code(of_code));
}

ir::Expr slots_before_and_behind(std::span<const ir::Expr> operands) {
  return ir::select(operands[0] < operands[1], operands[2] / 2, operands[2]);
}

/// A number without its half, its quarter, … is as much as its bits.
ir::Expr counted_bits(std::span<const ir::Expr> operands) {
  ir::Expr count = operands[0];
  for (int bit = 1; bit < 16; ++bit) count = count - operands[0] / (std::int64_t{1} << bit);
  return count;
}

/// Among the quarters of the word, and then half by half in the quarter that has the bit.
ir::Expr place_of_bit(std::span<const ir::Expr> operands) {
  const auto count = [](const ir::Expr& x) { return ir::call(std::string(count_bits), DType::i64, {x}); };
  const ir::Expr quarter = 65536;
  const ir::Expr quarters[] = {operands[0] % quarter, operands[0] / quarter % quarter, operands[1] % quarter,
                               operands[1] / quarter % quarter};
  ir::Expr bits = quarters[0], place = 0, before = 0, end = count(bits);
  for (std::int64_t i = 1; i < 4; ++i) {
    const ir::Expr behind = end <= operands[2];
    bits = ir::select(behind, quarters[i], bits);
    place = ir::select(behind, 16 * i, place);
    before = ir::select(behind, end, before);
    if (i < 3) end = end + count(quarters[i]);
  }
  ir::Expr number = operands[2] - before;
  for (const std::int64_t half : {8, 4, 2, 1}) {
    const ir::Expr size = std::int64_t{1} << half;
    const ir::Expr low = bits % size;
    const ir::Expr in_low = count(low);
    const ir::Expr behind = in_low <= number;
    bits = ir::select(behind, bits / size, low);
    place = place + ir::select(behind, half, 0);
    number = number - ir::select(behind, in_low, 0);
  }
  return place;
}

/// 2 to a number below 32.
ir::Expr power_of_two(const ir::Expr& number) {
  ir::Expr power = 1;
  for (const std::int64_t part : {16, 8, 4, 2, 1})
    power = power * ir::select(ir::equal(number / part % 2, 0), 1, std::int64_t{1} << part);
  return power;
}

ir::Expr bit_of_word(std::span<const ir::Expr> operands) {
  return operands[0] / power_of_two(operands[1]) % 2;
}

/// Of the bits up to the last, those from the first on, in two halves.
ir::Expr bits_of_word(std::span<const ir::Expr> operands) {
  const auto count = [](const ir::Expr& x) { return ir::call(std::string(count_bits), DType::i64, {x}); };
  const ir::Expr half = 65536, bits = operands[0] % power_of_two(operands[2]) / power_of_two(operands[1]);
  return count(bits % half) + count(bits / half);
}

}  // namespace

Rows bits() {
  using enum DType;
  return {
      {kept_slot, i64, {i64, i64, i64}, "", "", "", "", 0, slot_of_code},
      {.name = kept_slot_behind, .operands = {i64, i64, i64, i64, i64}, .meaning = slot_behind},
      {.name = slots_of_block, .operands = {i64, i64, i64}, .meaning = slots_before_and_behind},
      {.name = set_bit, .operands = {i64, i64, i64}, .meaning = place_of_bit, .below = 64},
      {count_bits, i64, {i64}, "popc.b32 $0, $1;", "__popc($1)", "llvm.ctpop", "", 0, counted_bits},
      {.name = word_bit, .operands = {i64, i64}, .meaning = bit_of_word, .below = 2},
      {.name = word_bits, .operands = {i64, i64, i64}, .meaning = bits_of_word, .below = 33},
  };
}

}  // namespace weft::families
