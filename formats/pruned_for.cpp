#include <weft/formats/pruned_for.h>

#include <algorithm>
#include <utility>

namespace weft {

bool is_row_order(std::span<const std::int32_t> order, std::int64_t rows) {
  if (std::ssize(order) != rows) return false;
  std::vector<bool> seen(order.size());
  return std::ranges::all_of(order, [&](std::int32_t row) {
    if (row < 0 || row >= rows || seen[static_cast<std::size_t>(row)]) return false;
    seen[static_cast<std::size_t>(row)] = true;
    return true;
  });
}

std::span<const std::int32_t> row_order_in_groups(const WeightMatrix& weights, std::int64_t rows) {
  if (weights.pruned_for == nullptr) return {};
  const auto& [format, order] = *weights.pruned_for;
  const auto group = format.parameters.find("V");
  if (group == format.parameters.end() || group->second % rows != 0) return {};
  // Weights may have lost rows since they were read.
  return is_row_order(order, weights.rows) ? std::span(order) : std::span<const std::int32_t>();
}

std::int64_t places_in_groups(const WeightMatrix& weights, std::span<const std::int32_t> order,
                              std::int64_t rows) {
  std::int64_t places = 0;
  std::vector<std::int32_t> last(static_cast<std::size_t>(weights.columns), -1);  // group that had the column
  for (std::size_t first = 0; first < order.size(); first += static_cast<std::size_t>(rows)) {
    const auto group = order.subspan(first, std::min(order.size() - first, static_cast<std::size_t>(rows)));
    for (const std::int32_t row : group) {
      for (const std::int32_t column : weights.columns_of(row)) {
        const bool is_new =
            std::exchange(last[static_cast<std::size_t>(column)], group.front()) != group.front();
        if (is_new) places += std::ssize(group);
      }
    }
  }
  return places;
}

}  // namespace weft
