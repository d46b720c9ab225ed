// What the loops of an algorithm are to the recipe of the CPU, and the point that it takes unasked.
#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/recipes/cpu/cpu_rows.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <tuple>

namespace weft {
namespace {

constexpr std::int64_t cache_line = 64;            ///< bytes
constexpr std::int64_t same_sets = 1024;           ///< bytes between rows that leave a quarter of the sets
constexpr std::int64_t bytes_of_way = 128 * 1024;  ///< one way of a second cache
constexpr std::int64_t least_reads = 8;            ///< a row of the dense operand is read so often

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

/// From one row of a dense operand of two dimensions to the next.
std::int64_t bytes_of_row(const Operand& operand, const CpuNest& nest) {
  return (operand.strides.empty() ? nest.width : operand.strides.front()) *
         static_cast<std::int64_t>(size_of(operand.dtype));
}

/// Whether an index of output and dense operand, `back` from the last one, is the column, whole and without
/// gaps.
bool is_whole(const Algorithm& algorithm, std::size_t back, const std::string& column) {
  return std::ranges::all_of(std::array{&access_of_dense(algorithm), &algorithm.output},
                             [&](const TensorAccess* access) {
                               const Operand& operand = algorithm.operands[access->operand];
                               if (access->indices.size() <= back || !operand.strides.empty()) return false;
                               const std::size_t place = access->indices.size() - 1 - back;
                               const Extent& extent = operand.shape[place];
                               return only_index(algorithm, access->indices[place]) == column &&
                                      extent.is_static() && extent.value == iterations(algorithm, column);
                             });
}

/// As many of the last columns as lie behind one another in both.
std::vector<std::string> one_line(const Algorithm& algorithm, const std::vector<std::string>& columns) {
  std::size_t count = 0;
  while (count < columns.size() && is_whole(algorithm, count, columns[columns.size() - 1 - count])) ++count;
  return {columns.end() - static_cast<std::ptrdiff_t>(count), columns.end()};
}

/// Columns of a panel: as many as half of the second cache holds, so that what is beside them stays too; all
/// of a product of few.
std::int64_t columns_of_panel(const Algorithm& algorithm, const CpuNest& nest, const Target& target) {
  constexpr std::int64_t most_vectors = 8, all = 16, fewer = 4;
  if (nest.vectors.empty()) return 1;
  const std::int64_t lanes = cpu_lanes(algorithm, target);
  const bool few =
      nest.width == 0 || !nest.lines.empty();  // a launch says the width, or several rows share a panel
  const std::int64_t vectors = few ? fewer : nest.width <= all * lanes ? all : most_vectors;
  std::int64_t panel = panel_of(nest.width, vectors * lanes);
  while (panel > lanes && bytes_of_panel(algorithm, nest, panel, 1) > target.second_cache_bytes / 2)
    panel /= 2;
  return panel;
}

/// What a panel of an image takes, with what is read for an entry alone: sums of what lies in the second
/// cache take twice as long, and half as long again where the last panel or the last lines are not whole.
double cost_of_cut(const Algorithm& algorithm, const CpuNest& nest, const Target& target, std::int64_t panel,
                   std::int64_t lines) {
  constexpr double of_entry = 4, of_others = 0.5;
  const std::int64_t width = nest.width == 0 ? panel : nest.width;
  const std::int64_t walks = ceil_divide(width, panel) * ceil_divide(nest.height, lines);
  const std::int64_t sums = lines * ceil_divide(std::min(panel, width), cpu_lanes(algorithm, target));
  const double filled = static_cast<double>(bytes_of_panel(algorithm, nest, panel, lines)) /
                        static_cast<double>(target.first_cache_bytes);
  const double of_sum = std::clamp(filled, 1.0, 2.0) + (width > panel && width % panel != 0 ? of_others : 0) +
                        (nest.height % lines != 0 ? of_others : 0);
  return static_cast<double>(walks) * (of_entry + static_cast<double>(sums) * of_sum);
}

/// Pixels and lines of an image at a time: of those whose sums fit into 18 registers of 64 bytes, or wait in
/// the first cache where there are fewer, the ones that cost least.
void cut_image(CpuRows& chosen, const Algorithm& algorithm, const CpuNest& nest, const Target& target) {
  constexpr std::int64_t most_bytes = 18 * 64, most_lines = 16, most_of_line = 4 * 64;
  constexpr double of_more_panels = 1.1;  // each panel ends with a vector that is not full
  const std::int64_t lanes = cpu_lanes(algorithm, target);
  const std::int64_t most_sums = std::min(most_bytes / target.vector_bytes, most_vectors_of_sums);
  const CpuRows given = chosen;
  double least = 0;
  for (std::int64_t most = most_of_line / target.vector_bytes * lanes; most >= lanes; most /= 2) {
    const std::int64_t panel = given.panel > 0 ? given.panel : panel_of(nest.width, most);
    const std::int64_t vectors = ceil_divide(nest.width == 0 ? panel : std::min(panel, nest.width), lanes);
    std::int64_t best = std::max<std::int64_t>(1, given.rows);
    for (std::int64_t lines = 2;
         given.rows == 0 && lines * vectors <= most_sums && lines <= std::min(nest.height, most_lines);
         ++lines) {
      if (cost_of_cut(algorithm, nest, target, panel, lines) <
          cost_of_cut(algorithm, nest, target, panel, best))
        best = lines;
    }
    const double cost = cost_of_cut(algorithm, nest, target, panel, best);
    if (least > 0 && of_more_panels * cost >= least) continue;
    least = cost;
    chosen.panel = panel;
    chosen.rows = best;
    if (nest.width == 0) break;  // a launch says how many panels there are
  }
}

/// Sums that hide the time of an addition, where vectors are few; two hide what reading takes.
std::int64_t groups_of(std::int64_t vectors) {
  return vectors <= 2 ? 4 : vectors <= 8 ? 2 : 1;
}

/// The index of vectors: the last one, or where that fills few of their elements another one that fills half
/// as many again; a tenth more where the elements of both lie apart in the dense operand.
std::vector<std::string>::iterator place_of_vectors(const Algorithm& algorithm, const Target& target,
                                                    std::vector<std::string>& others) {
  const auto& terms = access_of_dense(algorithm).indices.back().terms;
  const bool is_beside =
      std::ranges::any_of(terms, [&](const auto& term) { return term.first == others.back(); });
  const double better = is_beside ? 1.5 : 1.1;
  const auto filled = [&](const std::string& index) {
    const std::int64_t lanes = cpu_lanes(algorithm, target), count = iterations(algorithm, index);
    return count == 0 ? 1.0
                      : static_cast<double>(count) / static_cast<double>(lanes * ceil_divide(count, lanes));
  };
  auto best = others.end() - 1;
  for (auto place = best; place != others.begin();) {
    --place;
    if (filled(*place) >= better * filled(*best)) best = place;
  }
  return best;
}

}  // namespace

std::int64_t panel_of(std::int64_t width, std::int64_t most) {
  return width == 0
             ? most
             : std::min(most, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(width))));
}

std::int64_t bytes_of_panel(const Algorithm& algorithm, const CpuNest& nest, std::int64_t panel,
                            std::int64_t lines) {
  auto bytes = static_cast<std::int64_t>(size_of(algorithm.operands[dense_operand(algorithm)].dtype));
  for (const AffineIndex& place : access_of_dense(algorithm).indices) {
    std::int64_t span = 1;
    for (const auto& [name, coefficient] : place.terms) {
      const std::int64_t count = name == nest.vectors              ? panel
                                 : name == nest.lines              ? lines
                                 : algorithm.index(name).reduction ? iterations(algorithm, name)
                                                                   : 1;
      span += std::abs(coefficient) * std::max<std::int64_t>(count - 1, 0);
    }
    bytes *= span;
  }
  return bytes;
}

bool is_hard_to_read(const Algorithm& algorithm, const CpuNest& nest, double reads) {
  const Operand& operand = algorithm.operands[dense_operand(algorithm)];
  const bool known = operand.shape.size() == 2 && operand.shape[0].is_static() && nest.width > 0;
  // Processors without masks for 16 bits copy what is left of such rows element by element.
  constexpr std::int64_t narrow_columns = 48;
  if (!known || (is_half(operand.dtype) && nest.width <= narrow_columns)) return false;
  const std::int64_t row = bytes_of_row(operand, nest);
  const bool hard = (row % cache_line != 0 && cache_line % row != 0) || row % same_sets == 0 ||
                    operand.shape[0].value * row > known_pages;
  return hard && reads >= static_cast<double>(least_reads * operand.shape[0].value);
}

bool is_read_in_place(const Algorithm& algorithm, const CpuNest& nest, const Target& target) {
  const Operand& operand = algorithm.operands[dense_operand(algorithm)];
  if (nest.scattered || operand.shape.size() != 2 || !operand.shape[0].is_static() || nest.width == 0)
    return false;
  const std::int64_t row = bytes_of_row(operand, nest);
  const std::int64_t apart = std::max(cache_line, std::gcd(row, bytes_of_way));
  return row % target.vector_bytes == 0 && operand.shape[0].value * apart <= target.second_cache_bytes / 2;
}

LoopName loop_of_vectors(Schedule& schedule, const CpuNest& nest) {
  if (nest.fused.empty()) return nest.vectors;
  return schedule.fuse(std::vector<LoopName>(nest.fused.begin(), nest.fused.end()));
}

std::int64_t times_of_others(const Algorithm& algorithm, const CpuNest& nest) {
  std::int64_t times = 1;
  for (const std::string& other : nest.others)
    times *= std::max<std::int64_t>(1, iterations(algorithm, other));
  return times;
}

bool has_results_apart(const Algorithm& algorithm, const CpuNest& nest) {
  const std::string* last = algorithm.output.indices.back().plain();
  return last == nullptr || *last != nest.vectors;
}

double entries_of_row(const SparseTensor& weights) {
  return static_cast<double>(weights.array("values").size()) /
         static_cast<double>(std::max<std::int64_t>(1, weights.rows()));
}

std::int64_t cpu_lanes(const Algorithm& algorithm, const Target& target) {
  return target.vector_bytes / (algorithm.accumulator == DType::f64 ? 8 : 4);
}

CpuNest cpu_nest(const Algorithm& algorithm, const Format& format, const Target& target) {
  const GatheredProduct product = gathered_product(algorithm);
  if (product.rows.empty() || product.sum.empty()) return {};
  CpuNest nest;
  nest.rows = product.rows;
  nest.sum = product.sum;
  nest.dense = product.dense;
  std::vector<std::string> others = product.columns;
  for (const AffineIndex& place : access_of_dense(algorithm).indices)
    nest.windows |= place.plain() == nullptr && only_index(algorithm, place).empty();
  const std::vector<std::string> line =
      nest.windows ? std::vector<std::string>() : one_line(algorithm, others);
  if (line.size() > 1) {
    nest.fused = line;
    nest.vectors = line.back();
    nest.width = 1;
    for (const std::string& each : line) nest.width *= iterations(algorithm, each);
    others.resize(others.size() - line.size());
  } else if (!others.empty()) {
    const auto place = place_of_vectors(algorithm, target, others);
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

CpuRows chosen_for(const CpuRows& knobs, const CpuNest& nest, const Algorithm& algorithm, double entries,
                   const Target& target) {
  constexpr std::int64_t gathered = 8, rows_of_dense = 6, shared_panels = 4;
  constexpr double least_entries = 4;  // a group has no fewer
  const std::int64_t lanes = cpu_lanes(algorithm, target);
  const bool of_lines = !nest.lines.empty() && nest.lines != nest.rows;
  CpuRows chosen = knobs;
  const bool by_panels = !nest.vectors.empty() && chosen.order != CpuOrder::rows;
  if (chosen.copy == CpuCopy::chosen) {
    const double stored = static_cast<double>(iterations(algorithm, nest.rows)) * entries;
    const bool worth = nest.windows || nest.scattered || is_hard_to_read(algorithm, nest, stored);
    const bool of_image = worth && nest.windows && !nest.others.empty();
    chosen.copy = worth && by_panels ? CpuCopy::panel : of_image ? CpuCopy::image : CpuCopy::none;
  }
  if (of_lines) cut_image(chosen, algorithm, nest, target);
  if (chosen.panel == 0) chosen.panel = columns_of_panel(algorithm, nest, target);
  if (chosen.rows == 0) chosen.rows = nest.lines == nest.rows && !nest.lines.empty() ? rows_of_dense : 1;
  if (chosen.groups == 0) {
    const std::int64_t vectors =
        ceil_divide(nest.width > 0 ? std::min(chosen.panel, nest.width) : chosen.panel, lanes);
    const bool is_vector = nest.width == 1 && !is_half(algorithm.operands[dense_operand(algorithm)].dtype);
    chosen.groups = chosen.rows > 1 ? 1 : is_vector ? gathered : groups_of(vectors);
    while (chosen.groups > 1 && entries < least_entries * static_cast<double>(chosen.groups))
      chosen.groups /= 2;
  }
  const std::int64_t panels = nest.windows ? nest.height / chosen.rows : nest.width / chosen.panel;
  if (chosen.order == CpuOrder::chosen) chosen.order = by_panels ? CpuOrder::panels : CpuOrder::rows;
  if (chosen.threads == CpuThreads::chosen)
    chosen.threads =
        chosen.order == CpuOrder::panels && panels >= shared_panels ? CpuThreads::panels : CpuThreads::rows;
  return chosen;
}

}  // namespace weft
