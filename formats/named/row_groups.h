// Weights stored by groups of rows that keep the same columns: vector_wise and shfl_bw.
#pragma once

#include <weft/formats/named/common.h>

#include <cstdint>
#include <span>

namespace weft::named {

inline constexpr std::array<FormatParameter, 3> group_parameters{{
    {"V", "a power of two from 8 to 256", "64", "rows of a group, which keep the same columns"},
    {"k", "a power of two from 16 to 64", "as many as 128 bytes hold",
     "kept columns of a block of values; 128 too where an element has a byte"},
    index_parameter,
}};

/// Rows of a group, places of a block, type of the columns, from the parameters "V", "k" and "index".
/// UserError for other values than formats::GroupOptions says.
struct GroupShape {
  std::int64_t rows = 0;
  std::int64_t places = 0;
  DType index = DType::i32;
};
GroupShape group_shape(const Format& format, const WeightMatrix& weights);

/// The number of groups that hold so many rows.
std::int64_t groups_of(std::int64_t rows, const GroupShape& shape);

/// Packs groups of rows: `order` names the rows of the first group, of the second, …, -1 where there is none.
/// `levels` and `arrays` find the row of each place of it.
SparseTensor pack_groups(const WeightMatrix& weights, const Format& format, const GroupShape& shape,
                         std::span<const std::int32_t> order, std::vector<Level> levels,
                         std::vector<SparseTensor::NamedArray> arrays);

/// The parameters of a format of groups.
Format with_group_options(std::string name, const formats::GroupOptions& options);

}  // namespace weft::named
