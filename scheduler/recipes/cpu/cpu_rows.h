// Rows of lists on a CPU: vectors along the columns of a product or the pixels of an image, sums in vector
// registers. A recipe: it calls steps, as a user would.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/scheduler/recipes/parts/knob.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weft {

/// What of the dense operand is copied before it is read: in order, aligned, with zeros around an image.
enum class CpuCopy : std::uint8_t {
  chosen,  ///< the recipe chooses
  none,    ///< nothing
  panel,   ///< what a panel reads, before the rows of the weights go through it
  image,   ///< a whole image
};

/// Which loop stands outside the other.
enum class CpuOrder : std::uint8_t {
  chosen,  ///< the recipe chooses
  panels,  ///< all rows of the weights go through a panel of columns, then through the next
  rows,    ///< a row of the weights goes through all panels, then the next
};

/// What threads share.
enum class CpuThreads : std::uint8_t { chosen, panels, rows };

/// How the recipe cuts the output; 0 leaves a number to it.
struct CpuRows {
  std::int64_t panel = 0;  ///< columns, or pixels of a line, that a row of the weights sums at a time
  std::int64_t rows = 0;   ///< lines of an image, or rows of dense weights, at a time
  std::int64_t groups =
      0;  ///< sums that the entries of a row are dealt to, which wait for none of the others
  CpuCopy copy = CpuCopy::chosen;
  CpuOrder order = CpuOrder::chosen;
  CpuThreads threads = CpuThreads::chosen;
};

/// They by name.
std::span<const KnobField<CpuRows>> cpu_rows_knobs();

/// For a CPU, weights in csr or dense, and a product C[…, row, …] = sum of A[row, …] B[…] whose other output
/// indices B is read by: SpMV, SpMM, linear layers, convolutions in every layout. Elements of vectors are the
/// last output index, or where that has few iterations the one before it: columns of a product, pixels of a
/// line. With an image, several of its lines are summed at a time, and the lines that a panel reads are
/// copied first, zeros around them, the pixels of a line one beside the other whatever the layout is; then
/// nobody asks where the image ends. A filter of one pixel over a whole image is a product. Where vectors are
/// few, of up to 16 columns, the entries of a row are dealt to several sums: a sum waits for the addition
/// before. Of one column, groups of 8 and more are a vector of entries, which gathers. UserError for other
/// targets, weights and algorithms, for knobs out of their ranges, and for knobs that exclude one another.
Schedule cpu_rows(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                  const CpuRows& knobs = {}, CallPlace place = {});
WEFT_RECIPE_REFUSED(cpu_rows, const CpuRows& = {}, CallPlace = {})
WEFT_KNOB_REFUSED(
    cpu_rows,
    ".panel, .rows, .groups, .copy, .order and .threads in this order, such as {.panel = 32, .rows = 2}")

/// Which loop of an algorithm is what to the recipe.
struct CpuNest {
  std::string rows;                 ///< rows of the weights; empty: the recipe does not take the algorithm
  std::string sum;                  ///< over stored entries
  std::string vectors;              ///< elements of vectors; empty: none
  std::string lines;                ///< several of them are summed at a time; empty: none
  std::vector<std::string> others;  ///< other indices of the output, in its order
  std::vector<std::string> fused;   ///< indices of pixels that are one loop, the last one `vectors`
  std::string dense;                ///< the operand that the weights are multiplied with
  bool windows = false;             ///< it is an image, of which a filter reads several pixels
  bool scattered = false;           ///< elements of a vector do not lie beside one another in it
  std::int64_t width = 0;           ///< iterations of `vectors`; 0: a launch says how many
  std::int64_t height = 0;          ///< iterations of `lines`
};
CpuNest cpu_nest(const Algorithm& algorithm, const Format& format, const Target& target);

/// Whether several lines are summed at a time: of an image that is read through windows or whose pixels lie
/// apart, or rows of dense weights.
inline bool has_lines(const CpuNest& nest) {
  return !nest.lines.empty();
}
/// The loop over `vectors`, with the others of `fused` one loop.
LoopName loop_of_vectors(Schedule& schedule, const CpuNest& nest);

/// The elements of a panel: `most`, or the power of two that holds a narrower output; LLVM takes long for
/// others. A width of 0: a launch says it.
std::int64_t panel_of(std::int64_t width, std::int64_t most);
/// Bytes of the dense operand that so many elements of `vectors`, of so many `lines`, read, with all that is
/// summed over.
std::int64_t bytes_of_panel(const Algorithm& algorithm, const CpuNest& nest, std::int64_t panel,
                            std::int64_t lines);
/// Whether the rows of the dense operand are hard to read where they lie: they begin anywhere in a cache
/// line, lie a power of two apart, where few sets of the cache hold them, or on more pages than the processor
/// knows the places of; and the weights read each of them often, in `reads` all together.
bool is_hard_to_read(const Algorithm& algorithm, const CpuNest& nest, double reads);
/// Whether the rows of the dense operand can be read where they lie by code that takes a vector of each in
/// turn: vectors lie beside one another, aligned, and one of every row stays in the second cache, of which
/// rows that lie a power of two apart share few sets. Of a product whose sizes are known.
bool is_read_in_place(const Algorithm& algorithm, const CpuNest& nest, const Target& target);
/// Whether results that are one vector lie apart.
bool has_results_apart(const Algorithm& algorithm, const CpuNest& nest);
inline constexpr double cycles_of_result_apart = 3;  ///< that a processor takes to store such a result
/// How often the loops over the other indices go; once where a launch says.
std::int64_t times_of_others(const Algorithm& algorithm, const CpuNest& nest);

/// The knobs with those that are 0 chosen, for rows of `entries` in the mean.
CpuRows chosen_for(const CpuRows& knobs, const CpuNest& nest, const Algorithm& algorithm, double entries,
                   const Target& target);

/// Stored entries of a row, in the mean.
double entries_of_row(const SparseTensor& weights);

/// Elements of a vector register that sums are kept in, and the vectors that sums may take. Where there are
/// fewer registers some wait in the first cache, at no more cost than reading entries once more.
std::int64_t cpu_lanes(const Algorithm& algorithm, const Target& target);
inline constexpr std::int64_t most_vectors_of_sums = 28;
/// Groups of one column that are a vector of entries; fewer are written out.
inline constexpr std::int64_t least_gathered = 8;
/// Bytes of pages whose places a processor knows at once.
inline constexpr std::int64_t known_pages = 256 * 1024;

}  // namespace weft
