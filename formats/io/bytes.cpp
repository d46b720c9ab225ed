#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/bytes.h>

#include <algorithm>
#include <cmath>

namespace weft::io {

void refuse(const std::string& origin, std::string where, std::string found, std::string accepted) {
  throw UserError("cannot read " + origin, std::move(where), std::move(found), std::move(accepted));
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string result = "\"";
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 32 || byte > 126 ? fmt::format("\\x{:02X}", byte) : std::string(1, c);
  }
  return result + (text.size() > longest ? "…\"" : "\"");
}

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string beginning_of(Bytes bytes) {
  constexpr std::size_t shown = 16;
  if (bytes.empty()) return "nothing: the file is empty";
  const std::string_view all = text_of(bytes);
  const auto is_of_text = [](char c) {
    return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t';
  };
  if (!std::ranges::all_of(all.substr(0, 4 * shown), is_of_text))
    return "bytes that begin with " + in_quotes(all.substr(0, shown));
  const std::string_view line = all.substr(0, all.find_first_of("\r\n"));
  return "a text that begins with " + in_quotes(line.substr(0, 2 * shown));
}

std::string end_after_comma(std::string_view text, std::size_t byte) {
  if (byte >= text.size() || (text[byte] != ']' && text[byte] != '}')) return {};
  const std::size_t before = text.substr(0, byte).find_last_not_of(" \t\r\n");
  if (before == std::string_view::npos || text[before] != ',') return {};
  return std::string(1, text[byte]) + " after a comma";
}

bool starts_with(Bytes bytes, std::string_view prefix) {
  return text_of(bytes).starts_with(prefix);
}

std::uint64_t little_endian(Bytes bytes, std::size_t offset, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;)
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[offset + i]);
  return value;
}

void check_weight_shape(std::span<const std::int64_t> shape, std::size_t file_bytes,
                        const std::string& origin, const std::string& where) {
  constexpr std::int64_t always_allowed = std::int64_t{1} << 20;
  const bool empty = shape.empty() || std::ranges::any_of(shape, [](auto x) { return x <= 0; });
  if (empty) refuse(origin, where, "the shape " + text_of_shape(shape), "at least one row and one column");
  const std::int64_t rows = shape.size() == 1 ? 1 : shape.front();
  const std::int64_t columns = element_count(shape.size() == 1 ? shape : shape.subspan(1), origin);
  if (columns > INT32_MAX)
    refuse(origin, where, fmt::format("{} columns", columns), "at most 2147483647 columns");
  const std::int64_t most = std::max(always_allowed, static_cast<std::int64_t>(file_bytes));
  if (rows > most)
    refuse(origin, where, fmt::format("{} rows in a file of {} bytes", rows, file_bytes),
           fmt::format("at most {} rows in a file of this size", most));
}

void check_finite(const Array& array, const std::string& origin,
                  const std::function<std::string(std::int64_t)>& where) {
  if (!is_float(array.dtype())) return;
  for (std::int64_t i = 0; i < array.size(); ++i) {
    const double value = array.get(i);
    if (!std::isfinite(value))
      refuse(origin, where(i), std::isnan(value) ? "NaN" : (value > 0 ? "infinity" : "-infinity"),
             "finite weights");
  }
}

void check_booleans(const Array& array, const std::string& origin,
                    const std::function<std::string(std::int64_t)>& where) {
  if (array.dtype() != DType::boolean) return;
  const Bytes bytes(array.data(), array.bytes());
  const auto wrong = std::ranges::find_if(bytes, [](std::byte b) { return b > std::byte{1}; });
  if (wrong == bytes.end()) return;
  refuse(origin, where(wrong - bytes.begin()), fmt::format("a boolean of {}", std::to_integer<int>(*wrong)),
         "0 or 1");
}

std::string text_of_position(std::int64_t index, std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> position(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    position[d] = index % shape[d];
    index /= shape[d];
  }
  return text_of_shape(position);
}

DType reinterpreted(DType stored, std::optional<DType> asked, const std::string& origin) {
  if (!asked || *asked == stored) return stored;
  if (is_float(stored) || size_of(stored) != size_of(*asked) || *asked == DType::boolean)
    refuse(origin, {},
           fmt::format("elements of {}, whose bits were to be seen as {}", name_of(stored), name_of(*asked)),
           fmt::format("integers or raw bytes of {} bits", 8 * size_of(*asked)));
  return *asked;
}

}  // namespace weft::io
