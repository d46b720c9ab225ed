#include <weft/formats/chosen_entries.h>

#include <utility>

namespace weft {

WeightMatrix chosen_entries(const WeightMatrix& weights, std::vector<std::int64_t> row_begin,
                            std::span<const std::int64_t> entries) {
  WeightMatrix chosen;
  chosen.rows = static_cast<std::int64_t>(row_begin.size()) - 1;
  chosen.columns = weights.columns;
  chosen.shape = weights.shape;
  // A vector's shape has no rows: it stays one as long as it is one row.
  if (chosen.shape.size() == 1 && chosen.rows != weights.rows) chosen.shape.insert(chosen.shape.begin(), 1);
  if (chosen.shape.size() > 1) chosen.shape.front() = chosen.rows;
  chosen.pattern_only = weights.pattern_only;
  chosen.origin = weights.origin;
  chosen.row_begin = std::move(row_begin);
  chosen.column.reserve(entries.size());
  chosen.values = Array(weights.values.dtype(), {static_cast<std::int64_t>(entries.size())});
  for (const std::int64_t entry : entries) {
    chosen.values.copy_element(chosen.stored(), weights.values, entry);
    chosen.column.push_back(weights.column[static_cast<std::size_t>(entry)]);
  }
  return chosen;
}

}  // namespace weft
