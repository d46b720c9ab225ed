// What the loops of an algorithm are to the recipe of the CPU, and the point that it takes unasked.
#include <weft/scheduler/recipes/cpu/cpu_rows.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>
#include <bit>

namespace weft {
namespace {

constexpr std::int64_t most_vectors = 4;
constexpr std::int64_t narrow_columns = 48;       ///< a panel that is in order as it lies
constexpr std::int64_t cache_line = 64;           ///< bytes
constexpr std::int64_t same_sets = 1024;          ///< bytes between rows that leave a quarter of the sets
constexpr std::int64_t least_reads = 8;           ///< a row of the dense operand is read so often
constexpr std::int64_t known_pages = 256 * 1024;  ///< bytes of pages whose places a processor knows at once

std::int64_t iterations(const Algorithm& algorithm, const std::string& index) {
  const Extent extent = extent_of(algorithm, index);
  return extent.is_static() ? extent.value : 0;
}

const TensorAccess& access_of_dense(const Algorithm& algorithm) {
  return *std::ranges::find(algorithm.factors, dense_operand(algorithm), &TensorAccess::operand);
}

/// The index of the output that the place is, where others that are added to it have one iteration alone.
std::string only_index(const Algorithm& algorithm, const AffineIndex& place) {
  std::string found;
  for (const auto& [name, coefficient] : place.terms) {
    const IndexVariable& index = algorithm.index(name);
    if (index.reduction && iterations(algorithm, name) == 1) continue;
    if (!found.empty() || coefficient != 1) return {};
    found = name;
  }
  return place.constant == 0 ? found : std::string();
}

/// Whether the last two indices of output and dense operand are `lines` and `pixels`, whole and without gaps.
bool are_one_line(const Algorithm& algorithm, const std::string& lines, const std::string& pixels) {
  for (const TensorAccess* access : {&access_of_dense(algorithm), &algorithm.output}) {
    const Operand& operand = algorithm.operands[access->operand];
    const std::size_t rank = access->indices.size();
    if (rank < 2 || !operand.strides.empty()) return false;
    for (const auto& [place, name] : {std::pair(rank - 2, lines), {rank - 1, pixels}}) {
      const Extent& extent = operand.shape[place];
      if (only_index(algorithm, access->indices[place]) != name || !extent.is_static() ||
          extent.value != iterations(algorithm, name))
        return false;
    }
  }
  return true;
}

/// Whether the rows of the dense operand are hard to read where they lie: they begin anywhere in a cache
/// line, lie a power of two apart, where few sets of the cache hold them, or on more pages than the processor
/// knows the places of; and the weights read each of them often.
bool is_hard_to_read(const Algorithm& algorithm, const CpuNest& nest, double entries) {
  const Operand& operand = algorithm.operands[dense_operand(algorithm)];
  const bool known = operand.shape.size() == 2 && operand.shape[0].is_static() && nest.width > 0;
  if (!known || nest.width <= narrow_columns) return false;
  const auto size = static_cast<std::int64_t>(size_of(operand.dtype));
  const std::int64_t row = (operand.strides.empty() ? nest.width : operand.strides.front()) * size;
  const bool hard =
      row % cache_line != 0 || row % same_sets == 0 || operand.shape[0].value * row > known_pages;
  return hard && entries >= static_cast<double>(least_reads * operand.shape[0].value);
}

/// Columns of a panel: of one that is copied, as many as leave it on pages that the processor knows.
std::int64_t columns_of_panel(const Algorithm& algorithm, const CpuNest& nest, bool copied) {
  const std::int64_t lanes = cpu_lanes(algorithm);
  if (nest.vectors.empty()) return 1;
  if (copied && !nest.windows) {
    const Operand& operand = algorithm.operands[dense_operand(algorithm)];
    const auto bytes = 2 * lanes * static_cast<std::int64_t>(size_of(operand.dtype));
    return operand.shape[0].value * bytes <= known_pages ? 2 * lanes : lanes;
  }
  if (nest.width == 0 || nest.width >= most_vectors * lanes) return most_vectors * lanes;
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(nest.width)));
}

/// Lines of an image at a time: of those whose sums fit into registers the number of which an entry costs
/// least, with what is read for it alone.
std::int64_t lines_at_a_time(std::int64_t height, std::int64_t vectors) {
  constexpr std::int64_t of_entry = 4, most_sums = 16;
  std::int64_t best = 1, least = INT64_MAX;
  for (std::int64_t lines = 1; lines * vectors <= most_sums && lines <= height; ++lines) {
    const std::int64_t cost = ceil_divide(height, lines) * (of_entry + lines * vectors);
    if (cost < least) std::tie(best, least) = std::pair(lines, cost);
  }
  return best;
}

/// The index of vectors: the last one, or where that fills few of their elements another one that fills half
/// as many again.
std::vector<std::string>::iterator place_of_vectors(const Algorithm& algorithm,
                                                    std::vector<std::string>& others) {
  constexpr double better = 1.5;
  const auto filled = [&](const std::string& index) {
    const std::int64_t lanes = cpu_lanes(algorithm), count = iterations(algorithm, index);
    return count == 0 ? 1.0 : static_cast<double>(count) / static_cast<double>(lanes * ceil_divide(count, lanes));
  };
  auto best = others.end() - 1;
  for (auto place = best; place != others.begin();) {
    --place;
    if (filled(*place) >= better * filled(*best)) best = place;
  }
  return best;
}

}  // namespace

double entries_of_row(const SparseTensor& weights) {
  return static_cast<double>(weights.array("values").size()) /
         static_cast<double>(std::max<std::int64_t>(1, weights.rows()));
}

std::int64_t cpu_lanes(const Algorithm& algorithm) {
  return algorithm.accumulator == DType::f64 ? 8 : 16;
}

CpuNest cpu_nest(const Algorithm& algorithm, const Format& format) {
  const GatheredProduct product = gathered_product(algorithm);
  if (product.rows.empty() || product.sum.empty()) return {};
  CpuNest nest;
  nest.rows = product.rows;
  nest.sum = product.sum;
  nest.dense = product.dense;
  std::vector<std::string> others = product.columns;
  for (const AffineIndex& place : access_of_dense(algorithm).indices)
    nest.windows |= place.plain() == nullptr && only_index(algorithm, place).empty();
  if (const std::size_t count = others.size();
      count > 1 && !nest.windows && are_one_line(algorithm, others[count - 2], others[count - 1])) {
    nest.fused = {others[count - 2], others[count - 1]};
    nest.vectors = others[count - 1];
    nest.width = iterations(algorithm, others[count - 2]) * iterations(algorithm, others[count - 1]);
    others.resize(count - 2);
  } else if (count > 0) {
    const auto place = place_of_vectors(algorithm, others);
    nest.vectors = *place;
    nest.width = iterations(algorithm, nest.vectors);
    nest.scattered = only_index(algorithm, access_of_dense(algorithm).indices.back()) != nest.vectors;
    const auto after = others.erase(place);
    if ((nest.windows || nest.scattered) && !others.empty()) {
      const auto lines = after == others.begin() ? others.end() - 1 : after - 1;
      nest.lines = *lines;
      others.erase(lines);
    }
  }
  if (nest.lines.empty() && format.name == "dense") nest.lines = nest.rows;
  if (!nest.lines.empty()) nest.height = iterations(algorithm, nest.lines);
  nest.others = std::move(others);
  return nest;
}

CpuRows chosen_for(const CpuRows& knobs, const CpuNest& nest, const Algorithm& algorithm, double entries) {
  constexpr std::int64_t sums_of_row = 4, rows_of_dense = 6, many_panels = 7, shared_panels = 4;
  constexpr double least_entries = 12;  // a group has no fewer
  const std::int64_t lanes = cpu_lanes(algorithm);
  CpuRows chosen = knobs;
  const bool by_panels = !nest.vectors.empty() && chosen.order != CpuOrder::rows;
  if (chosen.copy == CpuCopy::chosen) {
    const double stored = static_cast<double>(iterations(algorithm, nest.rows)) * entries;
    const bool worth = nest.windows || nest.scattered || is_hard_to_read(algorithm, nest, stored);
    const bool of_image = worth && nest.windows && !nest.others.empty();
    chosen.copy = worth && by_panels ? CpuCopy::panel : of_image ? CpuCopy::image : CpuCopy::none;
  }
  const bool copied = chosen.copy == CpuCopy::panel;
  if (chosen.panel == 0) chosen.panel = columns_of_panel(algorithm, nest, copied);
  const std::int64_t vectors =
      ceil_divide(nest.width > 0 ? std::min(chosen.panel, nest.width) : chosen.panel, lanes);
  if (chosen.rows == 0)
    chosen.rows = nest.lines.empty()        ? 1
                  : nest.lines == nest.rows ? rows_of_dense
                                            : lines_at_a_time(nest.height, vectors);
  if (chosen.groups == 0) {
    chosen.groups = chosen.rows > 1 ? 1 : std::max<std::int64_t>(1, sums_of_row / vectors);
    while (chosen.groups > 1 && entries < least_entries * static_cast<double>(chosen.groups))
      chosen.groups /= 2;
  }
  const std::int64_t panels = nest.windows ? nest.height / chosen.rows : nest.width / chosen.panel;
  if (chosen.order == CpuOrder::chosen) {
    const bool outside = copied || nest.windows || !nest.fused.empty() || panels >= many_panels;
    chosen.order = by_panels && outside ? CpuOrder::panels : CpuOrder::rows;
  }
  if (chosen.threads == CpuThreads::chosen)
    chosen.threads =
        chosen.order == CpuOrder::panels && panels >= shared_panels ? CpuThreads::panels : CpuThreads::rows;
  return chosen;
}

}  // namespace weft
