// How sparsert cuts a product whose weights are in the code: what fits, and about how long it takes.
#pragma once

#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>

#include <array>
#include <cstdint>
#include <optional>
#include <variant>

namespace weft {

/// `rows`, `inner` and `stored` are those of the weights, `columns` those of the dense operand.
struct BakedSize {
  std::int64_t rows, inner, stored, columns, bytes_of_sum;
};

/// A block has so many rows, a register of a thread each, and so many columns, a thread each; groups of that
/// many threads share the sum.
struct BakedCut {
  std::int64_t rows = 64, threads = 64, groups = 1;
};

/// Rows of a block, and threads of one of its groups, among which cut_of_one_wave chooses.
inline constexpr std::array<std::int64_t, 6> rows_of_large_blocks{32, 40, 48, 64, 96, 128};
inline constexpr std::array<std::int64_t, 17> threads_of_large_blocks{
    128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480, 512, 544, 576, 608, 640};

/// The same with B in `depth` buffers of `chunk` rows in shared memory, one instruction stream a block.
struct ChunkedCut {
  std::int64_t rows, threads, chunk, depth;
  bool keeps_busy;  ///< nearly every processor has a block, and rings pay
  bool rows_first;  ///< blocks of the same columns of B start beside one another, so that their reads meet
};

/// Whether there are so few columns, or so little work for blocks that all have room at once, that threads
/// that read B for themselves, with no barrier between, are faster than rings.
bool reads_from_threads(const BakedSize& size, const Target& target);
/// For many columns, with the knobs' numbers where they are given.
ChunkedCut chunked_cut(const BakedSize& size, const Target& target, const SparseRtKnobs& knobs);
/// Each thread keeps its column of B in registers, and makes the results of so many rows, then of the next.
struct HeldCut {
  std::int64_t rows, threads;
};
/// For 48 to 128 rows of B, at least twice as many rows of results, and little code, where all threads have
/// room beside one another: there what is stored is most of what moves.
std::optional<HeldCut> held_cut(const BakedSize& size, const Target& target);
/// How a product becomes code: rows in turn, B in chunks, or threads that read B for themselves.
using BakedPlan = std::variant<HeldCut, ChunkedCut, BakedCut>;
/// With the knobs' numbers where they are given. `is_known`: the number of columns, which a launch may give.
BakedPlan baked_plan(const BakedSize& size, bool is_known, const Target& target, const SparseRtKnobs& knobs);
/// Whether there is a block of 64 rows and 512 columns for nearly every processor.
bool fill_wide_blocks(std::int64_t rows, std::int64_t dense_columns);

/// What a block takes of a processor: its threads, the registers that each needs, shared memory.
struct BlockNeeds {
  std::int64_t threads, registers, shared_bytes;
};
/// Blocks that a processor is to hold at a time of so many in all: those that it gets, as far as there is
/// room.
std::int64_t resident_blocks(std::int64_t all, const BlockNeeds& each, const Target& target);
/// Registers of a thread that keeps so many sums, so that loads of its code are under way together.
std::int64_t registers_of_code(std::int64_t sums);

/// A product of weights in the code with columns of a number that is known, each thread reading its own
/// elements of B.
class BakedProduct {
 public:
  BakedProduct(const BakedSize& size, const Target& target) : size_(size), target_(target) {}

  /// Whether a processor can hold a block.
  bool is_possible(const BakedCut& cut) const;
  /// About how long it takes, to choose by: fitted to measured points (docs/measurements.md).
  double microseconds(const BakedCut& cut) const;
  /// Blocks that a processor is to hold at a time: those that it gets, as far as registers are left for loads
  /// under way.
  std::int64_t resident(const BakedCut& cut) const;
  /// The cut that takes least, of those with the knobs' numbers where they are given. One is returned even if
  /// none is possible.
  BakedCut cheapest(const SparseRtKnobs& knobs) const;
  /// For 1,024 columns and more: large blocks that all have room at once and are for nearly every processor,
  /// so that the code and the part of B that a processor reads are least together. Nothing where there are
  /// none.
  std::optional<BakedCut> cut_of_one_wave() const;

 private:
  std::int64_t blocks(const BakedCut& cut) const;
  std::int64_t threads_of_block(const BakedCut& cut) const;
  std::int64_t shared_bytes(const BakedCut& cut) const;
  std::int64_t registers_of_sums(const BakedCut& cut) const;
  /// That of one wave, or blocks of 256 columns for nearly every processor: of as many rows as leave it so.
  std::optional<BakedCut> large_cut() const;
  /// What a cut costs whose blocks all have room at once and are for nearly every processor, in no
  /// unit. Nothing for other cuts.
  std::optional<double> cost_of_one_wave(const BakedCut& cut) const;
  /// For one group's cut: the longer the code of a block, the more groups run parts of it at the same time.
  std::int64_t groups_of_large(const BakedCut& cut) const;
  /// Bytes, of a block that has all its rows.
  double code_of_full_block(const BakedCut& cut) const;
  /// Loads of B that a block needs: columns of the weights that have an entry in its rows.
  double loads(const BakedCut& cut) const;

  BakedSize size_;
  const Target& target_;
};

}  // namespace weft
