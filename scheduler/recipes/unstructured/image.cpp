#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/ir/whole_runs.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/unstructured/cut.h>
#include <weft/scheduler/recipes/unstructured/image.h>

#include <set>

namespace weft {
namespace {

// Microseconds on an H200, fitted to 543 kernels of 33 convolutions in f32 (docs/measurements/choice.md);
// what lies apart to 311 kernels of images with their channels innermost (docs/measurements/search.md).
constexpr double always_of_image = 1.8;       ///< a launch, the first loads, and the results
constexpr double of_far_filters = 1.23e-4;    ///< a byte of code of a processor beyond those at hand
constexpr double of_all_filters = 1.45e-6;    ///< a byte of code of all blocks of filters
constexpr double of_copy = 1e-4;              ///< a copy of a few bytes into a tile, by a processor,
constexpr double of_copy_apart = 2.5e-4;      ///< or of an element, where channels lie side by side
constexpr double of_read = 0.177e-3;          ///< a read of the tile by a warp,
constexpr double of_read_of_halves = 5.8e-3;  ///< or of halves of words that lie apart,
constexpr double of_clamped_read = 0.674e-3;  ///< or of the image itself,
constexpr double of_read_apart = 0.48e-3;  ///< or of each of its pixels, where they do not lie side by side
constexpr double of_row_apart = 0.026;     ///< a row of results of a warp whose pixels do not either
constexpr double of_image_instruction = 1.02e-3;  ///< one of a group
constexpr double of_image_exchange = 0.354e-3;    ///< a row of sums of a warp through shared memory
constexpr double instructions_of_clamped_read = 1.67;
constexpr std::int64_t bytes_of_word = 4;

constexpr std::int64_t least_clamped_rows = 8;

using Cut = ImageCut<std::int64_t>;

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
    lies_apart_ = dimensions_.back().of_pixel == 0;
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

std::vector<std::int64_t> SparseRtConvolution::lines_worth_trying() const {
  std::set<std::int64_t> lines{1, 2, 4, 8, 16};
  for (const std::int64_t share : {1, 2, 3, 4})
    lines.insert(ceil_divide(ceil_divide(lines_, share), lines_of_warp()) * lines_of_warp());
  return {lines.begin(), lines.end()};
}

std::optional<ImageCut<std::int64_t>> SparseRtConvolution::cheapest(const SparseRtKnobs& knobs,
                                                                    const Target& target) const {
  std::optional<Cut> best;
  const auto try_cut = [&](const Cut& cut) {
    if (!is_possible(cut, target.shared_bytes_per_block)) return;
    if (!best || cost(cut) < cost(*best)) best = cut;
  };
  const auto allowed = [](std::int64_t knob, std::int64_t value) { return knob == 0 || knob == value; };
  std::vector<std::int64_t> lines;
  const std::int64_t all = ceil_divide(lines_, lines_of_warp()) * lines_of_warp();
  for (std::int64_t each = lines_of_warp(); each <= all; each += lines_of_warp()) lines.push_back(each);
  if (knobs.lines > 0) lines = {knobs.lines};
  std::vector<std::int64_t> rows(rows_tried.begin(), rows_tried.end());
  if (knobs.rows > 0) rows = {knobs.rows};
  std::vector<std::int64_t> shares(groups_tried.begin(), groups_tried.end());
  if (knobs.groups > 0) shares = {knobs.groups};
  for (const bool staged : {true, false}) {
    if (!allowed(number_of(knobs.image), number_of(staged ? SparseRtImage::staged : SparseRtImage::clamped)))
      continue;
    for (const std::int64_t each : rows) {
      // With fewer, no clamped kernel was measured.
      if (!staged && knobs.rows == 0 && each < least_clamped_rows) continue;
      for (const std::int64_t line : lines) {
        for (const std::int64_t group : shares) try_cut({each, line, group, staged ? 1 : 0});
      }
    }
  }
  return best;
}

Bound SparseRtConvolution::time(const Cut& cut) const {
  const bool staged = cut.staged != 0;
  const double row_blocks = real(ceil_divide(filters_, cut.rows));
  const double density = real(stored_) / std::max(1.0, real(filters_ * sums_));
  const double reads = code::loads(real(sums_), density, cut.rows);
  const double written = real(stored_) / row_blocks + reads * (staged ? 1 : instructions_of_clamped_read);
  const double own_code = written * code::bytes_of_instruction, all_code = row_blocks * own_code;
  const double each = real(ceil_divide(blocks(cut), measured_processors)), share = real(cut.groups);
  const double copy = lies_apart_ ? of_copy_apart : of_copy;
  const double staging = staged ? copy * real(bytes_of_tile(cut)) / real(bytes_of_element_ * run_) : 0;
  const double exchanged = cut.groups > 1 ? 2 * share * real(cut.rows * warps(cut)) : 0;
  Bound bound;
  const auto add = [&](Resource resource, double microseconds) {
    bound.parts[static_cast<std::size_t>(resource)] = microseconds;
    bound.microseconds += microseconds;
    if (microseconds > bound.part(bound.by)) bound.by = resource;
  };
  add(Resource::launch, always_of_image);
  add(Resource::code,
      of_far_filters * std::max(0.0, each * own_code - code::bytes_at_hand) + of_all_filters * all_code);
  add(Resource::units, of_image_instruction * written / share);
  const double clamped = lies_apart_ ? of_read_apart * real(columns_) : of_clamped_read;
  const double of_tile = lies_apart_ && bytes_of_element_ < bytes_of_word ? of_read_of_halves : of_read;
  const double read = (staged ? of_tile : clamped) * reads * real(warps(cut));
  const double results = lies_apart_ ? of_row_apart * real(cut.rows * warps(cut)) : 0;
  add(staged ? Resource::shared_memory : Resource::l2,
      each * (staging + read + results + of_image_exchange * exchanged));
  return bound;
}

std::optional<SparseRtConvolution> convolution_of(const ProblemSummary& problem) {
  if (problem.of_images == nullptr) return std::nullopt;
  const ConvolutionLoops loops = convolution_loops(*problem.of_images);
  if (loops.filters.empty()) return std::nullopt;
  return SparseRtConvolution(*problem.of_images, problem.m, problem.k, problem.stored, loops);
}

}  // namespace weft
