// Pruned weights as they come from a file, before a format is chosen: one matrix, its stored entries by row.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>
#include <weft/formats/array.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <vector>

namespace weft {

struct PrunedFor;

/// Of rows and columns, whose coordinates are numbers of 32 bits.
inline constexpr std::int64_t largest_extent = std::numeric_limits<std::int32_t>::max();

/// The entries of one pruned weight, row by row, columns ascending inside a row, none twice. Every reader
/// returns this, every format packs from it, every pruning method changes it.
///
/// A weight of more than two dimensions is seen as a matrix: its first dimension, or its first few together,
/// row-major, are the rows, the others together the columns (a convolution filter [F, C, R, S] is F x C*R*S).
///
/// In a dense file an entry is stored when it is not zero. -0.0 is pruned, too: a weight that was pruned by
/// multiplication with a mask holds it wherever the trained value was negative.
/// In a sparse file every entry that the file lists is stored, explicit zeros included.
struct WeightMatrix {
  /// As the file gave it. The product of its first dimensions, as many as are rows, is `rows`, that of the
  /// others `columns`.
  std::vector<std::int64_t> shape;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::int64_t> row_begin;  ///< rows + 1 offsets into `column` and `values`
  std::vector<std::int32_t> column;
  Array values;               ///< one per entry, in the element type of the file
  bool pattern_only = false;  ///< the file had positions but no values; `values` are all 1
  std::string origin;         ///< file and tensor, for messages
  /// What the file says, where it fits (pruned_for.h); null: nothing.
  std::shared_ptr<const PrunedFor> pruned_for = nullptr;
  std::string note = {};  ///< what the file says that does not fit, one sentence; empty: nothing
  /// What each row is to be multiplied by, as the file has it beside weights of a byte; empty: nothing. They
  /// stay out of `values`, and belong behind the sum of a product.
  std::vector<float> row_scale = {};

  std::int64_t stored() const { return static_cast<std::int64_t>(column.size()); }
  /// The numbers of a row's entries: where they stand in `column` and `values`.
  std::ranges::iota_view<std::int64_t, std::int64_t> entries(std::int64_t row) const {
    const auto at = static_cast<std::size_t>(row);
    return {row_begin[at], row_begin[at + 1]};
  }
  std::int64_t length(std::int64_t row) const {  ///< how many entries it has
    return row_begin[static_cast<std::size_t>(row) + 1] - row_begin[row];
  }
  std::int64_t column_of(std::int64_t entry) const { return column[entry]; }
  std::span<const std::int32_t> columns_of(std::int64_t row) const {
    return std::span(column).subspan(row_begin[row], static_cast<std::size_t>(length(row)));
  }
  double sparsity() const;  ///< fraction of the elements not stored; 0 for a matrix without elements
  WEFT_NO_MEMBER(Array, to_dense, "to_dense(weights)")
  WEFT_NO_MEMBER(std::int64_t, nnz, ".stored(), the number of entries")
  WEFT_NO_MEMBER(double, density, "1 - weights.sparsity()")
  WEFT_NO_MEMBER(DType, dtype, ".values.dtype()")
  WEFT_NO_MEMBER(Array, transpose,
                 "C(n, m) = sum(k, A(m, k) * B(n, k)): indices in the order in which operands lie")
  /// Throws UserError, naming the first offending row, when an invariant above does not hold.
  void check(CallPlace place = {}) const;
};

/// Whether the product of the first dimensions of a shape, of however many, is `rows` and that of the others
/// `columns`. UserError for an impossible shape.
bool makes_up(std::span<const std::int64_t> shape, std::int64_t rows, std::int64_t columns);

/// The stored entries of a dense array, by the rule above, whose first `row_dimensions` are the rows: at
/// least 1 and fewer than it has. UserError for others, and for an array without dimensions; one of one
/// dimension becomes a single row.
WeightMatrix from_dense(const Array& dense, std::string origin = "weights", std::int64_t row_dimensions = 1,
                        CallPlace place = {});

/// The same weight with its first `row_dimensions` as the rows. UserError as from from_dense.
WeightMatrix with_row_dimensions(WeightMatrix weights, std::int64_t row_dimensions, CallPlace place = {});

/// A part of the entries as a weight of its own: row i holds the entries of `weights` whose numbers are
/// `entries[row_begin[i]]` to `entries[row_begin[i + 1]]`, the last not among them: a number says where an
/// entry stands in `weights.column` and `weights.values`. Columns have to ascend inside a row. There may be
/// other rows, and more or fewer of them, than `weights` has: the first extent of the shape says how many.
WeightMatrix chosen_entries(const WeightMatrix& weights, std::vector<std::int64_t> row_begin,
                            std::span<const std::int64_t> entries);

/// From coordinates in any order; entries at one place are summed in the element type, as scipy does.
/// UserError naming `origin` for rows and columns out of range and for integers whose sum does not fit.
WeightMatrix from_coordinates(std::int64_t rows, std::int64_t columns, const std::vector<std::int64_t>& row,
                              const std::vector<std::int64_t>& column, const Array& values,
                              std::string origin, CallPlace place = {});

/// All rows and columns, zeros filled in; the shape is [rows, columns].
Array to_dense(const WeightMatrix& weights, CallPlace place = {});

/// The same positions with values of `dtype`, rounded to nearest. `largest_change`, where given, receives the
/// largest absolute change that the rounding made.
WeightMatrix converted(const WeightMatrix& weights, DType dtype, double* largest_change = nullptr);

/// The same positions with values drawn from [-1, 1), never zero; a pattern-only file gets its values so.
/// Integer types get 1 to 4 with either sign they have.
WeightMatrix with_random_values(const WeightMatrix& weights, DType dtype, std::uint64_t seed);

}  // namespace weft
