#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/search/records/words.h>
#include <weft/search/tool/sizes.h>

#include <algorithm>
#include <utility>

namespace weft::tool {
namespace {

constexpr std::int64_t largest = 1'000'000'000'000;

std::int64_t size_of(std::string_view text, std::string_view whole, const std::string& flag) {
  const auto number = read_number<std::int64_t>(text);
  if (!number || *number < 1 || *number > largest)
    throw UserError("sizes cannot be read", flag, std::string(whole),
                    "1:512, 8:4096:8 or 4096, numbers from 1 on");
  return *number;
}

/// A range with a size, of the numbers of one that has none.
std::string nearest_range(const SizeRange& range) {
  const auto [least, most] = std::minmax(range.least, range.most);
  const std::string both = fmt::format("{}:{}", least, most);
  if (most / range.multiple * range.multiple < least) return both;
  return range.multiple == 1 ? both : fmt::format("{}:{}", both, range.multiple);
}

SizeRange range_of(std::string_view text, const std::string& flag) {
  const std::size_t first = text.find(':');
  if (first == std::string_view::npos) {
    const std::int64_t size = size_of(text, text, flag);
    return {size, size, 1};
  }
  const std::size_t second = text.find(':', first + 1);
  SizeRange range;
  range.least = size_of(text.substr(0, first), text, flag);
  range.most = size_of(text.substr(first + 1, second == std::string_view::npos ? second : second - first - 1),
                       text, flag);
  if (second != std::string_view::npos) range.multiple = size_of(text.substr(second + 1), text, flag);
  if (range.most / range.multiple * range.multiple < range.least)
    throw UserError(
        "a range of sizes has none", flag, std::string(text),
        "the smallest, the largest, and a multiple of which one is between them: " + nearest_range(range));
  return range;
}

}  // namespace

std::string SizeRange::text() const {
  if (is_exact()) return std::to_string(least);
  return fmt::format("{} to {}{}", least, most,
                     multiple > 1 ? fmt::format(", multiples of {}", multiple) : "");
}

std::vector<SizeRange> parse_sizes(std::string_view text, const std::string& flag) {
  std::vector<SizeRange> ranges;
  while (true) {
    const std::size_t comma = text.find(',');
    const SizeRange range = range_of(text.substr(0, comma), flag);
    const auto is_same = [&](const SizeRange& one) { return one.text() == range.text(); };
    if (std::ranges::any_of(ranges, is_same))
      throw UserError("sizes are given twice", flag, range.text(), "each of them once");
    ranges.push_back(range);
    if (comma == std::string_view::npos) return ranges;
    text.remove_prefix(comma + 1);
  }
}

std::string filters_of(std::int64_t columns) {
  std::string text = "1x1";
  std::string last;
  for (const std::int64_t side : {3, 5, 7, 9, 11}) {
    if (columns % (side * side) != 0) continue;
    if (!last.empty()) text += ", " + last;
    last = fmt::format("{}x{}", side, side);
  }
  return last.empty() ? text : text + " or " + last;
}

Algorithm algorithm_of_image(const Convolution& convolution, DType dtype, const Epilogue& epilogue,
                             const std::string& image) {
  try {
    return convolution_algorithm(convolution, dtype, epilogue);
  } catch (const UserError& error) {
    UserError::Report report = error.report();
    if (!report.where.starts_with("height") && !report.where.starts_with("width")) throw;
    report.where = fmt::format("--image {}, {}", image, report.where);
    constexpr std::string_view word = ": pad ";
    if (const auto place = report.accepted.find(word); place != std::string::npos)
      report.accepted.replace(place, word.size(), ": --pad ");
    throw UserError(std::move(report));
  }
}

}  // namespace weft::tool
