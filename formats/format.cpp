#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/suggestion.h>

#include <algorithm>
#include <charconv>

namespace weft {
namespace {

constexpr std::string_view spelling = "a name, and after a colon its parameters, as in csr or shfl_bw:V=64";

[[noreturn]] void refuse(std::string_view text, std::string found, std::string accepted) {
  throw UserError("a format cannot be understood", fmt::format("\"{}\"", text.substr(0, 100)),
                  std::move(found), std::move(accepted));
}

std::int64_t value_of(std::string_view text, std::string_view name, std::string_view value) {
  if (name == "order") {
    if (const auto order = row_order_named(value)) return static_cast<std::int64_t>(*order);
    refuse(text, fmt::format("\"{}\" as a row order", value.substr(0, 100)),
           "given, length, dealt or similar");
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size()) return number;
  refuse(text, fmt::format("\"{}\" as a value", value.substr(0, 100)), "a whole number below 2^63");
}

/// "bcsr:b=16" for the 16 of "bcsr:16"; where that is not clear, how all formats are spelled.
std::string spelled(std::string_view name, std::string_view value) {
  const auto row = std::ranges::find(named_formats(), name, &NamedFormat::name);
  const bool is_number = !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
  if (row == named_formats().end() || row->parameters.empty()) return std::string(spelling);
  const FormatParameter& first = row->parameters.front();
  if (is_number) return fmt::format("{}:{}={}", name, first.name, value);
  return fmt::format("{}:{}=NUMBER, {}", name, first.name, first.values);
}

void parse_parameter(std::string_view text, std::string_view parameter, Format& format) {
  const std::size_t equals = parameter.find('=');
  if (equals == 0 || equals == std::string_view::npos)
    refuse(text, fmt::format("\"{}\" where a parameter should stand", parameter.substr(0, 100)),
           spelled(format.name, parameter));
  const std::string_view name = parameter.substr(0, equals);
  const std::int64_t value = value_of(text, name, parameter.substr(equals + 1));
  if (!format.parameters.emplace(name, value).second)
    refuse(text, fmt::format("{} twice", name), "each parameter once");
}

/// What a text that begins with no format's name may mean: a pattern as papers write it, several formats,
/// another name.
std::string suggestion_for(std::string_view text, std::string_view name,
                           const std::vector<std::string_view>& names) {
  const bool is_pattern = !text.empty() && text.find_first_not_of("0123456789:") == std::string_view::npos;
  const auto colons = std::ranges::count(text, ':');
  if (is_pattern && colons == 1) return "; 2:4 is n_m";
  if (is_pattern && colons == 2) {
    const std::size_t first = text.find(':'), last = text.rfind(':');
    const std::string_view rows = text.substr(0, first), of = text.substr(last + 1);
    if (text.substr(first, last - first) == ":2" && !rows.empty() && !of.empty())
      return fmt::format("; {} is v_n_m:V={},M={}", text.substr(0, 100), rows, of);
    return "; 64:2:8 is v_n_m:V=64,M=8";
  }
  if (std::ranges::find(names, name.substr(0, name.find(','))) != names.end())
    return ", which is one of them and a comma: one at a time";
  return did_you_mean(name, names);
}

Format format_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  std::vector<std::string_view> names;
  for (const NamedFormat& format : named_formats()) names.push_back(format.name);
  if (std::ranges::find(names, name) == names.end())
    refuse(text, "no format of that name" + suggestion_for(text, name, names),
           fmt::format("{}", fmt::join(names, ", ")));
  Format format{std::string(name), {}};
  if (colon == std::string_view::npos) return format;
  std::string_view rest = text.substr(colon + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    parse_parameter(text, rest.substr(0, comma), format);
    if (comma == std::string_view::npos) return format;
    rest = rest.substr(comma + 1);
  }
}

}  // namespace

std::string Format::text() const {
  std::string result = name;
  char separator = ':';
  for (const auto& [parameter, value] : parameters) {
    result += fmt::format("{}{}=", separator, parameter);
    result += parameter == "order" ? name_of(static_cast<RowOrder>(value)) : std::to_string(value);
    separator = ',';
  }
  return result;
}

Format parse_format(std::string_view text, CallPlace place) {
  return user_call(place, [&] { return format_of(text); });
}

bool formats::keeps_two_of_four(const Format& format) {
  const auto named = std::ranges::find(named_formats(), format.name, &NamedFormat::name);
  if (named == named_formats().end()) return false;
  const WeightMatrix empty =
      from_coordinates(0, 0, {}, {}, Array(DType::e4m3, {0}), "a weight without entries");
  const SparseTensor packed = named->pack(empty, format);
  return std::ranges::any_of(packed.levels(),
                             [](const Level& level) { return level.kind == LevelKind::n_of_m; });
}

}  // namespace weft
