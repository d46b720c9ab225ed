// What blocks of a convolution come to when sparsert cuts it: warps, bytes of shared memory, and about how
// long they take. The formulas of what fits are written once, for numbers and for expressions over knobs.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/scheduler/recipes/parts/bound.h>
#include <weft/scheduler/recipes/parts/product.h>
#include <weft/scheduler/recipes/unstructured/convolution.h>
#include <weft/scheduler/recipes/unstructured/shape.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft {

/// How a block of the output is cut: filters, lines, groups of warps that share the sum, and whether the
/// lines of the image lie in shared memory (1) or are read where they are (0).
template <class Number>
struct ImageCut {
  Number rows, lines, groups, staged;
};

class SparseRtConvolution {
 public:
  /// Warps of a block, all groups together.
  static constexpr std::int64_t most_warps = 16;
  /// Bytes of shared memory, at most, between arrays that begin at multiples of 16.
  static constexpr std::int64_t ends_of_arrays = 32;

  /// Filters of a block, and groups that share its sums, among which there is to choose.
  static constexpr std::array<std::int64_t, 6> rows_tried{2, 4, 8, 16, 32, 64};
  static constexpr std::array<std::int64_t, 5> groups_tried{1, 2, 4, 8, 16};

  /// `rows`, `columns` and `stored` are those of the weights as a matrix.
  SparseRtConvolution(const Algorithm& algorithm, std::int64_t rows, std::int64_t columns,
                      std::int64_t stored, const ConvolutionLoops& loops);

  std::int64_t lines() const { return lines_; }
  std::int64_t filters() const { return filters_; }
  std::int64_t images() const { return images_; }
  std::int64_t columns() const { return columns_; }  ///< columns of the pixels that a warp has
  /// Lines that the lanes of a warp hold together.
  std::int64_t lines_of_warp() const { return std::max<std::int64_t>(1, lanes_of_warp / columns_); }

  /// Warps of one group.
  template <class Number>
  Number warps(const ImageCut<Number>& cut) const {
    return ceil_divide(cut.lines, Number(lines_of_warp())) * Number(column_warps_);
  }

  /// Bytes of the lines of the image that a block reads, as `stage` lays them out.
  template <class Number>
  Number bytes_of_tile(const ImageCut<Number>& cut) const {
    Number bytes(bytes_of_element_);
    for (const Dimension& d : dimensions_) {
      const Number channels = shapes::maximum(Number(1), cut.rows / Number(filters_of_group_));
      const Number extent = Number(d.of_line) * (cut.lines - Number(1)) + Number(d.of_pixels) +
                            Number(d.of_group) * (channels - Number(1)) + Number(d.reach);
      const bool channels_last = &d == &dimensions_.back() && d.of_line == 0 && d.of_pixel == 0;
      bytes = bytes * (channels_last ? extent / Number(2) * Number(2) + Number(1) : extent);
    }
    return bytes;
  }

  /// Bytes of what groups hand over to one another; nothing where there is one.
  template <class Number>
  Number bytes_of_sums(const ImageCut<Number>& cut) const {
    return code::bytes_handed_over(cut.groups, cut.rows, warps(cut), lanes_of_warp * bytes_of_sum_);
  }

  template <class Number>
  Number shared_bytes(const ImageCut<Number>& cut) const {
    return cut.staged * bytes_of_tile(cut) + bytes_of_sums(cut) + Number(ends_of_arrays);
  }

  /// Filters of a block that are neither whole groups of channels nor in one: 0 where tiles can be staged.
  template <class Number>
  Number filters_across_groups(const Number& rows) const {
    return shapes::minimum(rows % Number(filters_of_group_), Number(filters_of_group_) % rows);
  }
  /// Later lines and pixels read later ones, as staging asks.
  bool goes_forward() const { return forward_; }

  bool is_possible(const ImageCut<std::int64_t>& cut, std::int64_t shared_bytes_there) const;
  /// Blocks that a processor is to hold at a time: those that it gets, as far as there is room for them.
  std::int64_t resident(const ImageCut<std::int64_t>& cut, const Target& target) const;
  bool has_groups() const { return has_groups_; }  ///< whether channels are in groups
  /// Filters of several groups of channels stay as they are where the knob leaves it open: a block of filters
  /// of many groups would read all their channels.
  SparseRtOrder order(SparseRtOrder knob) const;
  /// Lines of a block: some, and those that go into all lines once to four times.
  std::vector<std::int64_t> lines_worth_trying() const;
  /// About how long a cut takes on an H200, fitted to measured points: what a launch always takes, code from
  /// afar, and tiles, reads of them and what groups hand over, or reads of the image itself, clamped. Code is
  /// an instruction for each entry and one or more for each column of the weights with an entry in the block.
  Bound time(const ImageCut<std::int64_t>& cut) const;
  double cost(const ImageCut<std::int64_t>& cut) const { return time(cut).microseconds; }
  /// The cheapest cut that the knobs allow, or nothing where none fits.
  std::optional<ImageCut<std::int64_t>> cheapest(const SparseRtKnobs& knobs, const Target& target) const;

 private:
  static constexpr std::int64_t lanes_of_warp = 32;

  /// One dimension of the image: how far apart neighbours of each output loop read, how much the pixels of a
  /// line take beyond the first, and how far filters reach.
  struct Dimension {
    std::int64_t of_line = 0, of_pixel = 0, of_group = 0;
    std::int64_t of_pixels = 0, reach = 1;
  };

  std::int64_t blocks(const ImageCut<std::int64_t>& cut) const;
  void add_dimension(const Algorithm& algorithm, const AffineIndex& index, const ConvolutionLoops& loops);
  /// The last dimension as `stage` takes it, of `whole` elements, the first pixel's first place given.
  void take_whole_runs(std::int64_t begin, std::int64_t whole);

  std::int64_t lines_, pixels_, images_, filters_, sums_, stored_, column_warps_, columns_;
  std::int64_t filters_of_group_ = 1;
  bool has_groups_ = false;
  std::int64_t bytes_of_element_ = 4, bytes_of_sum_ = 4;
  std::int64_t run_ = 1;  ///< elements of a tile that are copied together
  std::vector<Dimension> dimensions_;
  bool forward_ = true;
  bool lies_apart_ = false;  ///< pixels of a line are not neighbours in memory
};

/// The convolution of a problem; nothing where it is none, or none that sparsert cuts.
std::optional<SparseRtConvolution> convolution_of(const ProblemSummary& problem);

}  // namespace weft
