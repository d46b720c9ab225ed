#include <fmt/format.h>
#include <weft/formats/lane_streams.h>
#include <weft/scheduler/hardware/instructions/family.h>
#include <weft/scheduler/hardware/instructions/streams.h>

#include <array>
#include <string>

namespace weft::families {
namespace {

constexpr std::array registers{"a", "b", "c", "d"};
constexpr int registers_of_tile = 4;
/// Bytes from one row of a stream to the next.
constexpr std::int64_t row_bytes = lanes_of_stream * elements_of_lane * 2;

std::string results() {
  std::string text;
  for (int i = 0; i < registers_of_tile; ++i) text += fmt::format("mov.b32 ${}, {}; ", i, registers.at(i));
  return text + "}";
}

/// Where the lane's elements of a tile begin: behind those of the bits before.
std::string begun(const char* at, int place, int bits) {
  return fmt::format("and.b32 bit, word, #{}; popc.b32 bit, bit; mad.lo.u32 {}, bit, {}, ${}; ", bits, at,
                     row_bytes, place);
}

/// Where the bit is set, one more element of the stream.
std::string taken(const char* to, const char* type, const char* at, int bit) {
  return fmt::format(
      "and.b32 bit, word, #{}; setp.ne.b32 set, bit, 0; @set ld.shared.{} {}, [{}]; "
      "@set add.u32 {}, {}, {}; ",
      bit, type, to, at, at, at, row_bytes);
}

Instruction pairs() {
  std::string text =
      "{ .reg .pred set; .reg .b32 word, bit, at, a, b, c, d; mov.b32 word, $4; " + begun("at", 5, 0);
  for (int i = 0; i < registers_of_tile; ++i)
    text += fmt::format("mov.b32 {}, 0; {}", registers.at(i), taken(registers.at(i), "b32", "at", i + 1));
  return effect(take_pairs, 80, {DType::i32, DType::i32}, text + results(), DType::i32, registers_of_tile);
}

Instruction elements() {
  constexpr int of_half = registers_of_tile + 1;
  std::string text =
      "{ .reg .pred set; .reg .b32 word, bit, low, high, low_at, high_at, a, b, c, d; "
      "mov.b32 word, $4; " +
      begun("low_at", 5, 0) + begun("high_at", 6, of_half);
  for (int i = 0; i < registers_of_tile; ++i)
    text += fmt::format("mov.b32 low, 0; mov.b32 high, 0; {}{}mad.lo.u32 {}, high, 65536, low; ",
                        taken("low", "u16", "low_at", i + 1),
                        taken("high", "u16", "high_at", of_half + i + 1), registers.at(i));
  return effect(take_elements, 80, {DType::i32, DType::i32, DType::i32}, text + results(), DType::i32,
                registers_of_tile);
}

}  // namespace

Rows streams() {
  using enum DType;
  return {
      pairs(), elements(), effect(shared_address, 0, {i32}, "mov.b32 $0, $1;", i32, 1),
      effect(load_16_bytes, 0, {i32}, "ld.shared.v4.b32 {$0, $1, $2, $3}, [$4];", i32, registers_of_tile)};
}

}  // namespace weft::families
