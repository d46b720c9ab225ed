#include <fmt/format.h>
#include <weft/backends/export/check.h>
#include <weft/backends/export/kernel_order.h>
#include <weft/dsl/arithmetic.h>

#include <algorithm>
#include <set>
#include <utility>

namespace weft::exporting {
namespace {

/// Where another kernel may become the fastest: at powers of two and once and a half these, and where kernels
/// begin or end. The last is behind all sizes.
std::set<std::int64_t> cuts_of(const TargetGroup& group) {
  std::set<std::int64_t> cuts;
  for (const Variant& variant : group.variants) cuts.insert({variant.range.least, variant.range.most + 1});
  const std::int64_t begin = *cuts.begin(), end = *cuts.rbegin();
  for (std::int64_t power = 1; power < end; power *= 2) {
    for (const std::int64_t cut : {power, power + power / 2})
      if (cut > begin && cut < end) cuts.insert(cut);
  }
  return cuts;
}

std::vector<std::size_t> fastest_first(const TargetGroup& group, std::int64_t begin, std::int64_t end) {
  std::vector<std::pair<double, std::size_t>> timed;
  for (std::size_t i = 0; i < group.variants.size(); ++i) {
    const Range& range = group.variants[i].range;
    const std::int64_t first = ceil_divide(begin, range.multiple) * range.multiple;
    if (first >= end || !range.has(first)) continue;
    const double microseconds = group.variants[i].microseconds(first);
    if (!(microseconds >= 0))
      refuse("a kernel of a package says no time", fmt::format("export, kernel {}", i + 1),
             fmt::format("{} us at size {}", microseconds, first),
             "PackageKernel::microseconds of 0 and more, or none of any kernel");
    timed.emplace_back(microseconds, i);
  }
  std::ranges::sort(timed);
  std::vector<std::size_t> kernels;
  for (const auto& [microseconds, number] : timed) kernels.push_back(number);
  return kernels;
}

/// Whether the kernels that take a size stand in the order that those before them have.
bool in_the_order_of(const std::vector<std::size_t>& before, const std::vector<std::size_t>& kernels) {
  std::vector<std::size_t> same = before;
  std::erase_if(same,
                [&](std::size_t kernel) { return std::ranges::find(kernels, kernel) == kernels.end(); });
  return same == kernels;
}

bool is_timed(const Variant& variant) {
  return variant.microseconds != nullptr;
}

std::string condition_of(const Range& range) {
  const std::string multiple = range.multiple > 1 ? fmt::format(" && n % {} == 0", range.multiple) : "";
  if (range.least == range.most) return fmt::format("n == {}", range.least);
  return fmt::format("n >= {} && n <= {}{}", range.least, range.most, multiple);
}

}  // namespace

std::vector<SizeSpan> size_spans(const TargetGroup& group) {
  const std::set<std::int64_t> cuts = cuts_of(group);
  if (group.variants.size() == 1 || !std::ranges::all_of(group.variants, is_timed)) {
    SizeSpan all{*cuts.begin(), *cuts.rbegin() - 1, {}};
    for (std::size_t i = 0; i < group.variants.size(); ++i) all.kernels.push_back(i);
    return {all};
  }
  std::vector<SizeSpan> spans;
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
    const std::int64_t begin = *cut, end = *std::next(cut);
    std::vector<std::size_t> kernels = fastest_first(group, begin, end);
    if (!spans.empty() && in_the_order_of(spans.back().kernels, kernels))
      spans.back().most = end - 1;
    else
      spans.push_back({begin, end - 1, std::move(kernels)});
  }
  return spans;
}

std::string print_choice(const TargetGroup& group) {
  const std::vector<SizeSpan> spans = size_spans(group);
  std::string text;
  for (const SizeSpan& span : spans) {
    const bool is_last = &span == &spans.back();
    const char* const indent = is_last ? "  " : "    ";
    if (!is_last) text += fmt::format("  if (n <= {}) {{\n", span.most);
    for (const std::size_t kernel : span.kernels)
      text +=
          fmt::format("{}if ({}) return {};\n", indent, condition_of(group.variants[kernel].range), kernel);
    text += fmt::format("{}return -1;\n{}", indent, is_last ? "" : "  }\n");
  }
  return text;
}

}  // namespace weft::exporting
