#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>

#include <algorithm>

namespace weft::detail {
namespace {

/// Far below the range of 64 bits, so that index arithmetic with these numbers cannot leave it.
constexpr std::int64_t largest = std::int64_t{1} << 48;

std::int64_t limited(std::int64_t value, const AffineIndex& index) {
  if (value >= -largest && value <= largest) return value;
  throw UserError({"a number of an index is too large", index.text(), std::to_string(value), "at most 2^48"});
}

/// a + b * c, each at most `largest`, or a number beyond `largest`.
std::int64_t fused(std::int64_t a, std::int64_t b, std::int64_t c) {
  std::int64_t product = 0, sum = 0;
  const bool lost = __builtin_mul_overflow(b, c, &product) || __builtin_add_overflow(a, product, &sum);
  return lost ? largest + 1 : sum;
}

}  // namespace

AffineIndex added(AffineIndex left, const AffineIndex& right, std::int64_t factor) {
  for (const auto& [name, coefficient] : right.terms) {
    const auto same = std::find_if(left.terms.begin(), left.terms.end(),
                                   [&](const auto& term) { return term.first == name; });
    if (same == left.terms.end()) {
      left.terms.emplace_back(name, limited(fused(0, coefficient, factor), right));
    } else {
      same->second = limited(fused(same->second, coefficient, factor), left);
    }
  }
  left.constant = limited(fused(left.constant, right.constant, factor), left);
  std::erase_if(left.terms, [](const auto& term) { return term.second == 0; });
  return left;
}

AffineIndex constant_index(std::int64_t value) {
  AffineIndex index;
  index.constant = value;
  return index;
}

AffineIndex scaled(const AffineIndex& index, std::int64_t factor) {
  return added({}, index, factor);
}

}  // namespace weft::detail
