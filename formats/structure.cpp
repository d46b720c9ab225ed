#include <fmt/format.h>
#include <weft/formats/structure.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace weft {
namespace {

constexpr std::array<std::int64_t, 6> granularities{256, 128, 64, 32, 16, 8};
constexpr std::int64_t smallest = granularities.back();
constexpr std::int64_t most_columns = std::int64_t{1} << 24;
constexpr double least_fill = 0.9;
constexpr double least_outside = 0.5;
/// Of what two rows share beyond chance, how much makes them rows of one group.
constexpr double alike = 0.7;
constexpr std::size_t samples = 16;

std::span<const std::int32_t> columns_of(const WeightMatrix& weights, std::int32_t row) {
  const auto at = static_cast<std::size_t>(row);
  return std::span(weights.column)
      .subspan(static_cast<std::size_t>(weights.row_begin[at]),
               static_cast<std::size_t>(weights.row_begin[at + 1] - weights.row_begin[at]));
}

/// Counts the units, `width` columns wide and `height` rows of the order high, that have an entry.
std::optional<FoundStructure> structure_of(const WeightMatrix& weights, Format format,
                                           const std::vector<std::int32_t>& order, std::int64_t height,
                                           std::int64_t width) {
  const std::int64_t across = (weights.columns + width - 1) / width;
  const std::int64_t down = (weights.rows + height - 1) / height;
  std::vector<std::int64_t> last_group(static_cast<std::size_t>(across), -1);
  FoundStructure found{std::move(format), 0, 0, 0, {}};
  std::int64_t places = 0;
  for (std::int64_t i = 0; i < weights.rows; ++i) {
    const std::int64_t group = i / height;
    for (const std::int32_t column : columns_of(weights, order[static_cast<std::size_t>(i)])) {
      const std::int64_t unit = column / width;
      if (std::exchange(last_group[static_cast<std::size_t>(unit)], group) == group) continue;
      ++found.kept;
      places +=
          std::min(height, weights.rows - group * height) * std::min(width, weights.columns - unit * width);
    }
  }
  const double all = static_cast<double>(weights.rows) * static_cast<double>(weights.columns);
  const double missing = all - static_cast<double>(weights.stored());
  found.density = static_cast<double>(found.kept) / static_cast<double>(across * down);
  found.fill = static_cast<double>(weights.stored()) / static_cast<double>(places);
  const bool holds = found.fill >= least_fill && all - static_cast<double>(places) >= least_outside * missing;
  return holds ? std::optional(std::move(found)) : std::nullopt;
}

/// The columns of a row as bits.
class BitRow {
 public:
  BitRow(const WeightMatrix& weights, std::int32_t row)
      : bits_(static_cast<std::size_t>((weights.columns + 63) / 64)),
        size_(std::ssize(columns_of(weights, row))),
        columns_(weights.columns) {
    for (const std::int32_t column : columns_of(weights, row))
      bits_[static_cast<std::size_t>(column / 64)] |= std::uint64_t{1} << (column % 64);
  }
  /// 1 for the same columns, about 0 for independent ones.
  double likeness(const BitRow& other) const {
    std::int64_t shared = 0;
    for (std::size_t word = 0; word < bits_.size(); ++word)
      shared += std::popcount(bits_[word] & other.bits_[word]);
    const double chance =
        static_cast<double>(size_) * static_cast<double>(other.size_) / static_cast<double>(columns_);
    const double most = static_cast<double>(std::max(size_, other.size_));
    return most > chance ? (static_cast<double>(shared) - chance) / (most - chance) : 0;
  }

 private:
  std::vector<std::uint64_t> bits_;
  std::int64_t size_;
  std::int64_t columns_;
};

/// Rows by the columns that they share; those without entries apart.
struct Clusters {
  std::vector<std::vector<std::int32_t>> of_alike;
  std::vector<std::int32_t> empty;
};

/// True when nearly all of a few rows have as many others like them as the smallest group needs. It keeps the
/// work small for the many weights that have no groups.
bool may_have_groups(const WeightMatrix& weights, const std::vector<std::int32_t>& rows) {
  const std::size_t step = std::max<std::size_t>(1, rows.size() / samples);
  std::size_t asked = 0;
  std::size_t lonely = 0;
  for (std::size_t sample = 0; sample < rows.size(); sample += step) {
    const BitRow row(weights, rows[sample]);
    const auto like = std::ranges::count_if(
        rows, [&](std::int32_t other) { return row.likeness(BitRow(weights, other)) >= alike; });
    ++asked;
    lonely += like < smallest / 2 ? 1U : 0U;
  }
  return 4 * lonely <= asked;
}

std::optional<Clusters> cluster(const WeightMatrix& weights) {
  Clusters result;
  std::vector<std::int32_t> rows;
  for (std::int32_t row = 0; row < static_cast<std::int32_t>(weights.rows); ++row)
    (columns_of(weights, row).empty() ? result.empty : rows).push_back(row);
  // The fullest row of a group shows its columns best.
  std::ranges::stable_sort(rows, [&](auto left, auto right) {
    return columns_of(weights, left).size() > columns_of(weights, right).size();
  });
  if (std::ssize(rows) < smallest || !may_have_groups(weights, rows)) return std::nullopt;
  std::vector<BitRow> leaders;
  for (const std::int32_t row : rows) {
    const BitRow bits(weights, row);
    const auto leader =
        std::ranges::find_if(leaders, [&](const BitRow& other) { return bits.likeness(other) >= alike; });
    if (leader != leaders.end()) {
      result.of_alike[static_cast<std::size_t>(leader - leaders.begin())].push_back(row);
      continue;
    }
    if (std::ssize(leaders) > weights.rows / smallest + static_cast<std::int64_t>(samples))
      return std::nullopt;
    leaders.push_back(bits);
    result.of_alike.push_back({row});
  }
  return result;
}

/// Whole groups of each cluster first; what is left of clusters is filled up with rows that have no entries,
/// and what cannot be filled up comes last.
std::vector<std::int32_t> grouped(const Clusters& clusters, std::int64_t height) {
  std::vector<std::int32_t> order;
  std::vector<std::vector<std::int32_t>> rest;
  for (const std::vector<std::int32_t>& rows : clusters.of_alike) {
    const auto whole = rows.begin() + std::ssize(rows) / height * height;
    order.insert(order.end(), rows.begin(), whole);
    if (whole != rows.end()) rest.emplace_back(whole, rows.end());
  }
  std::ranges::stable_sort(rest,
                           [](const auto& left, const auto& right) { return left.size() > right.size(); });
  auto empty = clusters.empty.begin();
  std::vector<std::int32_t> last;
  for (const std::vector<std::int32_t>& rows : rest) {
    const std::ptrdiff_t lacking = height - std::ssize(rows);
    const bool fits = lacking <= clusters.empty.end() - empty;
    std::vector<std::int32_t>& target = fits ? order : last;
    target.insert(target.end(), rows.begin(), rows.end());
    if (!fits) continue;
    order.insert(order.end(), empty, empty + lacking);
    empty += lacking;
  }
  // Rows without entries go well with a short group at the end, and whole groups of them before it.
  const std::ptrdiff_t groups_of_none = (clusters.empty.end() - empty) / height * height;
  order.insert(order.end(), empty, empty + groups_of_none);
  order.insert(order.end(), last.begin(), last.end());
  order.insert(order.end(), empty + groups_of_none, clusters.empty.end());
  for (std::size_t first = 0; first < order.size(); first += static_cast<std::size_t>(height)) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(first);
    std::sort(begin, begin + std::min<std::ptrdiff_t>(height, order.end() - begin));
  }
  return order;
}

}  // namespace

std::vector<FoundStructure> find_structures(const WeightMatrix& weights) {
  std::vector<FoundStructure> result;
  if (weights.stored() == 0 || weights.stored() == weights.rows * weights.columns ||
      weights.columns > most_columns)
    return result;
  std::vector<std::int32_t> given(static_cast<std::size_t>(weights.rows));
  std::iota(given.begin(), given.end(), 0);
  std::int64_t found = 0;  // the largest granularity so far
  const auto look = [&](std::string_view name, std::string_view parameter, const auto& attempt) {
    for (const std::int64_t size : granularities) {
      if (size <= found || size > weights.rows) continue;
      auto structure = attempt(Format{std::string(name), {{std::string(parameter), size}}}, size);
      if (!structure) continue;
      result.push_back(std::move(*structure));
      found = size;
      return;
    }
  };
  look("bcsr", "b", [&](Format format, std::int64_t size) {
    return structure_of(weights, std::move(format), given, size, size);
  });
  look("vector_wise", "V", [&](Format format, std::int64_t size) {
    return structure_of(weights, std::move(format), given, size, 1);
  });
  const std::optional<Clusters> clusters = cluster(weights);
  if (!clusters) return result;
  look("shfl_bw", "V", [&](Format format, std::int64_t size) {
    std::vector<std::int32_t> order = grouped(*clusters, size);
    auto structure = structure_of(weights, std::move(format), order, size, 1);
    if (structure) structure->row_order = std::move(order);
    return structure;
  });
  return result;
}

std::string text_of(const FoundStructure& structure) {
  return fmt::format("{}: {:.1f} % of the {} kept, {:.1f} % filled", structure.format.text(),
                     100 * structure.density,
                     structure.format.name == "bcsr" ? "blocks" : "columns of groups", 100 * structure.fill);
}

}  // namespace weft
