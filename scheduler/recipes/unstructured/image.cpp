#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/ir/whole_runs.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/unstructured/cut.h>
#include <weft/scheduler/recipes/unstructured/image.h>

namespace weft {
namespace {

// Microseconds on an H200, fitted to measured points of staged images (docs/measurements.md).
constexpr double always_of_image = 2.03;         ///< a launch, the first loads, and the results
constexpr double of_far_filters = 0.919e-4;      ///< a byte of code of a processor beyond those at hand
constexpr double of_all_filters = 1.673e-6;      ///< a byte of code of all blocks of filters
constexpr double of_unshared_code = 0.86e-6;     ///< more for one, where one block alone has those filters
constexpr double of_tile = 0.034e-4;             ///< a byte that a processor copies into its tiles,
constexpr double of_copy = 0.152e-4;             ///< or a copy of a few bytes: whichever takes longer
constexpr double of_read = 0.468e-3;             ///< a read of the tile by a warp
constexpr double of_image_instruction = 0.4e-3;  ///< one of a group
constexpr double of_image_exchange = 0.487e-3;   ///< a row of sums of a warp through shared memory

// What reads of the image itself take: the instructions fit three measured kernels, the others are assumed.
constexpr double instructions_of_clamped_read = 8;
constexpr double loads_under_way = 16;  ///< a thread has so many
constexpr double of_load = 0.4;         ///< from global memory

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
      column_warps_(ceil_divide(pixels_, lanes_of_warp)),
      columns_(ceil_divide(pixels_, column_warps_)) {
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
    std::vector<AffineIndex> indices = factor.indices;
    std::vector<Extent> shape = operand.shape;
    if (images_fill_warps(algorithm)) {  // innermost in the copy of the image
      std::ranges::rotate(indices, indices.begin() + 1);
      std::ranges::rotate(shape, shape.begin() + 1);
    }
    for (const AffineIndex& index : indices) add_dimension(algorithm, index, loops);
    std::int64_t begin = indices.back().constant;
    for (const auto& [name, coefficient] : indices.back().terms) {
      if (algorithm.index(name).reduction)
        begin += std::min<std::int64_t>(0, coefficient * (algorithm.index(name).extent.value - 1));
    }
    take_whole_runs(begin, shape.back().value);
  }
}

void SparseRtConvolution::take_whole_runs(std::int64_t begin, std::int64_t whole) {
  Dimension& last = dimensions_.back();
  if (last.of_pixel <= 0 || last.of_line != 0 || last.of_group != 0) return;
  run_ = whole % run_of_tile(bytes_of_element_) == 0 ? run_of_tile(bytes_of_element_) : 1;
  const Stretch tile = in_whole_runs({begin, last.of_pixels + last.reach}, whole, bytes_of_element_);
  last.of_pixels = tile.extent - last.reach;
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
  d.of_pixels = d.of_pixel * (columns_ * column_warps_ - 1);
  dimensions_.push_back(d);
}

bool SparseRtConvolution::is_possible(const ImageCut<std::int64_t>& cut,
                                      std::int64_t shared_bytes_there) const {
  const bool staging = cut.staged == 0 || (forward_ && filters_across_groups(cut.rows) == 0);
  return warps(cut) * cut.groups <= most_warps && staging && shared_bytes(cut) <= shared_bytes_there;
}

std::int64_t SparseRtConvolution::resident(const ImageCut<std::int64_t>& cut, const Target& target) const {
  const BlockNeeds each{warps(cut) * cut.groups * lanes_of_warp,
                        registers_of_code(cut.rows * ceil_divide(bytes_of_sum_, 4)), shared_bytes(cut)};
  return resident_blocks(blocks(cut), each, target);
}

SparseRtOrder SparseRtConvolution::order(SparseRtOrder knob) const {
  return has_groups_ && knob == SparseRtOrder::chosen ? SparseRtOrder::given : knob;
}

std::int64_t SparseRtConvolution::blocks(const ImageCut<std::int64_t>& cut) const {
  return ceil_divide(filters_, cut.rows) * ceil_divide(lines_, cut.lines) * images_;
}

double SparseRtConvolution::cost(const ImageCut<std::int64_t>& cut) const {
  const bool staged = cut.staged != 0;
  const double row_blocks = real(ceil_divide(filters_, cut.rows)),
               line_blocks = real(ceil_divide(lines_, cut.lines));
  const double density = real(stored_) / std::max(1.0, real(filters_ * sums_));
  const double reads = code::loads(real(sums_), density, cut.rows);
  const double written = real(stored_) / row_blocks + reads * (staged ? 1 : instructions_of_clamped_read);
  const double own_code = written * code::bytes_of_instruction, all_code = row_blocks * own_code;
  const double each = real(ceil_divide(blocks(cut), measured_processors)), share = real(cut.groups);
  const double tile = real(bytes_of_tile(cut)), copies = tile / real(bytes_of_element_ * run_);
  const double staging = std::max(of_tile * tile, of_copy * copies);
  const double waiting = reads / share / loads_under_way * of_load;
  const double exchanged = cut.groups > 1 ? 2 * share * real(cut.rows * warps(cut)) : 0;
  const bool unshared = line_blocks * real(images_) == 1;
  return always_of_image + of_far_filters * std::max(0.0, each * own_code - code::bytes_at_hand) +
         (of_all_filters + (unshared ? of_unshared_code : 0)) * all_code +
         each * ((staged ? staging : waiting) + of_read * reads * real(warps(cut)) +
                 of_image_exchange * exchanged) +
         of_image_instruction * written / share;
}

}  // namespace weft
