// The structure of a pruned weight: what decides which format and which schedule suit it.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>
#include <weft/formats/pattern_rules.h>
#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// Blocks and groups are aligned to multiples of their size. One that overhangs the edge of the matrix counts
/// in full, because that is how it would be stored.
struct Statistics {
  struct RowLengths {
    std::int64_t shortest = 0;
    double mean = 0;
    std::int64_t longest = 0;
    double variation = 0;  ///< standard deviation / mean; 0 when nothing is stored
  };
  struct BlockFill {
    std::int64_t size = 0;    ///< rows and columns of a block
    std::int64_t blocks = 0;  ///< with at least one entry
    double fill = 0;          ///< stored entries / elements of those blocks; 0 when nothing is stored
  };
  struct VectorFill {
    std::int64_t height = 0;   ///< rows of a group, V
    std::int64_t columns = 0;  ///< columns with at least one entry in the group, summed over groups
    double fill = 0;           ///< stored entries / (V * columns); 0 when nothing is stored
  };
  DType dtype = DType::f32;
  bool pattern_only = false;
  std::vector<std::int64_t> shape;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stored = 0;
  double sparsity = 0;
  RowLengths row_lengths;
  std::int64_t empty_rows = 0;
  std::int64_t empty_columns = 0;
  std::int64_t bandwidth = 0;            ///< largest |row - column| of an entry
  std::vector<BlockFill> block_fills;    ///< 8, 16, 32, 64
  std::vector<VectorFill> vector_fills;  ///< 8, 16, 32, 64, 128
  std::vector<PatternRule> rules;        ///< N:M and V:N:M, as pattern_rules finds them
  std::int64_t bytes_dense = 0;          ///< sizes stop at 2^63 - 1
  std::int64_t bytes_csr = 0;
  std::int64_t bytes_ell = 0;
  std::int64_t bytes_hb_ell = 0;       ///< blocks of 16, offsets of 8 bits
  std::int64_t bytes_uniform_ell = 0;  ///< the same where every block is stored, as wide as the widest
  /// Streams for lanes, where a tenth or more is kept; else 0: a bit for every element costs too much.
  std::int64_t bytes_lane_streams = 0;
  std::int64_t bytes_pair_words = 0;

  /// That of N:M with two of four.
  const PatternRule& two_four() const;
};

/// A few passes over the entries. UserError for weights that WeightMatrix::check refuses.
Statistics statistics(const WeightMatrix& weights, CallPlace place = {});
WEFT_CALL_REFUSED(Statistics, statistics,
                  "statistics(weights) of weights as read() or synthetic_layer() give them, before they are "
                  "packed")

/// One JSON object, keys as the fields above.
std::string json_text(const Statistics& statistics);

/// A table for people, some twenty lines.
std::string report_text(const Statistics& statistics);

}  // namespace weft
