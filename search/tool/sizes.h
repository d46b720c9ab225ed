// Sizes on the command line: which ones a kernel is for, as --n and --batch of weft export say it, and those
// of images.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/search/spaces/problems.h>

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
/// below 1, and for a range with no multiple in it; it names the flag.
std::vector<SizeRange> parse_sizes(std::string_view text, const std::string& flag = "--n");

/// Square filters that so many columns can be of: "1x1, 3x3 or 5x5".
std::string filters_of(std::int64_t columns);

/// As convolution_algorithm(); where the filter does not fit the image, the UserError names --image, which
/// says `image`.
Algorithm algorithm_of_image(const Convolution& convolution, DType dtype, const Epilogue& epilogue,
                             const std::string& image);

}  // namespace weft::tool
