// What functions of coded sums are written as.
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

constexpr std::int64_t bytes_of_value = 4;
constexpr std::int64_t vectors_of_displacement = 16;  ///< on average, where displacements are to be a byte

/// A displacement of one byte counts vectors or, without AVX-512, bytes; one of four reaches anything.
class Pointer {
 public:
  Pointer(const char* name, std::int64_t unit, bool near) : name_(name), unit_(unit), near_(near) {}

  /// "-64(%rdi)", behind an instruction that moves the pointer on where a byte does not reach.
  std::string operand(std::int64_t byte, std::string& text) {
    constexpr std::int64_t least = -128, most = 127, farthest = INT32_MAX / 2;
    const bool reached =
        near_ ? byte - at_ >= least * unit_ && byte - at_ <= most * unit_ : std::abs(byte - at_) <= farthest;
    if (!reached) {
      const std::int64_t next = byte - least * unit_;
      fmt::format_to(std::back_inserter(text), "addq ${}, {}\n", next - at_, name_);
      at_ = next;
    }
    return fmt::format("{}({})", byte - at_, name_);
  }

 private:
  const char* name_;
  std::int64_t unit_;
  bool near_;            ///< it moves on so that a byte is enough
  std::int64_t at_ = 0;  ///< the byte that it points to
};

}  // namespace

/// Without its name, so that functions that are alike are one. Its values have the local label 1; without
/// AVX-512, the numbers that make a mask have 2, and 3 and 4 are whether all elements are stored;
/// 5 is where the next function begins.
std::string SumCoder::text_of(const Sum& sum, const CodedBlock* block, Begin begin) const {
  const bool wide = registers_.bytes == VectorRegisters::widest;
  const char* const vector = wide ? "%zmm" : "%ymm";
  const std::int64_t of_operand = registers_.sums(), of_value = of_operand + 1;
  // What a byte of displacement counts.
  const std::int64_t of_vectors = wide ? registers_.bytes : 1, of_values = wide ? bytes_of_value : 1;
  const bool masked = block != nullptr && !block->is_array();
  std::map<std::int64_t, std::int64_t> register_of;
  for (const std::int64_t row : sum.rows) register_of.emplace(row, std::ssize(register_of));
  std::string text = "leaq 1f(%rip), %rax\n";
  const auto out = std::back_inserter(text);
  // Moving on takes an instruction, which pays where it serves many vectors.
  const bool near = (sum.columns.back().place - sum.columns.front().place) * bytes_of_value <
                    std::ssize(sum.columns) * of_vectors * vectors_of_displacement;
  Pointer sums("%rsi", of_vectors, !masked), operand("%rdi", of_vectors, near),
      value("%rax", of_values, true);
  const auto place_of = [&](std::int64_t row) {
    const std::int64_t element = block == nullptr ? row : row / block->between_sums * block->between_stored;
    return sums.operand(element * bytes_of_value, text);
  };
  // In the register of values, which is free where sums are loaded and stored.
  const auto make_mask = [&] {
    fmt::format_to(out,
                   "vmovd %edx, %xmm{0}\nvpbroadcastd %xmm{0}, %ymm{0}\nvpsllvd 2f(%rip), %ymm{0}, %ymm{0}\n",
                   of_value);
  };
  if (masked && wide) text += "kmovw %edx, %k1\n";
  if (masked && !wide && begin == Begin::stored) make_mask();
  for (const auto& [row, number] : register_of) {
    if (begin == Begin::zero) {
      fmt::format_to(out, "vxorps %xmm{0}, %xmm{0}, %xmm{0}\n", number);
      continue;
    }
    const std::string place = place_of(row);
    if (masked && !wide)
      fmt::format_to(out, "vmaskmovps {}, %ymm{}, %ymm{}\n", place, of_value, number);
    else
      fmt::format_to(out, "vmovups {}, {}{}{}\n", place, vector, number, masked ? "{%k1}{z}" : "");
  }
  if (sum.what.ahead > 0) {
    text += "leaq 5f(%rip), %r8\naddq %rcx, %r8\n";
    constexpr std::int64_t line = 64;
    for (std::int64_t byte = 0; byte < sum.what.ahead; byte += line)
      fmt::format_to(out, "prefetcht1 {}(%r8)\n", byte);
  }
  std::string values;
  std::int64_t used = 0;
  for (const Column& column : sum.columns) {
    const std::string place = operand.operand(column.place * bytes_of_value, text);
    fmt::format_to(out, "vmovups {}, {}{}\n", place, vector, of_operand);
    for (const Update& update : column.updates) {
      const std::string at = value.operand(used++ * bytes_of_value, text);
      const std::int64_t row = register_of.at(update.sum);
      fmt::format_to(std::back_inserter(values), ".long {}\n", std::bit_cast<std::uint32_t>(update.factor));
      if (wide) {
        fmt::format_to(out, "vfmadd231ps {}{{1to16}}, {}{}, {}{}\n", at, vector, of_operand, vector, row);
      } else {
        fmt::format_to(out, "vbroadcastss {}, {}{}\nvfmadd231ps {}{}, {}{}, {}{}\n", at, vector, of_value,
                       vector, of_value, vector, of_operand, vector, row);
      }
    }
  }
  // Stores under a mask take some processors a dozen cycles.
  const bool two_ways = masked && !wide;
  if (two_ways) text += "cmpl $255, %edx\njne 3f\n";
  for (const auto& [row, number] : register_of)
    fmt::format_to(out, "vmovups {}{}, {}{}\n", vector, number, place_of(row), masked && wide ? "{%k1}" : "");
  if (two_ways) {
    text += "jmp 4f\n3:\n";
    make_mask();
    for (const auto& [row, number] : register_of)
      fmt::format_to(out, "vmaskmovps %ymm{}, %ymm{}, {}\n", number, of_value, place_of(row));
    text += "4:\n";
  }
  text += "vzeroupper\nretq\n.p2align 6\n";
  if (two_ways) text += "2:\n.long 31, 30, 29, 28, 27, 26, 25, 24\n";
  text += "1:\n" + values;
  if (sum.what.ahead > 0) text += ".p2align 6\n5:\n";
  return text;
}

}  // namespace weft::llvm_backend
