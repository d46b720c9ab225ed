#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/formats/io/bytes.h>
#include <weft/formats/io/pruned_for.h>
#include <weft/formats/io/weight_list.h>
#include <weft/formats/prune/prune.h>
#include <weft/formats/sparse_tensor.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <numeric>

namespace weft::io {
namespace {

constexpr std::string_view format_key = "weft.format";
constexpr std::string_view order_key = "weft.row_order";
/// No layer has more; memory for each is needed where rows of groups are packed.
constexpr std::int64_t most_columns_of_groups = std::int64_t{1} << 24;

/// Of the tensor, else of the only one; null where there is none.
const std::string* value_of(const std::map<std::string, std::string>& metadata, std::string_view key,
                            const std::string& tensor) {
  auto found = metadata.find(fmt::format("{}.{}", key, tensor));
  if (found == metadata.end()) found = metadata.find(std::string(key));
  return found == metadata.end() ? nullptr : &found->second;
}

[[noreturn]] void refuse_order(const std::string& found, std::int64_t rows) {
  throw UserError(std::string(order_key), found,
                  fmt::format("the numbers of all {} rows, each once, with commas between them", rows));
}

std::vector<std::int32_t> order_of(const std::string& text, std::int64_t rows) {
  std::vector<std::int32_t> order;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const auto [next, error] = std::from_chars(at, end, order.emplace_back());
    const bool is_number = error == std::errc() && (next == end || (*next == ',' && next + 1 != end));
    if (!is_number) refuse_order(in_quotes(std::string_view(at, end)), rows);
    at = next == end ? end : next + 1;
  }
  if (std::ssize(order) != rows) refuse_order(fmt::format("{} numbers", order.size()), rows);
  if (!is_row_order(order, rows)) refuse_order("a number twice, or one that no row has", rows);
  return order;
}

/// What is said of a weight. UserError where it does not fit.
PrunedFor said_of(const WeightMatrix& weights, const std::string& format, const std::string* order) {
  if (weights.columns > most_columns_of_groups)
    throw UserError("the columns", std::to_string(weights.columns),
                    fmt::format("at most {}", most_columns_of_groups));
  PrunedFor said{parse_format(format)};
  const std::int64_t granularity = granularity_of(said.format);
  const bool in_blocks = said.format.name == "bcsr" || said.format.name == "blocked_ell";
  if (granularity > 1) said.format.parameters[in_blocks ? "b" : "V"] = granularity;
  if (said.format.name == "shfl_bw" && order != nullptr) said.row_order = order_of(*order, weights.rows);
  if (said.format.name == "vector_wise") {
    said.row_order.resize(static_cast<std::size_t>(weights.rows));
    std::iota(said.row_order.begin(), said.row_order.end(), 0);
  }
  return said;
}

}  // namespace

std::map<std::string, std::string> metadata_of_pruned(const Format& format,
                                                      std::span<const std::int32_t> row_order,
                                                      const std::string& tensor) {
  const std::string behind = tensor.empty() ? "" : "." + tensor;
  std::map<std::string, std::string> metadata{{std::string(format_key) + behind, format.text()}};
  if (!row_order.empty())
    metadata[std::string(order_key) + behind] = fmt::format("{}", fmt::join(row_order, ","));
  return metadata;
}

WeightMatrix with_metadata(WeightMatrix weights, const std::map<std::string, std::string>& metadata,
                           const std::string& tensor) {
  const std::string* const format = value_of(metadata, format_key, tensor);
  if (format == nullptr) return weights;
  const std::string fault = fault_of(weights.origin, [&] {
    weights.pruned_for =
        std::make_shared<const PrunedFor>(said_of(weights, *format, value_of(metadata, order_key, tensor)));
    pack(weights, weights.pruned_for->format);  // refuses weights that it would not hold
  });
  if (fault.empty()) return weights;
  weights.pruned_for = nullptr;
  weights.note = fmt::format("{} says that it was pruned for {}, which does not fit and is passed over: {}",
                             weights.origin, in_quotes(*format), fault);
  return weights;
}

}  // namespace weft::io
