// Weights that keep two of four: n_m, v_n_m and column_quads.
#pragma once

#include <weft/formats/named/common.h>

#include <cstdint>
#include <vector>

namespace weft::named {

inline constexpr FormatParameter slots_parameter{
    "k", "a power of two from 64 to 128", "64",
    "gathered columns of a block of values; 256 too where an element has a byte"};
inline constexpr std::int64_t usual_rows_of_pairs = 128;
/// Those of formats whose groups have 128 rows where V is left out.
inline constexpr std::array<FormatParameter, 2> pair_parameters{{
    {"V", "a power of two from 16 to 256", "128", "rows of a group"},
    slots_parameter,
}};

/// Of entries that are not +0: those that fill up a row of a packed weight count for nothing where it is
/// packed anew.
WeightMatrix without_zeros(const WeightMatrix& weights);

/// Rows of a group, slots of a block, from the parameters "V" and "k". UserError for other values than
/// formats::PairOptions says.
struct PairShape {
  std::int64_t rows = 0;  ///< V
  std::int64_t slots = 0;

  std::int64_t groups_of(std::int64_t rows) const;
  std::int64_t blocks_of(std::int64_t quads) const;
};
/// `rows` where the format names none.
PairShape pair_shape(const Format& format, std::int64_t rows, DType values);
/// The format, with a parameter "k" where it is not the usual one.
Format with_places(Format format, std::int64_t places);

/// The columns that the slots of a group stand for, four for each quad; -1 where a slot has none.
using SlotColumns = std::vector<std::int32_t>;

/// Levels of groups of so many rows: two for the rows, `blocks`, and that of what is kept, whose slots are of
/// dimension `kept`.
std::vector<Level> pair_levels(const PairShape& shape, std::int64_t rows, Level blocks, Dimension kept);

/// Packs weights whose rows keep at most two of the columns of each quad. `columns` has the slots of each
/// group, or of all groups together; `of_quad` says of how many columns a quad has four. UserError that names
/// the first row that keeps more. `levels` are two for the rows, that of the blocks, of which a group has as
/// many as hold its slots, that of what is kept, and those behind it; `arrays` are what they name. Blocks of
/// which `keeps_first` says so have columns in their first slots alone, half of them, and keep all of these.
SparseTensor pack_pairs(const WeightMatrix& weights, const Format& format, const PairShape& shape,
                        const std::vector<SlotColumns>& columns, std::int64_t of_quad,
                        std::vector<Level> levels, std::vector<SparseTensor::NamedArray> arrays,
                        const std::vector<bool>& keeps_first = {});

/// The same of slots whose columns are listed group by group, in the array "column"; `arrays` are what the
/// level `blocks` names.
SparseTensor pack_listed_pairs(const WeightMatrix& weights, const Format& format, const PairShape& shape,
                               const std::vector<SlotColumns>& columns, std::int64_t of_quad, Level blocks,
                               std::vector<SparseTensor::NamedArray> arrays);

}  // namespace weft::named
