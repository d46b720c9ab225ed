#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/recipe_parts.h>
#include <weft/scheduler/sparsert_convolution.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace weft {
namespace {

constexpr std::int64_t lanes_of_warp = 32;
constexpr std::int64_t most_pixels = 512;  ///< of a line: its warps share a block
constexpr std::int64_t most_warps = 16;    ///< of all groups of a block
constexpr std::array<std::int64_t, 6> rows_tried{2, 4, 8, 16, 32, 64};
constexpr std::int64_t least_clamped_rows = 8;
constexpr std::array<std::int64_t, 5> groups_tried{1, 2, 4, 8, 16};

// What a processor of an H200 does in a clock: the rate of code is measured, what a clamped read costs fits
// three measured kernels, the others are assumed (docs/measurements.md). Only ratios matter.
constexpr std::int64_t processors = 132;
constexpr double loads_under_way = 16;  ///< of a thread
constexpr double clocks_of_load = 800;  ///< from global memory
constexpr double staged_bytes = 40;     ///< read into shared memory
constexpr double code_bytes = 6.8;      ///< of code that is run through once
constexpr double instructions = 2.4;    ///< issued for all warps
constexpr double instructions_of_warp = 0.5;
constexpr double latency = 1500;  ///< clocks in which a block starts and ends
constexpr double bytes_of_instruction = 16;
constexpr double instructions_of_staged_read = 1, instructions_of_clamped_read = 8;

/// How a block of the output is cut: filters, lines, groups of warps that share the sum, and whether the
/// lines of the image lie in shared memory.
struct Cut {
  std::int64_t rows = 0, lines = 0, groups = 1;
  bool staged = false;
};

/// One dimension of the image: how far apart neighbours of each output loop read, and how far filters reach.
struct ImageDimension {
  std::int64_t of_line = 0, of_pixel = 0, of_group = 0;
  std::int64_t reach = 1;
};

/// A convolution and the numbers that a cut of it is judged by.
class Image {
 public:
  Image(const Algorithm& algorithm, const SparseTensor& weights, const ConvolutionLoops& loops)
      : lines_(extent_of(algorithm, loops.lines).value),
        pixels_(extent_of(algorithm, loops.pixels).value),
        images_(loops.batch.empty() ? 1 : extent_of(algorithm, loops.batch).value),
        filters_(weights.rows()),
        sums_(weights.columns()),
        stored_(weights.array("values").size()),
        column_warps_(pieces(pixels_, lanes_of_warp)),
        columns_(pieces(pixels_, column_warps_)) {
    for (const TensorAccess& factor : algorithm.factors) {
      const Operand& operand = algorithm.operands[factor.operand];
      if (operand.storage == Storage::sparse) {
        // Filters of one group follow one another.
        if (factor.indices.size() == 5) filters_of_group_ = operand.shape[1].value;
        continue;
      }
      bytes_of_element_ = static_cast<std::int64_t>(size_of(operand.dtype));
      bytes_of_sum_ = static_cast<std::int64_t>(size_of(algorithm.accumulator));
      for (const AffineIndex& index : factor.indices) add_dimension(algorithm, index, loops);
    }
  }

  std::int64_t lines() const { return lines_; }
  std::int64_t columns() const { return columns_; }
  /// Lines that the lanes of a warp hold together.
  std::int64_t lines_of_warp() const { return std::max<std::int64_t>(1, lanes_of_warp / columns_); }
  /// Of one group of warps.
  std::int64_t warps(const Cut& cut) const { return pieces(cut.lines, lines_of_warp()) * column_warps_; }

  /// Bytes of the lines of the image that a block reads, as `stage` lays them out.
  std::int64_t bytes_of_tile(const Cut& cut) const {
    std::int64_t bytes = bytes_of_element_;
    for (const ImageDimension& d : dimensions_) {
      const std::int64_t groups = std::max<std::int64_t>(1, cut.rows / filters_of_group_);
      const std::int64_t extent = d.of_line * (cut.lines - 1) + d.of_pixel * (columns_ * column_warps_ - 1) +
                                  d.of_group * (groups - 1) + d.reach;
      const bool channels_last = &d == &dimensions_.back() && d.of_line == 0 && d.of_pixel == 0;
      bytes *= channels_last ? extent / 2 * 2 + 1 : extent;
    }
    return bytes;
  }

  std::int64_t shared_bytes(const Cut& cut) const {
    constexpr std::int64_t ends_of_arrays = 32;
    const std::int64_t sums = cut.groups > 1 ? cut.groups * cut.rows * warps(cut) * lanes_of_warp : 0;
    return (cut.staged ? bytes_of_tile(cut) : 0) + sums * bytes_of_sum_ + ends_of_arrays;
  }

  bool is_possible(const Cut& cut, const Target& target) const {
    const bool of_groups = cut.rows % filters_of_group_ == 0 || filters_of_group_ % cut.rows == 0;
    return warps(cut) * cut.groups <= most_warps && (!cut.staged || (forward_ && of_groups)) &&
           shared_bytes(cut) <= target.shared_bytes_per_block;
  }

  /// Clocks of a processor, roughly: blocks come in waves; each reads its tile, then runs through its code
  /// once, and then adds up what the groups have. Code is an instruction for each entry and some for each
  /// column of the weights with an entry in the block. The rate at which it is read, or at which all warps
  /// together or one of them issue it, or the loads of a clamped image bound it.
  double cost(const Cut& cut) const {
    const auto real = [](std::int64_t number) { return static_cast<double>(number); };
    const std::int64_t row_blocks = pieces(filters_, cut.rows);
    const double density = real(stored_) / std::max(1.0, real(filters_ * sums_));
    const double reads = real(sums_) * (1 - std::pow(1 - density, real(cut.rows)));
    const double of_read = cut.staged ? instructions_of_staged_read : instructions_of_clamped_read;
    const double written = real(stored_) / real(row_blocks) + reads * of_read;
    const double asked = real(warps(cut) * cut.groups * lanes_of_warp * bytes_of_element_) * loads_under_way;
    const double tile =
        cut.staged ? real(bytes_of_tile(cut)) / std::min(staged_bytes, asked / clocks_of_load) : 0;
    const double waited = cut.staged ? 0 : reads / real(cut.groups) / loads_under_way * clocks_of_load;
    const double code =
        std::max({written * bytes_of_instruction / code_bytes, written * real(warps(cut)) / instructions,
                  written / real(cut.groups) / instructions_of_warp, waited});
    const double exchange = cut.groups > 1 ? real(2 * cut.groups * cut.rows * warps(cut)) : 0;
    const std::int64_t blocks = row_blocks * pieces(lines_, cut.lines) * images_;
    return real(pieces(blocks, processors)) * (latency + tile + code + exchange);
  }

 private:
  void add_dimension(const Algorithm& algorithm, const AffineIndex& index, const ConvolutionLoops& loops) {
    ImageDimension d;
    for (const auto& [name, coefficient] : index.terms) {
      if (algorithm.index(name).reduction) {
        d.reach += std::abs(coefficient) * (algorithm.index(name).extent.value - 1);
        continue;
      }
      forward_ = forward_ && coefficient > 0;
      if (name == loops.lines)
        d.of_line = coefficient;
      else if (name == loops.pixels)
        d.of_pixel = coefficient;
      else if (name != loops.batch)
        d.of_group = coefficient;
    }
    dimensions_.push_back(d);
  }

  std::int64_t lines_, pixels_, images_, filters_, sums_, stored_, column_warps_, columns_;
  std::int64_t filters_of_group_ = 1;
  std::int64_t bytes_of_element_ = 4, bytes_of_sum_ = 4;
  std::vector<ImageDimension> dimensions_;
  bool forward_ = true;  ///< later lines and pixels read later ones
};

/// The cheapest cut that the knobs allow.
Cut cheapest_cut(const Image& image, const Target& target, const SparseRtKnobs& knobs) {
  std::optional<Cut> best;
  const auto try_cut = [&](const Cut& cut) {
    if (!image.is_possible(cut, target)) return;
    if (!best || image.cost(cut) < image.cost(*best)) best = cut;
  };
  const auto allowed = [](std::int64_t knob, std::int64_t value) { return knob == 0 || knob == value; };
  std::vector<std::int64_t> lines;
  const std::int64_t all = pieces(image.lines(), image.lines_of_warp()) * image.lines_of_warp();
  for (std::int64_t each = image.lines_of_warp(); each <= all; each += image.lines_of_warp())
    lines.push_back(each);
  if (knobs.lines > 0) lines = {knobs.lines};
  std::vector<std::int64_t> rows(rows_tried.begin(), rows_tried.end());
  if (knobs.rows > 0) rows = {knobs.rows};
  std::vector<std::int64_t> groups(groups_tried.begin(), groups_tried.end());
  if (knobs.groups > 0) groups = {knobs.groups};
  for (const bool staged : {true, false}) {
    if (!allowed(static_cast<std::int64_t>(knobs.image), staged ? 1 : 2)) continue;
    for (const std::int64_t each : rows) {
      // With fewer, no clamped kernel was measured.
      if (!staged && knobs.rows == 0 && each < least_clamped_rows) continue;
      for (const std::int64_t line : lines) {
        for (const std::int64_t group : groups) try_cut({each, line, group, staged});
      }
    }
  }
  if (best) return *best;
  const Cut least{rows.front(), lines.front(), groups.front(), knobs.image != SparseRtImage::clamped};
  throw InfeasibleError(
      {"no cut of the convolution fits the target",
       {},
       fmt::format("{} filters, {} lines and {} groups of {} warps: {} bytes of shared memory", least.rows,
                   least.lines, least.groups, image.warps(least), image.shared_bytes(least)),
       fmt::format("at most {} warps and {} bytes", most_warps, target.shared_bytes_per_block)});
}

}  // namespace

ConvolutionLoops convolution_loops(const Algorithm& algorithm) {
  const Operand* sparse = algorithm.sparse_operand();
  if (sparse == nullptr || sparse->shape.size() < 4 || sparse->shape.size() > 5) return {};
  ConvolutionLoops loops;
  std::vector<std::string> rows, others;
  for (const TensorAccess& factor : algorithm.factors) {
    if (&algorithm.operands[factor.operand] != sparse) continue;
    for (const AffineIndex& index : factor.indices) {
      if (!algorithm.index(*index.plain()).reduction) rows.push_back(*index.plain());
    }
  }
  for (const IndexVariable& index : algorithm.indices) {
    if (index.reduction) continue;
    if (std::ranges::find(rows, index.name) == rows.end()) others.push_back(index.name);
  }
  if (rows.size() + 3 != sparse->shape.size() || others.size() < 2 || others.size() > 3) return {};
  for (const std::string& name : others) {
    if (!extent_of(algorithm, name).is_static()) return {};
  }
  if (extent_of(algorithm, others.back()).value > most_pixels) return {};
  loops.pixels = others.back();
  loops.lines = others[others.size() - 2];
  if (others.size() == 3) loops.batch = others.front();
  for (const std::string& name : rows) loops.filters += (loops.filters.empty() ? "" : "_") + name;
  return loops;
}

/// A lane has one pixel of one to 32 columns of several lines; further columns and lines go to further warps.
/// Coordinates are constants of the code. Where the lines of a block and those around them that filters reach
/// fit shared memory, they lie there with zeros around the image: a read is one instruction with a constant
/// offset. Elsewhere reads go to the image itself, clamped at its border.
Schedule sparsert_convolution(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                              const Target& target, const ConvolutionLoops& loops,
                              const SparseRtKnobs& knobs) {
  const Image image(algorithm, *weights, loops);
  const Cut cut = cheapest_cut(image, target, knobs);
  const std::string sum = sum_loop(algorithm);
  const std::string dense = algorithm.operands[dense_operand(algorithm)].name;
  const LoopName line_blocks(loops.lines + ".outer"), lines(loops.lines + ".inner");
  const LoopName line_warps(loops.lines + ".inner.outer"), line(loops.lines + ".inner.inner");
  const LoopName warps(loops.pixels + ".outer"), column(loops.pixels + ".inner");
  const LoopName row_blocks(loops.filters + ".outer"), row(loops.filters + ".inner");
  Schedule result(std::move(algorithm), std::move(weights), target);
  result
      .split(LoopFactor{LoopName(loops.filters), cut.rows}, LoopFactor{LoopName(loops.lines), cut.lines},
             LoopFactor{LoopName(loops.pixels), image.columns()})
      .split(LoopFactor{lines, image.lines_of_warp()});
  if (loops.batch.empty()) {
    result.reorder(row_blocks, line_blocks, line_warps, warps, line, column, row);
  } else {
    result.reorder(LoopName(loops.batch), row_blocks, line_blocks, line_warps, warps, line, column, row)
        .bind(LoopName(loops.batch), block_z);
  }
  result.bind(row_blocks, block_y).bind(line_blocks, block_x);
  if (cut.staged) result.stage(dense, shared, at = line_blocks);
  result.bind(line_warps, warp).bind(warps, warp).bind(line, lane).bind(column, lane);
  if (cut.groups > 1) result.split_k(LoopName(sum), groups = cut.groups).bind(LoopName(sum + ".group"), warp);
  result.bake_values(row);
  return result;
}

}  // namespace weft
