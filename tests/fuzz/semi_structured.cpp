// The parts of one 2:4 weight of PyTorch. The input: a byte of flags, bundles of rows and pairs of columns of
// words, then the words, then the values; what is missing of either is zero.
#include <fuzz/fuzz.h>
#include <weft/formats/io/safetensors.h>

#include <algorithm>
#include <vector>

namespace {

using weft::io::Bytes;
using weft::io::StoredTensor;

std::vector<std::byte> take(Bytes& input, std::int64_t count) {
  const std::size_t there = std::min(input.size(), static_cast<std::size_t>(count));
  std::vector<std::byte> taken(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(there));
  taken.resize(static_cast<std::size_t>(count));
  input = input.subspan(there);
  return taken;
}

void parse(Bytes input) {
  if (input.size() < 3) return;
  const auto flags = std::to_integer<unsigned>(input[0]);
  const bool wide = (flags & 1U) != 0;
  // One row and one word too many now and then: what does not fit has to be refused.
  const std::int64_t rows =
      std::to_integer<std::int64_t>(input[1] & std::byte{7}) * (wide ? 16 : 32) + (flags >> 1 & 1U);
  const std::int64_t words = std::to_integer<std::int64_t>(input[2] & std::byte{7}) * 2 + (flags >> 2 & 1U);
  input = input.subspan(3);
  const std::int64_t word_bytes = wide ? 4 : 2;
  const std::int64_t value_bytes = wide ? 1 : 2;
  const std::int64_t packed = words * 4 * word_bytes;
  const std::vector<std::byte> meta = take(input, rows * words * word_bytes);
  const std::vector<std::byte> values = take(input, rows * packed * value_bytes);
  const char* type = (flags & 8U) != 0 ? "BF16" : "F16";
  const std::vector<StoredTensor> tensors{{"a.packed", wide ? "I8" : type, {rows, packed}, values, 0, "fuzz"},
                                          {"a.meta", wide ? "I32" : "I16", {rows, words}, meta, 0, "fuzz"}};
  weft::fuzz::demand_sound(weft::io::weights_among(tensors, "fuzz", {.tensor = "a"}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::run(data, size, parse);
}
