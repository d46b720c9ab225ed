#include <weft/dsl/index.h>

#include <algorithm>

namespace weft::detail {
namespace {

constexpr bool is_too_large(std::int64_t value) {
  return value < -largest_index_number || value > largest_index_number;
}

/// a + b * c, or a number that is too large when one of the three or the result is.
std::int64_t fused(std::int64_t a, std::int64_t b, std::int64_t c) {
  std::int64_t result = 0;
  const bool lost = is_too_large(a) || is_too_large(b) || is_too_large(c) ||
                    __builtin_mul_overflow(b, c, &result) || __builtin_add_overflow(a, result, &result);
  return lost || is_too_large(result) ? largest_index_number + 1 : result;
}

}  // namespace

AffineIndex added(AffineIndex left, const AffineIndex& right, std::int64_t factor) {
  for (const auto& [name, coefficient] : right.terms) {
    const auto same = std::ranges::find_if(left.terms, [&](const auto& term) { return term.first == name; });
    if (same == left.terms.end())
      left.terms.emplace_back(name, fused(0, coefficient, factor));
    else
      same->second = fused(same->second, coefficient, factor);
  }
  left.constant = fused(left.constant, right.constant, factor);
  std::erase_if(left.terms, [](const auto& term) { return term.second == 0; });
  return left;
}

}  // namespace weft::detail
