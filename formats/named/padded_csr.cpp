// padded CSR: every row begins at a multiple of `pad` places, and is filled up to one. Offsets count groups
// of `pad` places; in those left over the column is -1 and the value +0. A group is read by one vector load
// each of columns and values. With `block`, the columns are cut into blocks of that many: every row has a
// list for each block, columns counted from the begin of the block.
#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/named/common.h>

#include <algorithm>
#include <limits>

namespace weft {
namespace named {

NamedFormat padded_csr();

namespace {

constexpr std::int64_t longest_group = 1024;
constexpr std::int64_t most_columns = std::numeric_limits<std::int32_t>::max();

std::int64_t parameter_of(const Format& format, const std::string& name, std::int64_t otherwise,
                          std::int64_t most) {
  const auto found = format.parameters.find(name);
  const std::int64_t value = found == format.parameters.end() ? otherwise : found->second;
  if (value >= 1 && value <= most) return value;
  throw UserError({"a format has a parameter out of range", format.text(), fmt::format("{}={}", name, value),
                   fmt::format("1 to {}", most)});
}

/// The entries of one weight as lists: those of each row, or of each row and block of columns.
class Lists {
 public:
  Lists(const WeightMatrix& weights, std::int64_t pad, std::int64_t block)
      : weights_(weights),
        pad_(pad),
        block_(block),
        blocks_(std::max<std::int64_t>(1, (weights.columns + block - 1) / block)) {
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(weights.rows * blocks_));
    each_entry([&](std::int64_t list, std::int64_t) { ++lengths[static_cast<std::size_t>(list)]; });
    for (const std::int64_t length : lengths) groups_.push_back(groups_.back() + (length + pad - 1) / pad);
  }

  std::int64_t blocks() const { return blocks_; }
  std::int64_t places() const { return groups_.back() * pad_; }

  std::vector<SparseTensor::NamedArray> arrays() const {
    Array begin = index_array(static_cast<std::int64_t>(groups_.size()));
    std::transform(groups_.begin(), groups_.end(), begin.as<std::int32_t>().begin(),
                   [](std::int64_t offset) { return static_cast<std::int32_t>(offset); });
    Array column = index_array(places());
    Array values(weights_.values.dtype(), {places()});
    const auto column_of = column.as<std::int32_t>();
    std::fill(column_of.begin(), column_of.end(), -1);
    std::int64_t last = -1;
    std::int64_t place = 0;
    each_entry([&](std::int64_t list, std::int64_t i) {
      place = list == last ? place + 1 : groups_[static_cast<std::size_t>(list)] * pad_;
      last = list;
      const std::int64_t number = weights_.column[static_cast<std::size_t>(i)];
      column_of[static_cast<std::size_t>(place)] = static_cast<std::int32_t>(number % block_);
      values.copy_element(place, weights_.values, i);
    });
    std::vector<SparseTensor::NamedArray> arrays;
    arrays.push_back({"begin", std::move(begin)});
    arrays.push_back({"column", std::move(column)});
    arrays.push_back({"values", std::move(values)});
    return arrays;
  }

 private:
  template <class Visit>
  void each_entry(const Visit& visit) const {
    for (std::int64_t row = 0; row < weights_.rows; ++row) {
      const auto at = static_cast<std::size_t>(row);
      for (std::int64_t i = weights_.row_begin[at]; i < weights_.row_begin[at + 1]; ++i)
        visit(row * blocks_ + weights_.column[static_cast<std::size_t>(i)] / block_, i);
    }
  }

  const WeightMatrix& weights_;
  std::int64_t pad_;
  std::int64_t block_;
  std::int64_t blocks_;
  std::vector<std::int64_t> groups_{0};  ///< before each list, and of all
};

SparseTensor pack_padded_csr(const WeightMatrix& given, const Format& format) {
  check_parameters(format, {"pad", "block", "order", "rows"});
  const std::int64_t pad = parameter_of(format, "pad", 4, longest_group);
  const bool blocked = format.parameters.count("block") != 0;
  const std::int64_t block =
      parameter_of(format, "block", std::max<std::int64_t>(1, given.columns), most_columns);
  const RowLayout rows(given, format);
  const Lists lists(rows.weights(), pad, block);
  check_positions(given, format, lists.places(), "places, rows being filled up");
  std::vector<Level> levels = rows.levels();
  if (blocked)
    levels.push_back({.kind = LevelKind::dense,
                      .dimension = Dimension::column,
                      .extent = lists.blocks(),
                      .stride = block});
  levels.push_back({.kind = LevelKind::compressed, .dimension = Dimension::none, .begin = "begin"});
  levels.push_back({.kind = LevelKind::dense, .dimension = Dimension::none, .extent = pad});
  levels.push_back(
      {.kind = LevelKind::singleton, .dimension = Dimension::column, .index = "column", .padded = true});
  std::vector<SparseTensor::NamedArray> arrays = rows.arrays();
  for (SparseTensor::NamedArray& array : lists.arrays()) arrays.push_back(std::move(array));
  return SparseTensor(format, given.shape, given.rows, given.columns, std::move(levels), std::move(arrays));
}

}  // namespace

NamedFormat padded_csr() {
  return {"padded_csr",
          "csr whose rows are filled up to multiples of pad places (4), column -1 in the padding",
          pack_padded_csr};
}

}  // namespace named

Format formats::padded_csr(const PaddedOptions& options) {
  Format format = named::with_row_options("padded_csr", options.rows);
  format.parameters["pad"] = options.pad;
  if (options.block > 0) format.parameters["block"] = options.block;
  return format;
}

}  // namespace weft
