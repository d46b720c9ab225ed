// Which sizes a kernel is for, as --n of weft export says it.
#pragma once

#include <weft/dsl/algorithm.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tool {

/// From `least` to `most`, multiples of `multiple` alone.
struct SizeRange {
  std::int64_t least = 1;
  std::int64_t most = 1;
  std::int64_t multiple = 1;
  bool is_exact() const { return least == most; }
  std::string text() const;
};

/// "1:512", "8:4096:8", "4096", or several joined by commas. UserError for what cannot be read, for sizes
/// below 1, and for a range with no multiple in it.
std::vector<SizeRange> parse_sizes(std::string_view text);

/// The algorithm with another extent for an index, in every operand that it stands alone in.
Algorithm with_size(Algorithm algorithm, const std::string& index, const Extent& extent);

}  // namespace weft::tool
