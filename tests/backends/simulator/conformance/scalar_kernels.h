// Kernels for the conformance of scalar instructions: one instruction (or a chain that the carry flag joins)
// a kernel, the same operands on every machine, results of a GPU kept as a golden file.
#pragma once

#include <weft/backends/runtime/device.h>

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::simulator::scalar_tests {

/// What an operand holds: how wide it is and which corner values it is drawn from.
enum class Value : std::uint8_t {
  b8,
  u16,
  s16,
  u32,
  s32,
  u64,
  s64,
  f16,
  bf16,
  f16x2,
  bf16x2,
  f32,
  f64,
  predicate,
  count,     ///< u32: of a shift, a field's start or length
  position,  ///< u32 below 32
  small,     ///< s32 near zero
  angle,     ///< f32 from -pi to pi
  divisor32,
  divisor64,
  divisor16,
};
bool is_floating(Value value);
int bytes_of(Value value);
/// Random bits, of corner values and of shapes that make ties and cancellations likely.
std::uint64_t draw(Value value, std::mt19937_64& random);
/// Its corner values.
std::span<const std::uint64_t> corners_of(Value value);
/// Is each number of the value within the bounds of its like in `other`, and NaN only where that is NaN?
bool is_near(Value value, std::uint64_t bits, std::uint64_t other, double relative, double absolute);
/// A NaN becomes the one with all bits set but the sign.
std::uint64_t with_plain_nan(Value value, std::uint64_t bits);

struct Kernel {
  std::string name;  ///< the instruction
  std::string body;  ///< $d is the result, $a $b $c $e are the operands, $t $u $q a 32-bit, a 64-bit and a
                     ///< predicate register
  Value result = Value::u32;
  std::vector<Value> sources;
  /// Zeros: the results are equal bit for bit, or both NaN.
  double relative = 0, absolute = 0;

  bool is_exact() const { return relative == 0 && absolute == 0; }
};

constexpr std::size_t rows = 2048;       ///< operands that each kernel is tried on
constexpr std::size_t kept_rows = 160;   ///< whose results the golden file has; of the others a hash
constexpr std::size_t chunk_rows = 256;  ///< rows that one hash covers

/// Collects kernels.
class Kernels {
 public:
  /// `opcode d, a, b...;`
  Kernel& add(std::string_view opcode, Value result, std::vector<Value> sources);
  Kernel& add_body(std::string name, std::string body, Value result, std::vector<Value> sources);
  std::vector<Kernel> all;
};
void add_integer_kernels(Kernels& kernels);
void add_bit_kernels(Kernels& kernels);
void add_floating_kernels(Kernels& kernels);
void add_special_kernels(Kernels& kernels);
void add_comparison_kernels(Kernels& kernels);
void add_conversion_kernels(Kernels& kernels);

/// Kernels of one PTX text, which is loaded at once.
struct Group {
  std::string name;
  std::vector<Kernel> kernels;
  std::string ptx() const;
};
std::vector<Group> scalar_groups();

/// Operand `which` of row `row` is element which * rows + row.
std::vector<std::uint64_t> operands_of(const Kernel& kernel);
/// Tells whether a golden result belongs to this kernel: its text and its operands.
std::uint64_t signature_of(const Kernel& kernel);

/// Results of every kernel, rows each. NaNs are plain.
std::vector<std::vector<std::uint64_t>> run(const Device& device, const Group& group);

}  // namespace weft::simulator::scalar_tests
