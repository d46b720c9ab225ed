#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/bytes.h>
#include <weft/search/records/json_fields.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

constexpr std::size_t longest_shown = 60;

std::string joined(const std::string& file, const std::string& place) {
  return file + (file.empty() || place.empty() ? "" : ", ") + place;
}

/// "a whole number from 1 to 8", without the limits that every number keeps.
template <class T>
std::string range_of(const char* kind, T least, T most) {
  std::string text = kind;
  if (least > std::numeric_limits<T>::lowest()) text += fmt::format(" from {}", least);
  if (most < std::numeric_limits<T>::max()) text += fmt::format(" to {}", most);
  return text;
}

/// Nothing for fractions, for what is no number, and beyond 63 bits.
std::optional<std::int64_t> whole_number(const nlohmann::ordered_json& value) {
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return std::nullopt;
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<std::int64_t>();
}

}  // namespace

std::string shown(const nlohmann::ordered_json& value) {
  std::string text = value.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  if (text.size() > longest_shown) text = text.substr(0, longest_shown) + "...";
  return text;
}

nlohmann::ordered_json parse_json(std::string_view text, const JsonOrigin& origin) {
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t end = std::min(error.byte > 0 ? error.byte - 1 : 0, text.size());
    const std::string_view before = text.substr(0, end);
    const auto line = 1 + std::ranges::count(before, '\n');
    const std::size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    const std::string place = joined(origin.file, fmt::format("line {}, column {}", line, end - begin + 1));
    if (const std::string comma = io::end_after_comma(text, end); !comma.empty())
      throw UserError(origin.what, place, comma, "another value, or no comma");
    std::string found = text.empty() ? "an empty file"
                        : end == text.size()
                            ? "the text ends in the middle of a value"
                            : "no JSON from " + shown(std::string(text.substr(end, 20))) + " on";
    throw UserError(origin.what, place, std::move(found), origin.accepted);
  } catch (const nlohmann::json::exception&) {
    throw UserError(origin.what, origin.file, "a number that is too large", origin.accepted);
  }
}

JsonFields::JsonFields(const Json& json, const JsonOrigin& origin, std::string place)
    : json_(&json), origin_(&origin), at_(std::move(place)) {
  if (!json.is_object())
    throw UserError(origin.what, joined(origin.file, at_), shown(json),
                    at_.empty() ? origin.accepted : "an object with named fields");
}

const JsonFields::Json* JsonFields::find(const std::string& name) const {
  const auto found = json_->find(name);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

std::string JsonFields::place_of(const std::string& name) const {
  return at_ + (at_.empty() || name.empty() ? "" : ".") + name;
}

void JsonFields::refuse(const std::string& name, const std::string& found,
                        const std::string& accepted) const {
  throw UserError(origin_->what, joined(origin_->file, place_of(name)), found, accepted);
}

const JsonFields::Json& JsonFields::need(const std::string& name) const {
  const Json* found = find(name);
  if (found == nullptr) refuse({}, "no \"" + name + "\"", origin_->accepted);
  return *found;
}

void JsonFields::read(const std::string& name, std::string& value) const {
  const Json* found = find(name);
  if (found == nullptr) return;
  if (!found->is_string()) refuse(name, shown(*found), "a text in quotes");
  value = found->get<std::string>();
}

void JsonFields::read(const std::string& name, bool& value) const {
  const Json* found = find(name);
  if (found == nullptr) return;
  if (!found->is_boolean()) refuse(name, shown(*found), "true or false");
  value = found->get<bool>();
}

void JsonFields::read(const std::string& name, double& value, double least, double most) const {
  const Json* found = find(name);
  if (found == nullptr) return;
  const double number = found->is_number() ? found->get<double>() : std::nan("");
  if (!std::isfinite(number) || number < least || number > most)
    refuse(name, shown(*found), range_of("a number", least, most));
  value = number;
}

void JsonFields::read(const std::string& name, std::int64_t& value, std::int64_t least,
                      std::int64_t most) const {
  const Json* found = find(name);
  if (found == nullptr) return;
  const std::optional<std::int64_t> number = whole_number(*found);
  if (!number || *number < least || *number > most)
    refuse(name, shown(*found), range_of("a whole number", least, most));
  value = *number;
}

void JsonFields::read(const std::string& name, std::map<std::string, std::string>& values) const {
  const JsonFields fields = object(name);
  for (const auto& [key, value] : fields.json_->items()) fields.read(key, values[key]);
}

void JsonFields::read(const std::string& name, std::map<std::string, std::int64_t>& values) const {
  const JsonFields fields = object(name);
  for (const auto& [key, value] : fields.json_->items()) fields.read(key, values[key]);
}

JsonFields JsonFields::object(const std::string& name) const {
  static const Json none = Json::object();
  const Json* found = find(name);
  return {found != nullptr ? *found : none, *origin_, place_of(name)};
}

const JsonFields::Json& JsonFields::list(const std::string& name) const {
  static const Json none = Json::array();
  const Json* found = find(name);
  if (found == nullptr) return none;
  if (!found->is_array()) refuse(name, shown(*found), "a list in brackets");
  return *found;
}

JsonFields JsonFields::element(const std::string& name, std::size_t index) const {
  return {list(name).at(index), *origin_, fmt::format("{}[{}]", place_of(name), index)};
}

void require_version(const JsonFields& fields, const std::string& name, std::int64_t version) {
  fields.need(name);
  std::int64_t found = 0;
  fields.read(name, found);
  if (found != version)
    fields.refuse(
        name, fmt::format("version {}", found),
        fmt::format("version {}, that of this weft: make the file again, or use the weft that wrote it",
                    version));
}

}  // namespace weft
