// The parts of one compressed weight. The input: a byte of flags, rows, columns, the bytes of the bitmask,
// then values and, where the flag asks for them, row offsets of one byte each.
#include <fuzz/fuzz.h>
#include <weft/formats/io/safetensors.h>

#include <algorithm>
#include <array>
#include <vector>

namespace {

using weft::io::Bytes;
using weft::io::StoredTensor;

void parse(Bytes input) {
  if (input.size() < 3) return;
  const auto flags = std::to_integer<unsigned>(input[0]);
  const std::array<std::int64_t, 2> extents{std::to_integer<std::int64_t>(input[1]),
                                            std::to_integer<std::int64_t>(input[2])};
  const auto [rows, columns] = extents;
  const std::int64_t width = (columns + 7) / 8;
  input = input.subspan(3);
  const bool two_of_four = (flags & 1U) != 0;
  const std::size_t mask_bytes = std::min(input.size(), static_cast<std::size_t>(rows * width));
  std::vector<std::byte> mask(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(mask_bytes));
  mask.resize(static_cast<std::size_t>(rows * width));
  input = input.subspan(mask_bytes);
  std::vector<std::int64_t> offsets;
  if (!two_of_four) {
    for (std::int64_t row = 0; row < rows; ++row) {
      offsets.push_back(input.empty() ? 0 : std::to_integer<std::int64_t>(input[0]));
      if (!input.empty()) input = input.subspan(1);
    }
  }
  const auto left = static_cast<std::int64_t>(input.size() / 2);
  std::vector<std::int64_t> value_shape{left};
  if (two_of_four) value_shape = {rows, columns / 2};
  const std::int64_t count = two_of_four ? rows * (columns / 2) : left;
  std::vector<std::byte> values(input.begin(), input.end());
  values.resize(static_cast<std::size_t>(count) * 2);
  std::vector<StoredTensor> tensors{
      {"a.compressed", (flags & 2U) != 0 ? "BF16" : "F16", value_shape, values, 0, "fuzz"},
      {"a.bitmask", "U8", {rows, width}, mask, 0, "fuzz"},
      {"a.shape", "I64", {2}, std::as_bytes(std::span(extents)), 0, "fuzz"}};
  if (!two_of_four) {
    tensors.push_back({"a.row_offsets", "I64", {rows}, std::as_bytes(std::span(offsets)), 0, "fuzz"});
  }
  weft::fuzz::demand_sound(weft::io::weights_among(tensors, "fuzz", {.tensor = "a.weight"}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::run(data, size, parse);
}
