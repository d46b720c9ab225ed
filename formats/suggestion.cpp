#include <fmt/format.h>
#include <weft/formats/suggestion.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace weft {
namespace {

constexpr std::size_t longest_name = 64;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Letters that are changed, missing or surplus; two neighbours in the other order count as one.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  std::vector<std::size_t> before(row), before_that;
  const auto same = [&](std::size_t i, std::size_t j) { return lower(left[i]) == lower(right[j]); };
  for (std::size_t i = 0; i < left.size(); ++i) {
    before_that = std::exchange(before, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      row[j + 1] = std::min({before[j] + (same(i, j) ? 0 : 1), row[j] + 1, before[j + 1] + 1});
      if (i > 0 && j > 0 && same(i, j - 1) && same(i - 1, j))
        row[j + 1] = std::min(row[j + 1], before_that[j - 1] + 1);
    }
  }
  return row.back();
}

/// Whether one begins or ends with the other: "benchmark" and "bench", "num_stages" and "stages".
bool are_alike(std::string_view left, std::string_view right) {
  constexpr std::size_t least = 3, least_of_end = 5;
  const std::size_t common = std::min(left.size(), right.size());
  const auto is_same = [](std::string_view a, std::string_view b) { return edit_distance(a, b) == 0; };
  if (common >= least && is_same(left.substr(0, common), right.substr(0, common))) return true;
  return common >= least_of_end &&
         is_same(left.substr(left.size() - common), right.substr(right.size() - common));
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.size() > longest_name) return {};
  std::string_view best;
  std::size_t smallest = 3;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance >= smallest || 2 * distance >= std::max(name.size(), candidate.size())) continue;
    smallest = distance;
    best = candidate;
  }
  if (!best.empty()) return best;
  const auto alike = [&](std::string_view candidate) { return are_alike(name, candidate); };
  const auto found = std::ranges::find_if(candidates, alike);
  return found == candidates.end() ? std::string_view() : *found;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  // Of one candidate the message says already that it is accepted.
  const std::string_view nearest =
      candidates.size() > 1 ? nearest_name(name, candidates) : std::string_view();
  return nearest.empty() ? std::string() : "; did you mean " + std::string(nearest) + "?";
}

std::string as_share(double number) {
  constexpr double hundred = 100;
  if (!(number > 1 && number < hundred)) return {};
  return fmt::format(": {} for {} %", number / hundred, number);
}

}  // namespace weft
