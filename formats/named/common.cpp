#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/formats/named/common.h>

#include <algorithm>
#include <limits>

namespace weft::named {

void check_parameters(const Format& format, std::initializer_list<std::string_view> known) {
  for (const auto& [parameter, value] : format.parameters) {
    if (std::find(known.begin(), known.end(), parameter) != known.end()) continue;
    throw UserError({"a format has a parameter that it does not know", format.text(), parameter,
                     known.size() == 0 ? format.name + " without parameters"
                                       : fmt::format("{}", fmt::join(known, ", "))});
  }
}

void check_positions(const WeightMatrix& weights, const Format& format, std::int64_t positions,
                     std::string_view what) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (positions <= most) return;
  throw UserError({"a weight is too large for " + format.text(), weights.origin,
                   fmt::format("{} {}", positions, what),
                   fmt::format("at most {}: positions are i32", most)});
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
