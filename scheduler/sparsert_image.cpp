#include <weft/scheduler/sparsert_cut.h>
#include <weft/scheduler/sparsert_image.h>

#include <cmath>

namespace weft {
namespace {

// What a processor of an H200 does in a clock: the rate of code is measured, what a clamped read costs fits
// three measured kernels, the others are assumed (docs/measurements.md). Only ratios matter.
constexpr std::int64_t processors = 132;
constexpr double loads_under_way = 16;  ///< of a thread
constexpr double clocks_of_load = 800;  ///< from global memory
constexpr double staged_bytes = 40;     ///< read into shared memory
constexpr double code_rate = 6.8;       ///< of code that is run through once
constexpr double instructions = 2.4;    ///< issued for all warps
constexpr double instructions_of_warp = 0.5;
constexpr double latency = 1500;  ///< clocks in which a block starts and ends
constexpr double bytes_of_instruction = 16;
constexpr double instructions_of_staged_read = 1, instructions_of_clamped_read = 8;

double real(std::int64_t number) {
  return static_cast<double>(number);
}

}  // namespace

SparseRtConvolution::SparseRtConvolution(const Algorithm& algorithm, std::int64_t rows, std::int64_t columns,
                                         std::int64_t stored, const ConvolutionLoops& loops)
    : lines_(extent_of(algorithm, loops.lines).value),
      pixels_(extent_of(algorithm, loops.pixels).value),
      images_(loops.batch.empty() ? 1 : extent_of(algorithm, loops.batch).value),
      filters_(rows),
      sums_(columns),
      stored_(stored),
      column_warps_(pieces(pixels_, lanes_of_warp)),
      columns_(pieces(pixels_, column_warps_)) {
  for (const TensorAccess& factor : algorithm.factors) {
    const Operand& operand = algorithm.operands[factor.operand];
    if (operand.storage == Storage::sparse) {
      // Filters of one group follow one another.
      has_groups_ = factor.indices.size() == 5;
      if (has_groups_) filters_of_group_ = operand.shape[1].value;
      continue;
    }
    bytes_of_element_ = static_cast<std::int64_t>(size_of(operand.dtype));
    bytes_of_sum_ = static_cast<std::int64_t>(size_of(algorithm.accumulator));
    for (const AffineIndex& index : factor.indices) add_dimension(algorithm, index, loops);
  }
}

void SparseRtConvolution::add_dimension(const Algorithm& algorithm, const AffineIndex& index,
                                        const ConvolutionLoops& loops) {
  Dimension d;
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

bool SparseRtConvolution::is_possible(const ImageCut<std::int64_t>& cut,
                                      std::int64_t shared_bytes_there) const {
  const bool staging = cut.staged == 0 || (forward_ && filters_across_groups(cut.rows) == 0);
  return warps(cut) * cut.groups <= most_warps && staging && shared_bytes(cut) <= shared_bytes_there;
}

std::int64_t SparseRtConvolution::resident(const ImageCut<std::int64_t>& cut, const Target& target) const {
  const BlockNeeds each{warps(cut) * cut.groups * lanes_of_warp,
                        registers_of_code(cut.rows * pieces(bytes_of_sum_, 4)), shared_bytes(cut)};
  return resident_blocks(blocks(cut), each, target);
}

SparseRtOrder SparseRtConvolution::order(SparseRtOrder knob) const {
  return has_groups_ && knob == SparseRtOrder::chosen ? SparseRtOrder::given : knob;
}

std::int64_t SparseRtConvolution::blocks(const ImageCut<std::int64_t>& cut) const {
  return pieces(filters_, cut.rows) * pieces(lines_, cut.lines) * images_;
}

double SparseRtConvolution::cost(const ImageCut<std::int64_t>& cut) const {
  const bool staged = cut.staged != 0;
  const std::int64_t row_blocks = pieces(filters_, cut.rows);
  const double density = real(stored_) / std::max(1.0, real(filters_ * sums_));
  const double reads = real(sums_) * (1 - std::pow(1 - density, real(cut.rows)));
  const double of_read = staged ? instructions_of_staged_read : instructions_of_clamped_read;
  const double written = real(stored_) / real(row_blocks) + reads * of_read;
  const double asked = real(warps(cut) * cut.groups * lanes_of_warp * bytes_of_element_) * loads_under_way;
  const double tile = staged ? real(bytes_of_tile(cut)) / std::min(staged_bytes, asked / clocks_of_load) : 0;
  const double waited = staged ? 0 : reads / real(cut.groups) / loads_under_way * clocks_of_load;
  const double code =
      std::max({written * bytes_of_instruction / code_rate, written * real(warps(cut)) / instructions,
                written / real(cut.groups) / instructions_of_warp, waited});
  const double exchange = cut.groups > 1 ? real(2 * cut.groups * cut.rows * warps(cut)) : 0;
  return real(pieces(blocks(cut), processors)) * (latency + tile + code + exchange);
}

}  // namespace weft
