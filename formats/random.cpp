#include <weft/formats/random.h>

#include <bit>
#include <cmath>

namespace weft {

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) {
    seed += 0x9E3779B97F4A7C15U;
    std::uint64_t mixed = seed;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
    word = mixed ^ (mixed >> 31);
  }
}

std::uint64_t Random::bits() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform() {
  return static_cast<double>(bits() >> 11) * 0x1p-53;
}

std::int64_t Random::below(std::int64_t bound) {
  const auto range = static_cast<std::uint64_t>(bound);
  const std::uint64_t rejected = (0 - range) % range;  // what is left of 2^64 after whole ranges
  std::uint64_t drawn = bits();
  while (drawn < rejected) drawn = bits();
  return static_cast<std::int64_t>(drawn % range);
}

double Random::normal() {
  std::int64_t sum = 0;
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t two = bits();
    sum += static_cast<std::int64_t>((two >> 32) + (two & 0xFFFFFFFFU));
  }
  return static_cast<double>(sum - (std::int64_t{6} << 32)) * 0x1p-32;
}

Array random_array(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed, RandomValues values,
                   CallPlace place) {
  Array array(dtype, std::move(shape), place);
  Random random(seed);
  const bool integers = values == RandomValues::small_integers || !is_float(dtype);
  const bool negative = is_float(dtype) || is_signed_integer(dtype);
  for (std::int64_t i = 0; i < array.size(); ++i) {
    double value = 0;
    if (integers) {
      value = static_cast<double>(random.below(9) - 4);
      array.set(i, negative ? value : std::abs(value));
      continue;
    }
    do {  // a value just below 1 rounds up to it in a narrow type
      value = 2 * random.uniform() - 1;
      array.set(i, value);
    } while (array.get(i) >= 1);
  }
  return array;
}

}  // namespace weft
