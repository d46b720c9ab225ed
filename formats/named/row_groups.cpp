// Groups of V rows that keep the same columns. The kept columns of a group are listed in ascending order and
// cut into blocks of k places; in those left over of the last block the column is -1 and the values are +0.
// The values of a block are V rows of k, with the rows that fill up the last group zero: as wide as a
// swizzled row of shared memory, 32, 64 or 128 bytes, they are stored in that order, so that a block is what
// a tensor core reads.
#include <weft/dsl/arithmetic.h>
#include <weft/formats/named/row_groups.h>
#include <weft/formats/value_place.h>

#include <algorithm>

namespace weft::named {
namespace {

/// Values of a block fill lines of at most 128 bytes.
constexpr std::int64_t most_places(DType values) {
  return size_of(values) == 1 ? 128 : 64;
}
constexpr std::int64_t fewest_places = 16;
constexpr std::int64_t most_rows_of_group = 256;
constexpr std::int64_t fewest_rows_of_group = 8;
constexpr std::int64_t bytes_of_line = 128;

/// Fills the arrays of one weight group by group.
class GroupPacker {
 public:
  GroupPacker(const WeightMatrix& weights, const GroupShape& shape, std::span<const std::int32_t> order)
      : weights_(weights), shape_(shape), order_(order), lists_(order.size() / rows()) {
    std::vector<std::size_t> last(weights.columns, lists_.size());
    for (std::size_t group = 0; group < lists_.size(); ++group) {
      for (const std::int32_t row : rows_of(group)) {
        each_entry(row, [&](std::int32_t column, std::int64_t) {
          std::size_t& group_before = last[column];
          if (group_before != group) lists_[group].push_back(column);
          group_before = group;
        });
      }
      std::ranges::sort(lists_[group]);
      blocks_ += blocks_of(group);
    }
  }

  std::int64_t blocks() const { return blocks_; }

  std::vector<SparseTensor::NamedArray> arrays(int swizzle) const {
    Array begin_array = index_array(std::ssize(lists_) + 1);
    Array column_array = index_array(blocks_ * shape_.places, -1);
    Array values(weights_.values.dtype(), {blocks_, shape_.rows, shape_.places});
    const auto begin = begin_array.as<std::int32_t>();
    const auto column_of = column_array.as<std::int32_t>();
    std::vector<std::int64_t> place_of(weights_.columns);
    std::int64_t block = 0;
    for (std::size_t group = 0; group < lists_.size(); ++group) {
      std::ranges::copy(lists_[group], column_of.begin() + block * shape_.places);
      std::int64_t place = 0;
      for (const std::int32_t column : lists_[group]) place_of[column] = place++;
      std::int64_t number = 0;
      for (const std::int32_t row : rows_of(group)) {
        each_entry(row, [&](std::int32_t column, std::int64_t entry) {
          const std::int64_t at = place_of[column];
          const std::int64_t line = (block + at / shape_.places) * shape_.rows + number;
          const std::int64_t value = line * shape_.places + at % shape_.places;
          values.copy_element(swizzled_place(value, size_of(values.dtype()), swizzle), weights_.values,
                              entry);
        });
        ++number;
      }
      block += blocks_of(group);
      begin[group + 1] = static_cast<std::int32_t>(block);
    }
    return arrays_of({{"begin", std::move(begin_array)},
                      {"column", shape_.index == DType::i32 ? std::move(column_array)
                                                            : column_array.converted(shape_.index)},
                      {"values", std::move(values)}});
  }

 private:
  std::size_t rows() const { return static_cast<std::size_t>(shape_.rows); }
  std::span<const std::int32_t> rows_of(std::size_t group) const {
    return order_.subspan(group * rows(), rows());
  }
  std::int64_t blocks_of(std::size_t group) const {
    return ceil_divide(std::ssize(lists_[group]), shape_.places);
  }

  template <class Visit>
  void each_entry(std::int32_t row, const Visit& visit) const {
    if (row < 0) return;
    for (const std::int64_t i : weights_.entries(row)) visit(weights_.column[i], i);
  }

  const WeightMatrix& weights_;
  GroupShape shape_;
  std::span<const std::int32_t> order_;
  std::vector<std::vector<std::int32_t>> lists_;  ///< kept columns of each group
  std::int64_t blocks_ = 0;
};

}  // namespace

GroupShape group_shape(const Format& format, const WeightMatrix& weights) {
  check_parameters(format, {"V", "k", "index"});
  const std::int64_t of_line = bytes_of_line / static_cast<std::int64_t>(size_of(weights.values.dtype()));
  return {power_of_two(format, "V", formats::GroupOptions{}.rows, fewest_rows_of_group, most_rows_of_group),
          power_of_two(format, "k", of_line, fewest_places, most_places(weights.values.dtype())),
          column_type(weights, format)};
}

std::int64_t groups_of(std::int64_t rows, const GroupShape& shape) {
  return ceil_divide(rows, shape.rows);
}

SparseTensor pack_groups(const WeightMatrix& weights, const Format& format, const GroupShape& shape,
                         std::span<const std::int32_t> order, std::vector<Level> levels,
                         std::vector<SparseTensor::NamedArray> arrays) {
  const GroupPacker packer(weights, shape, order);
  check_positions(weights, format, packer.blocks() * shape.places * shape.rows,
                  "values, all rows of a group having its columns");
  const auto blocks = static_cast<int>(levels.size());
  levels.push_back(blocks_of_group());
  levels.push_back({.dimension = Dimension::none, .extent = shape.places, .loop = "place"});
  levels.push_back(padded_columns());
  const int swizzle =
      swizzle_of_line(shape.places * static_cast<std::int64_t>(size_of(weights.values.dtype())));
  for (SparseTensor::NamedArray& array : packer.arrays(swizzle)) arrays.push_back(std::move(array));
  return packed(weights, format, std::move(levels), std::move(arrays),
                {.levels = {blocks, 1, blocks + 1}, .swizzle = swizzle});
}

Format with_group_options(std::string name, const formats::GroupOptions& options) {
  Format format{std::move(name), {{"V", options.rows}}};
  if (options.places != 0) format.parameters["k"] = options.places;
  if (options.index != 32) format.parameters["index"] = options.index;
  return format;
}

}  // namespace weft::named
