#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/formats/named/common.h>
#include <weft/formats/suggestion.h>

#include <bit>
#include <limits>

namespace weft::named {

void check_parameters(const Format& format, std::initializer_list<std::string_view> known) {
  for (const auto& [parameter, value] : format.parameters) {
    if (std::ranges::find(known, parameter) != known.end()) continue;
    throw UserError("a format has a parameter that it does not know", format.text(), parameter,
                    known.size() == 0
                        ? format.name + " without parameters"
                        : fmt::format("{}, or none of them: {}{}", fmt::join(known, ", "), format.name,
                                      did_you_mean(parameter, {known.begin(), known.end()})));
  }
}

std::int64_t parameter(const Format& format, const std::string& name, std::int64_t otherwise) {
  const auto found = format.parameters.find(name);
  return found == format.parameters.end() ? otherwise : found->second;
}

void refuse_parameter(const Format& format, const std::string& name, std::int64_t value,
                      std::string accepted) {
  throw UserError("a format has a parameter out of range", format.text(), fmt::format("{}={}", name, value),
                  std::move(accepted));
}

std::int64_t number_within(const Format& format, const std::string& name, std::int64_t otherwise,
                           std::int64_t least, std::int64_t most) {
  const std::int64_t value = parameter(format, name, otherwise);
  if (value < least || value > most)
    refuse_parameter(format, name, value, fmt::format("{} to {}", least, most));
  return value;
}

std::int64_t power_of_two(const Format& format, const std::string& name, std::int64_t otherwise,
                          std::int64_t least, std::int64_t most) {
  const std::int64_t value = parameter(format, name, otherwise);
  if (value < least || value > most || !std::has_single_bit(static_cast<std::uint64_t>(value)))
    refuse_parameter(format, name, value, fmt::format("a power of two from {} to {}", least, most));
  return value;
}

DType column_type(const WeightMatrix& weights, const Format& format) {
  if (power_of_two(format, "index", 32, 16, 32) == 32) return DType::i32;
  if (weights.columns <= formats::columns_of_16_bits) return DType::i16;
  throw UserError("a weight is too wide for 16-bit columns", weights.origin,
                  fmt::format("{} columns", weights.columns),
                  fmt::format("at most {}, or index=32", formats::columns_of_16_bits));
}

void check_positions(const WeightMatrix& weights, const Format& format, std::int64_t positions,
                     std::string_view what) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (positions <= most) return;
  throw UserError("a weight is too large for " + format.text(), weights.origin,
                  fmt::format("{} {}", positions, what), fmt::format("at most {}: positions are i32", most));
}

RowLayout::RowLayout(const WeightMatrix& weights, const Format& format) : given_(weights) {
  const std::int64_t number = parameter(format, "order", 0);
  const auto order = static_cast<RowOrder>(number);
  const std::int64_t rows = parameter(format, "rows", formats::RowOptions{}.rows);
  if (number < 0 || number > static_cast<std::int64_t>(RowOrder::similar))
    throw UserError("a format has a row order that there is not", format.name, std::to_string(number),
                    "given, length, dealt or similar");
  if (rows < 1)
    throw UserError("blocks of rows have too few rows", format.text(), fmt::format("rows={}", rows),
                    "the rows of a block, at least 1");
  if (order == RowOrder::given) return;
  order_ = row_order(weights, order, rows);
  ordered_ = with_row_order(weights, order_);
}

RowLayout::RowLayout(const WeightMatrix& weights, std::vector<std::int32_t> order)
    : given_(weights), order_(std::move(order)), ordered_(with_row_order(weights, order_)) {}

SparseTensor RowLayout::packed(const Format& format, std::vector<Level> levels,
                               std::vector<SparseTensor::NamedArray> arrays) const {
  if (ordered_) {
    levels.insert(levels.begin(),
                  {{.dimension = Dimension::none, .extent = given_.rows},
                   {.kind = LevelKind::singleton, .dimension = Dimension::row, .index = "row_order"}});
    arrays.insert(arrays.begin(), {"row_order", Array::of(order_)});
  } else {
    levels.insert(levels.begin(), {.dimension = Dimension::row, .extent = given_.rows});
  }
  return named::packed(given_, format, std::move(levels), std::move(arrays));
}

SparseTensor packed(const WeightMatrix& weights, const Format& format, std::vector<Level> levels,
                    std::vector<SparseTensor::NamedArray> arrays, ValueOrder order) {
  return SparseTensor(format, weights.shape, weights.rows, weights.columns, std::move(levels),
                      std::move(arrays), std::move(order));
}

Format with_row_options(std::string name, const formats::RowOptions& options) {
  Format format{std::move(name), {}};
  if (options.order == RowOrder::given) return format;
  format.parameters["order"] = static_cast<std::int64_t>(options.order);
  if (options.order != RowOrder::by_length) format.parameters["rows"] = options.rows;
  return format;
}

Array index_array(std::int64_t size, std::int32_t filling) {
  Array array(DType::i32, {size});
  if (filling != 0) std::ranges::fill(array.as<std::int32_t>(), filling);
  return array;
}

}  // namespace weft::named
