// SparseRT's schedule: the weights compiled into the instruction stream. A recipe: it calls steps, as a user
// would.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/scheduler/recipes/parts/knob.h>

#include <cstdint>
#include <memory>
#include <span>

namespace weft {

/// Where the entries are while the kernel runs.
enum class SparseRtForm : std::uint8_t {
  chosen,        ///< the recipe chooses
  baked,         ///< constants of the code
  streaming,     ///< read from memory; the rows of B that a block needs lie in shared memory
  row_per_warp,  ///< read from memory, and B too
  pieces,        ///< the same; warps have equal pieces of rows, whichever rows they belong to
};

/// Where baked code reads the image of a convolution.
enum class SparseRtImage : std::uint8_t {
  chosen,   ///< the recipe chooses
  staged,   ///< a tile in shared memory: the lines that a block needs, zeros around the image
  clamped,  ///< the image itself, at its border the pixel next to it, which does not count
};

/// Which rows, or filters, of baked weights make up a block.
enum class SparseRtOrder : std::uint8_t {
  chosen,  ///< dealt where blocks of rows as they come are uneven
  given,   ///< rows as they come
  dealt,   ///< rows by their entries, so that blocks have about equal shares
};

/// How the recipe cuts the output; 0 leaves a number to it.
struct SparseRtKnobs {
  SparseRtForm form = SparseRtForm::chosen;
  std::int64_t rows = 0;  ///< rows of a block where baked, each a sum in a register; else of a warp
  std::int64_t threads =
      0;  ///< threads of a block beside those of other groups; a convolution's follow from lines
  std::int64_t groups = 0;   ///< groups of threads that share the sum over k; 1: each adds all of it
  std::int64_t columns = 0;  ///< columns of a lane where not baked; baked code has one column a thread
  std::int64_t lanes = 0;    ///< lanes of a row where not baked: a warp has 32 / lanes rows at a time
  std::int64_t places = 0;   ///< places of a row that are read at a time where not baked
  std::int64_t parts = 0;    ///< blocks that share the rows where streaming, not beside `rows`, or in pieces
  /// Rows of B in shared memory at a time where streaming; 0: all of them if they fit.
  std::int64_t panel_rows = 0;
  std::int64_t lines = 0;  ///< lines of the output of a convolution in a block
  SparseRtImage image = SparseRtImage::chosen;
  SparseRtOrder order = SparseRtOrder::chosen;
  /// Baked products: rows of B that a block copies to shared memory at a time, all its warps in step. 0: each
  /// thread reads its own elements. Then nothing is shared by groups.
  std::int64_t chunk = 0;
  std::int64_t depth = 0;  ///< buffers for chunks
};

/// They by name.
std::span<const KnobField<SparseRtKnobs>> sparsert_knobs();

/// Wang, SparseRT: Accelerating Unstructured Sparsity on GPUs for Deep Learning Inference, PACT 2020, section
/// 3: a block takes some rows and one column a thread; the values and coordinates of its rows are constants
/// of its code, which groups of threads share by non-zeros. The recipe takes rows, columns and groups of a
/// block by a sum of what they cost, fitted to measured points: bytes of code and of B, results, and what
/// groups hand over (cut.h), and says how many blocks a processor gets, so that their threads have
/// its registers for loads under way. Where there are more than 1,024 columns and 32 million multiply-adds,
/// and a wide block for nearly every processor, blocks are wide, and B comes through a ring of chunks in
/// shared memory, which keeps the warps of a block at the same instructions; blocks that read the same
/// columns start beside one another. Where registers of all processors hold all of B, of 48 to 128 rows, and
/// there are at least twice as many rows of results, a thread keeps its column there and makes the results of
/// all rows in turn. Results of 12 MB and more stream past what the caches keep of B. Up to 2,048
/// columns, or 7,000 where there is little work, blocks are large and their threads read B: of all large
/// blocks that have room at once, those whose code and part of B are least together, or else 256 columns
/// (reads_from_threads). Beyond 60,000 entries, those for more columns without wide blocks are read from
/// memory (streaming.h), and those for 33 to 64 columns, which a warp has whole, in equal pieces of
/// rows where these are expected to be faster than code (pieces.h). A convolution has one pixel a
/// lane (section 4): coordinates of the filter are constants too. The lines of the image that a block needs
/// lie in shared memory, with zeros around the image, so that a read is one instruction; filters, lines and
/// groups of a block are those of least cost (convolution.cpp), and where no tile fits, or reading
/// one costs more, reads go to the image itself, clamped at its border. Filters may be in groups of channels,
/// W[g, f, c, r, s], of an image I[…, g, c, …]. For GPUs, weights in csr, and a product with one row and one
/// column index (SpMM, linear layers) or a convolution of up to 250,000 stored entries, with or without a
/// batch, channels first or last; other algorithms, and CPUs, get default_schedule as long as no knob is
/// given. UserError for weights in other formats or of any size, knobs out of their ranges (recipe.cpp)
/// and groups of threads that are no whole warps; InfeasibleError where knobs of a convolution ask for more
/// warps or shared memory than there are.
Schedule sparsert(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                  const SparseRtKnobs& knobs = {}, CallPlace place = {});
WEFT_RECIPE_REFUSED(sparsert, const SparseRtKnobs& = {}, CallPlace = {})
WEFT_KNOB_REFUSED(
    sparsert,
    ".form, .rows, .threads, .groups, .columns, .lanes, .places, .parts, .panel_rows, .lines, .image, "
    ".order, .chunk and .depth in this order, such as {.rows = 16, .groups = 2}")

/// Whether blocks of so many rows as they come have such unequal numbers of entries that dealing is worth it.
/// `begin`: the first entry of each row, and the end of the last.
bool rows_are_uneven(std::span<const std::int64_t> begin, std::int64_t rows);

// Measured on an H200 (docs/measurements.md).
/// The largest number of stored entries that sparsert makes code of without being asked.
inline constexpr std::int64_t most_baked_entries = 250'000;
/// Beyond, code that is read for many columns is slower than data.
inline constexpr std::int64_t entries_in_caches = 60'000;
/// Code is read so seldom for these that its length does not matter.
inline constexpr std::int64_t few_columns = 512;

}  // namespace weft
