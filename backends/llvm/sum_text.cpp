// What functions of coded sums are written as for x86-64.
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

/// Reads a vector as f32; of bf16, the bits that are then to be moved up.
const char* instruction_of_read(DType dtype) {
  return dtype == DType::f16 ? "vcvtph2ps" : dtype == DType::bf16 ? "vpmovzxwd" : "vmovups";
}

const char* name_of_vectors(const VectorRegisters& registers) {
  return registers.bytes == VectorRegisters::widest && !registers.halves ? "%zmm" : "%ymm";
}

/// Loads and stores of sums where a block has them, or in their array: of whole vectors, or, behind a
/// question, of the elements in the mask in %edx.
class SumsInMemory {
 public:
  SumsInMemory(const VectorRegisters& registers, const std::map<std::int64_t, std::int64_t>& register_of,
               const CodedBlock* block)
      : registers_(registers),
        wide_(registers.bytes == VectorRegisters::widest),
        masked_(block != nullptr && !block->is_array()),
        vector_(name_of_vectors(registers)),
        register_of_(register_of),
        block_(block),
        pointer_("%rsi", wide_ ? registers.lanes() * bytes_of_value : 1, !masked_) {}

  bool masked() const { return masked_; }

  void load(std::string& text) { each_way(text, false); }
  void store(std::string& text) { each_way(text, true); }

 private:
  /// Whole vectors need no mask, with which stores take some processors a dozen cycles.
  void each_way(std::string& text, bool stores) {
    if (!masked_) return each_row(text, stores, false);
    fmt::format_to(std::back_inserter(text), "cmpl ${}, %edx\njne 3f\n", (1 << registers_.lanes()) - 1);
    each_row(text, stores, false);
    text += "jmp 4f\n3:\n";
    // In the register of values, which is free here.
    if (wide_)
      text += "kmovw %edx, %k1\n";
    else
      fmt::format_to(std::back_inserter(text),
                     "vmovd %edx, %xmm{0}\nvpbroadcastd %xmm{0}, %ymm{0}\nvpsllvd 2f(%rip), %ymm{0}, "
                     "%ymm{0}\n",
                     of_mask());
    each_row(text, stores, true);
    text += "4:\n";
  }

  void each_row(std::string& text, bool stores, bool some) {
    for (const auto& [element, number] : register_of_) {
      const std::int64_t at = block_ == nullptr ? element : block_->place_of(element);
      const std::string place = pointer_.operand(at * bytes_of_value, text);
      const auto out = std::back_inserter(text);
      if (some && !wide_ && stores)
        fmt::format_to(out, "vmaskmovps %ymm{}, %ymm{}, {}\n", number, of_mask(), place);
      else if (some && !wide_)
        fmt::format_to(out, "vmaskmovps {}, %ymm{}, %ymm{}\n", place, of_mask(), number);
      else if (stores)
        fmt::format_to(out, "vmovups {}{}, {}{}\n", vector_, number, place, some ? "{%k1}" : "");
      else
        fmt::format_to(out, "vmovups {}, {}{}{}\n", place, vector_, number, some ? "{%k1}{z}" : "");
    }
  }

  std::int64_t of_mask() const { return registers_.sums() + 1; }

  VectorRegisters registers_;
  bool wide_, masked_;
  const char* vector_;
  const std::map<std::int64_t, std::int64_t>& register_of_;
  const CodedBlock* block_;
  Pointer pointer_;
};

}  // namespace

/// Reads and multiplications of all columns, and the values that they read.
void SumCoder::write_products(const Sum& sum, const std::map<std::int64_t, std::int64_t>& register_of,
                              std::string& text, std::string& values) const {
  const bool wide = registers_.bytes == VectorRegisters::widest;
  const char* const vector = name_of_vectors(sum.vectors);
  const std::int64_t of_operand = registers_.sums(), of_value = of_operand + 1;
  const std::vector<std::int64_t>& places = *sum.places;
  // Moving on takes an instruction, which pays where it serves many vectors.
  const std::int64_t of_reads = wide ? sum.vectors.lanes() * sum.bytes_of_dense : 1;
  const bool near = (places[sum.end - 1] - places[sum.begin]) * sum.bytes_of_dense <
                    static_cast<std::int64_t>(sum.end - sum.begin) * of_reads * vectors_of_displacement;
  Pointer operand("%rdi", of_reads, near), value("%rax", wide ? bytes_of_value : 1, true);
  const auto out = std::back_inserter(text);
  std::int64_t used = 0;
  std::size_t fetched = 0;
  for (std::size_t column = sum.begin; column < sum.end; ++column) {
    // Evenly among the columns: a processor waits for a few lines at a time.
    for (const std::size_t all = sum.fetched.size();
         fetched < all * (column - sum.begin + 1) / (sum.end - sum.begin); ++fetched)
      fmt::format_to(out, "prefetcht1 {}(%r8)\n", sum.fetched[fetched]);
    const std::string place = operand.operand(places[column] * sum.bytes_of_dense, text);
    fmt::format_to(out, "{} {}, {}{}\n", instruction_of_read(sum.what.dense->dtype), place, vector,
                   of_operand);
    if (sum.what.dense->dtype == DType::bf16)
      fmt::format_to(out, "vpslld $16, {0}{1}, {0}{1}\n", vector, of_operand);
    for (const ir::EntryTable::Entry& entry : sum.table->entries(column)) {
      const std::string at = value.operand(used++ * bytes_of_value, text);
      const std::int64_t row = register_of.at(sum.element_of(entry.row));
      fmt::format_to(std::back_inserter(values), ".long {}\n", std::bit_cast<std::uint32_t>(entry.value));
      if (wide)
        fmt::format_to(out, "vfmadd231ps {}{{1to{}}}, {}{}, {}{}\n", at, sum.vectors.lanes(), vector,
                       of_operand, vector, row);
      else
        fmt::format_to(out, "vbroadcastss {}, {}{}\nvfmadd231ps {}{}, {}{}, {}{}\n", at, vector, of_value,
                       vector, of_value, vector, of_operand, vector, row);
    }
  }
}

/// Without its name, so that functions that are alike are one. Its values have the local label 1; without
/// AVX-512, the numbers that make a mask have 2; 3 and 4 are whether a vector is whole; 5 is where the next
/// function begins.
std::string SumCoder::text_of(const Sum& sum, const CodedBlock* block, Begin begin) const {
  if (registers_.bytes == VectorRegisters::of_neon) return neon_text_of(sum, block, begin);
  const std::map<std::int64_t, std::int64_t> register_of = sum.registers();
  SumsInMemory sums(sum.vectors, register_of, block);
  std::string text = "leaq 1f(%rip), %rax\n", values;
  const auto out = std::back_inserter(text);
  if (begin == Begin::zero) {
    for (const auto& [row, number] : register_of)
      fmt::format_to(out, "vxorps %xmm{0}, %xmm{0}, %xmm{0}\n", number);
  } else {
    sums.load(text);
  }
  if (sum.what.ahead > 0) {
    text += "leaq 5f(%rip), %r9\naddq %rcx, %r9\n";
    constexpr std::int64_t line = 64;
    for (std::int64_t byte = 0; byte < sum.what.ahead; byte += line)
      fmt::format_to(out, "prefetcht1 {}(%r9)\n", byte);
  }
  write_products(sum, register_of, text, values);
  sums.store(text);
  text += "vzeroupper\nretq\n.p2align 6\n";
  if (sums.masked() && registers_.bytes != VectorRegisters::widest)
    text += "2:\n.long 31, 30, 29, 28, 27, 26, 25, 24\n";
  text += "1:\n" + values;
  if (sum.what.ahead > 0) text += ".p2align 6\n5:\n";
  return text;
}

}  // namespace weft::llvm_backend
