#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/formats/named/common.h>
#include <weft/formats/sliced_ell.h>
#include <weft/formats/suggestion.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace weft::named {

void check_parameters(const Format& format, std::initializer_list<std::string_view> known) {
  for (const auto& [parameter, value] : format.parameters) {
    if (std::find(known.begin(), known.end(), parameter) != known.end()) continue;
    throw UserError({"a format has a parameter that it does not know", format.text(), parameter,
                     known.size() == 0
                         ? format.name + " without parameters"
                         : fmt::format("{}, or none of them: {}{}", fmt::join(known, ", "), format.name,
                                       did_you_mean(parameter, {known.begin(), known.end()}))});
  }
}

std::int64_t power_of_two(const Format& format, const char* name, std::int64_t otherwise, std::int64_t least,
                          std::int64_t most) {
  const auto found = format.parameters.find(name);
  const std::int64_t value = found == format.parameters.end() ? otherwise : found->second;
  if (value >= least && value <= most && std::has_single_bit(static_cast<std::uint64_t>(value))) return value;
  throw UserError({"a format has a parameter out of range", format.text(), fmt::format("{}={}", name, value),
                   fmt::format("a power of two from {} to {}", least, most)});
}

DType column_type(const WeightMatrix& weights, const Format& format) {
  if (power_of_two(format, "index", 32, 16, 32) == 32) return DType::i32;
  if (weights.columns <= formats::columns_of_16_bits) return DType::i16;
  throw UserError({"a weight is too wide for 16-bit columns", weights.origin,
                   fmt::format("{} columns", weights.columns),
                   fmt::format("at most {}, or index=32", formats::columns_of_16_bits)});
}

void check_positions(const WeightMatrix& weights, const Format& format, std::int64_t positions,
                     std::string_view what) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (positions <= most) return;
  throw UserError({"a weight is too large for " + format.text(), weights.origin,
                   fmt::format("{} {}", positions, what),
                   fmt::format("at most {}: positions are i32", most)});
}

RowLayout::RowLayout(const WeightMatrix& weights, const Format& format) : given_(weights) {
  const auto parameter = [&](const char* name, std::int64_t otherwise) {
    const auto found = format.parameters.find(name);
    return found == format.parameters.end() ? otherwise : found->second;
  };
  const auto order = static_cast<RowOrder>(parameter("order", 0));
  const std::int64_t rows = parameter("rows", formats::RowOptions{}.rows);
  if (parameter("order", 0) < 0 || parameter("order", 0) > static_cast<std::int64_t>(RowOrder::similar)) {
    throw UserError({"a format has a row order that there is not", format.name,
                     std::to_string(parameter("order", 0)), "given, length, dealt or similar"});
  }
  if (rows < 1) {
    throw UserError({"blocks of rows have too few rows", format.text(), fmt::format("rows={}", rows),
                     "the rows of a block, at least 1"});
  }
  if (order == RowOrder::given) return;
  order_ = row_order(weights, order, rows);
  ordered_ = with_row_order(weights, order_);
}

RowLayout::RowLayout(const WeightMatrix& weights, std::vector<std::int32_t> order)
    : given_(weights), order_(std::move(order)), ordered_(with_row_order(weights, order_)) {}

std::vector<Level> RowLayout::levels() const {
  if (!ordered_) return {{.kind = LevelKind::dense, .dimension = Dimension::row, .extent = given_.rows}};
  return {{.kind = LevelKind::dense, .dimension = Dimension::none, .extent = given_.rows},
          {.kind = LevelKind::singleton, .dimension = Dimension::row, .begin = {}, .index = "row_order"}};
}

std::vector<SparseTensor::NamedArray> RowLayout::arrays() const {
  if (!ordered_) return {};
  return {{"row_order", Array::of(order_)}};
}

Format with_row_options(std::string name, const formats::RowOptions& options) {
  Format format{std::move(name), {}};
  if (options.order == RowOrder::given) return format;
  format.parameters["order"] = static_cast<std::int64_t>(options.order);
  if (options.order != RowOrder::by_length) format.parameters["rows"] = options.rows;
  return format;
}

Array index_array(std::int64_t size) {
  return Array(DType::i32, {size});
}

Array row_offsets(const WeightMatrix& weights) {
  Array begin = index_array(weights.rows + 1);
  std::transform(weights.row_begin.begin(), weights.row_begin.end(), begin.as<std::int32_t>().begin(),
                 [](std::int64_t offset) { return static_cast<std::int32_t>(offset); });
  return begin;
}

}  // namespace weft::named
