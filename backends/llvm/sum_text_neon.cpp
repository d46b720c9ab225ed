// What functions of coded sums are written as for aarch64.
#include <fmt/format.h>
#include <weft/backends/llvm/coded_sums.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>

namespace weft::llvm_backend {
namespace {

constexpr std::int64_t bytes_of_sum = 4, bytes_of_neon = 16, bytes_of_line = 64;

/// "name = from + number".
void add(std::string& text, const char* name, const char* from, std::int64_t number) {
  const auto magnitude = static_cast<std::uint64_t>(std::abs(number));
  fmt::format_to(std::back_inserter(text), "movz x7, {}\nmovk x7, {}, lsl 16\n{} {}, {}, x7\n",
                 magnitude & 0xffffU, magnitude >> 16U & 0xffffU, number < 0 ? "sub" : "add", name, from);
}

/// A pointer that moves on where an instruction does not reach.
class NeonPointer {
 public:
  /// `unit`: bytes that an instruction reads.
  NeonPointer(const char* name, std::int64_t unit) : name_(name), unit_(unit) {}

  /// "[x0, 64]"
  std::string operand(std::int64_t byte, std::string& text) {
    constexpr std::int64_t most_units = 4095;
    const std::int64_t away = byte - at_;
    if (away < 0 || away > most_units * unit_ || away % unit_ != 0) {
      add(text, name_, name_, away);
      at_ = byte;
    }
    return fmt::format("[{}, {}]", name_, byte - at_);
  }

 private:
  const char* name_;
  std::int64_t unit_;
  std::int64_t at_ = 0;  ///< the byte that it points to
};

/// What is done with each row's register where the sums lie: whole vectors, or the elements that the mask in
/// w2 names.
class NeonRows {
 public:
  NeonRows(const std::map<std::int64_t, std::int64_t>& register_of_byte, bool masked)
      : register_of_byte_(register_of_byte), masked_(masked) {}

  /// "ldr" and "ld1", or "str" and "st1".
  void all(std::string& text, const char* whole, const char* element) const {
    if (masked_) text += "cmp w2, 15\nb.ne 3f\n";
    each(text, 0, [&](std::int64_t number) { return fmt::format("{} q{}, [x6]\n", whole, number); });
    if (!masked_) return;
    text += "b 4f\n3:\n";
    // All but the last one: with that, the vector is whole.
    for (std::int64_t lane = 0; lane < bytes_of_neon / bytes_of_sum - 1; ++lane) {
      fmt::format_to(std::back_inserter(text), "tbz w2, {}, 4f\n", lane);
      each(text, lane * bytes_of_sum, [&](std::int64_t number) {
        return fmt::format("{} {{v{}.s}}[{}], [x6]\n", element, number, lane);
      });
    }
    text += "4:\n";
  }

 private:
  template <class Instruction>
  void each(std::string& text, std::int64_t from, const Instruction& instruction) const {
    for (const auto& [byte, number] : register_of_byte_) {
      add(text, "x6", "x1", byte + from);
      text += instruction(number);
    }
  }

  const std::map<std::int64_t, std::int64_t>& register_of_byte_;
  bool masked_;
};

}  // namespace

/// Values have the local label 1, 5 is where the next function begins. Registers 8 to 15 are the caller's.
std::string SumCoder::neon_text_of(const Sum& sum, const CodedBlock* block, Begin begin) const {
  const std::int64_t of_operand = registers_.sums(), of_values = of_operand + 1;
  const std::vector<std::int64_t>& places = *sum.places;
  const std::map<std::int64_t, std::int64_t> register_of = sum.registers();
  std::map<std::int64_t, std::int64_t> register_of_byte;
  for (const auto& [element, number] : register_of)
    register_of_byte.emplace((block == nullptr ? element : block->place_of(element)) * bytes_of_sum, number);
  const NeonRows rows(register_of_byte, block != nullptr && !block->is_array());
  std::string text =
      "stp d8, d9, [sp, -64]!\nstp d10, d11, [sp, 16]\nstp d12, d13, [sp, 32]\nstp d14, d15, [sp, 48]\n"
      "adrp x4, 1f\nadd x4, x4, :lo12:1f\n";
  const auto out = std::back_inserter(text);
  for (const auto& [row, number] : register_of) fmt::format_to(out, "movi v{}.2d, 0\n", number);
  if (begin != Begin::zero) rows.all(text, "ldr", "ld1");
  if (sum.what.ahead > 0) {
    text += "adrp x5, 5f\nadd x5, x5, :lo12:5f\nadd x5, x5, x3\n";
    constexpr std::int64_t step = 4 << 12;  // an addition has twelve bits, and twelve more
    for (std::int64_t byte = 0; byte < sum.what.ahead; byte += bytes_of_line) {
      if (byte > 0 && byte % step == 0) text += "add x5, x5, 4, lsl 12\n";
      fmt::format_to(out, "prfm pldl2keep, [x5, {}]\n", byte % step);
    }
  }
  std::string values;
  std::int64_t used = 0;
  NeonPointer operand("x0", registers_.lanes() * sum.bytes_of_dense);
  constexpr std::int64_t values_of_vector = bytes_of_neon / bytes_of_sum;
  for (std::size_t column = sum.begin; column < sum.end; ++column) {
    const std::string place = operand.operand(places[column] * sum.bytes_of_dense, text);
    fmt::format_to(out, "ldr {}{}, {}\n", sum.bytes_of_dense == bytes_of_sum ? "q" : "d", of_operand, place);
    if (sum.what.dense->dtype == DType::f16) fmt::format_to(out, "fcvtl v{0}.4s, v{0}.4h\n", of_operand);
    if (sum.what.dense->dtype == DType::bf16) fmt::format_to(out, "shll v{0}.4s, v{0}.4h, 16\n", of_operand);
    for (const ir::EntryTable::Entry& entry : sum.table->entries(column)) {
      const std::int64_t lane = used++ % values_of_vector;
      if (lane == 0) fmt::format_to(out, "ldr q{}, [x4], {}\n", of_values, bytes_of_neon);
      fmt::format_to(std::back_inserter(values), ".long {}\n", std::bit_cast<std::uint32_t>(entry.value));
      fmt::format_to(out, "fmla v{}.4s, v{}.4s, v{}.s[{}]\n", register_of.at(sum.element_of(entry.row)),
                     of_operand, of_values, lane);
    }
  }
  for (; used % values_of_vector != 0; ++used) values += ".long 0\n";
  rows.all(text, "str", "st1");
  text +=
      "ldp d10, d11, [sp, 16]\nldp d12, d13, [sp, 32]\nldp d14, d15, [sp, 48]\nldp d8, d9, [sp], 64\nret\n"
      ".p2align 6\n1:\n" +
      values;
  if (sum.what.ahead > 0) text += ".p2align 6\n5:\n";
  return text;
}

}  // namespace weft::llvm_backend
