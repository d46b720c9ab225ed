// Numbers of the types that tensor instructions know, for kernels' operands and what should come out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace weft::simulator::testing {

enum class Type { f16, bf16, tf32, f32, f64, s8, u8, s32, e4m3, e5m2 };

std::string_view name_of(Type type);
int bytes_of(Type type);
bool is_integer(Type type);
/// The nearest number of the type, as its bits; and back, as a tensor core reads them.
std::uint64_t encode(Type type, double value);
double decode(Type type, std::uint64_t bits);

/// The same operands on every machine.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : engine_(seed) {}
  /// 0 to `end` - 1.
  int below(int end) { return static_cast<int>(engine_() % static_cast<std::uint32_t>(end)); }
  std::uint32_t word() { return static_cast<std::uint32_t>(engine_()); }
  /// Bits of an operand: small integers (8-bit integers: all of them), or anything between -1 and 1.
  std::uint64_t operand(Type type, bool is_whole);

 private:
  std::mt19937 engine_;
};

/// A matrix of operands: their bits, and their values.
struct Operands {
  Operands(Type type, int rows, int columns, bool is_whole, Draw& draw);
  double value(int row, int column) const { return values[place(row, column)]; }
  std::uint64_t bit(int row, int column) const { return bits[place(row, column)]; }
  std::size_t place(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
           static_cast<std::size_t>(column);
  }

  int columns;
  std::vector<std::uint64_t> bits;
  std::vector<double> values;
};

}  // namespace weft::simulator::testing
