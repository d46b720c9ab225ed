// Weights without a pattern of which about a half is kept, few columns: a stream for every lane. A recipe: it
// calls steps, as a user would.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/hardware/instructions/streams.h>
#include <weft/scheduler/passes/stream_products.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/scheduler/recipes/parts/knob.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

namespace weft {

/// How the recipe cuts the work; 0 leaves a number to it.
struct LaneStreamKnobs {
  std::int64_t columns = 0;  ///< a block has, and each of its warps: 8, 16 or 32
  std::int64_t warps = 0;    ///< a block has; times turns they divide the groups of 32 rows
  std::int64_t turns = 0;    ///< groups of 32 rows that the stream of a warp goes through
  std::int64_t slice = 0;    ///< columns of a stream, a multiple of 64; blocks that share rows add theirs up
};

/// They by name.
std::span<const KnobField<LaneStreamKnobs>> lane_stream_knobs();

/// Token by token: a product of 16-bit weights that keep 20 to 60 of a hundred entries, anywhere, with 1 to
/// 64 columns, which their bytes bound. A warp takes groups of 32 rows and a slice of the columns as a stream
/// for each of its lanes, which come through a ring in shared memory; a lane has the elements of its
/// fragments for tensor cores in the order in which it takes them, and a bit says whether the next one is
/// zero. Sums of slices are added up by the last block that comes. For sm_80 and newer, weights in
/// lane_streams or pair_words, products of a number of columns that is known. UserError for weights in other
/// formats, other algorithms, and knobs out of their ranges; other targets get the default schedule.
Schedule lane_streams(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                      const LaneStreamKnobs& knobs = {}, CallPlace place = {});
WEFT_RECIPE_REFUSED(lane_streams, const LaneStreamKnobs& = {}, CallPlace = {})
WEFT_KNOB_REFUSED(lane_streams,
                  ".columns, .warps, .turns and .slice in this order, such as {.columns = 8, .warps = 4}")

/// Whether weights in it lie in such streams.
bool is_of_streams(const Format& format);
/// Whether a bit stands for two of its columns.
bool is_in_pairs(const Format& format);

/// What the recipe knows of a problem.
struct StreamedProduct {
  std::string column = {}, dense = {};  ///< a loop and the dense operand
  bool dense_across = false;            ///< which lies as [n, k]
  std::int64_t rows = 0, inner = 0;     ///< the weights are [rows, inner]
  std::int64_t columns = 1;             ///< the dense operand has so many
};

/// Why the recipe does not take the algorithm; nothing where it does, and then `found` is set.
std::string why_no_streams(const Algorithm& algorithm, StreamedProduct& found);

/// So few columns are written as tensor cores leave them: lines of them would take shared memory of as many
/// warps' rings.
inline constexpr std::int64_t columns_without_lines = 8;

/// What a block takes, for numbers and for expressions over knobs.
template <class Number>
struct StreamShape {
  Number columns, warps, turns, slice;
  bool in_pairs = false;

  Number threads() const { return warps * Number(recipe_knobs::lanes_of_warp); }
  /// The rings and words of its warps, with what says that a chunk is there, the tile of the dense operand,
  /// and results on their way out.
  Number shared_bytes() const {
    constexpr std::int64_t of_barrier = 8;
    constexpr std::int64_t of_ring =
        passes::StreamRing::bytes() + (passes::StreamRing::chunks + 2) * of_barrier;
    const Number of_words = slice / Number(in_pairs ? 64 : 32) * Number(128) * words_at_once();
    return warps * (Number(of_ring) + of_words + results()) +
           columns * (slice + Number(stream_rows_apart)) * Number(2) + Number(64);
  }

 private:
  /// Lines of results of a warp. Eight columns leave from its registers.
  Number results() const {
    constexpr std::int64_t of_results = 2 * 16, between_lines = 8;
    const Number has_lines = least(columns / Number(2 * columns_without_lines), 1);
    return has_lines * (columns + Number(between_lines)) * Number(of_results);
  }
  /// Those of the next turn come while one goes on.
  Number words_at_once() const { return least(turns, 2); }

  static Number least(const Number& number, std::int64_t most) {
    if constexpr (std::is_same_v<Number, std::int64_t>)
      return std::min(number, most);
    else
      return ir::minimum(number, most);
  }
};

/// Blocks that share rows, at most: the sums of more are read one after the other (split_k), which took three
/// to six times as long.
inline constexpr std::int64_t most_slices = 16;

/// How the blocks of a launch come to the processors.
struct StreamLaunch {
  std::int64_t slices = 1;        ///< blocks that share rows
  std::int64_t of_processor = 1;  ///< blocks of the processor with the most
  double waves = 1;               ///< in which these come
  double warps = 1;               ///< a processor has at the same time
  double words = 1;               ///< all its warps take, one after the other

  StreamLaunch(const LaneStreamKnobs& cut, const StreamedProduct& problem, bool in_pairs,
               const Target& target, std::int64_t processors = measured_processors);
  /// Microseconds from the begin of the first block to the end of the last, where a processor takes so many
  /// for a word of a warp.
  double microseconds(double of_word) const;
  static constexpr double begin = 2;  ///< microseconds of a wave before its warps have their first chunks
};

/// The knobs with those that are 0 chosen.
LaneStreamKnobs chosen_for(const LaneStreamKnobs& knobs, const StreamedProduct& problem, bool in_pairs,
                           const Target& target);

}  // namespace weft
