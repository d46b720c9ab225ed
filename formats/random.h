// Seeded numbers that are the same on every machine: the generator and the distributions are ours, because
// those of the standard library differ between its implementations.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>
#include <weft/formats/array.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace weft {

/// The 64-bit generator xoshiro256** of Blackman and Vigna, seeded through SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t bits();
  double uniform();                        ///< in [0, 1), a multiple of 2^-53
  std::int64_t below(std::int64_t bound);  ///< in [0, bound), every number equally likely; bound >= 1
  /// Mean 0, standard deviation 1: twelve uniform numbers added up, which needs no function whose last bit
  /// the machines disagree on. Never beyond 6.
  double normal();

 private:
  std::uint64_t state_[4];
};

enum class RandomValues : std::uint8_t {
  uniform,         ///< in [-1, 1)
  small_integers,  ///< -4 … 4, whose sums of products are exact in every floating type for a while
};

/// An array for a dense operand. Elements that an unsigned or boolean type cannot hold are stored as their
/// magnitude; a uniform value in an integer type is drawn from the small integers instead. Throws as Array
/// does.
Array random_array(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed,
                   RandomValues values = RandomValues::uniform, CallPlace place = {});
/// Always refused: the element type stands first.
template <class Never = void>
Array random_array(std::initializer_list<std::int64_t>, DType, std::uint64_t = 1, CallPlace = {}) {
  static_assert(detail::never<Never>,
                "weft: random_array is given its shape before its element type; accepted: "
                "random_array(DType::f32, {64, 96}, 1): element type, shape, seed");
  return Array();
}
WEFT_CALL_REFUSED(Array, random_array, "random_array(DType::f32, {64, 96}, 1): element type, shape, seed")

}  // namespace weft
