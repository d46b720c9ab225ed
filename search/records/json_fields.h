// JSON files that people may have edited, read field by field: what does not fit is told with the file, the
// place in it, what stands there and what would do.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

/// What a document is, for messages.
struct JsonOrigin {
  std::string what;      ///< "a plan cannot be read"
  std::string file;      ///< its path, or whatever names the text
  std::string accepted;  ///< "a file of weft tune --plan"
};

/// The document. UserError with line and column for what is no JSON or ends too early.
nlohmann::ordered_json parse_json(std::string_view text, const JsonOrigin& origin);

/// The fields of one object. UserError, naming the place in the document as "nodes[3].threshold", for a field
/// of another kind or out of its range. Fields that nobody asks for are passed over. Borrows the document.
class JsonFields {
 public:
  using Json = nlohmann::ordered_json;

  /// UserError when `json` is no object.
  JsonFields(const Json& json, const JsonOrigin& origin, std::string place = {});

  /// Whether it is there, and no null.
  bool has(const std::string& name) const { return find(name) != nullptr; }
  /// A value stays as it is where the field is missing.
  void read(const std::string& name, std::string& value) const;
  void read(const std::string& name, bool& value) const;
  void read(const std::string& name, double& value, double least = std::numeric_limits<double>::lowest(),
            double most = std::numeric_limits<double>::max()) const;
  void read(const std::string& name, std::int64_t& value,
            std::int64_t least = std::numeric_limits<std::int64_t>::min(),
            std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  void read(const std::string& name, std::map<std::string, std::string>& values) const;
  void read(const std::string& name, std::map<std::string, std::int64_t>& values) const;
  /// `limits` as for a field of that type.
  template <class T, class... Limits>
  void read(const std::string& name, std::optional<T>& value, Limits... limits) const {
    if (has(name)) read(name, value.emplace(), limits...);
  }
  template <class... Limits>
  void read(const std::string& name, int& value, int least, int most) const {
    std::int64_t wide = value;
    read(name, wide, std::int64_t{least}, std::int64_t{most});
    value = static_cast<int>(wide);
  }

  /// The same for a field that has to be there.
  template <class T, class... Limits>
  T required(const std::string& name, Limits... limits) const {
    need(name);
    T value{};
    read(name, value, limits...);
    return value;
  }
  /// UserError when the field is missing.
  const Json& need(const std::string& name) const;
  /// A field that is an object, or, where it is missing, one without fields.
  JsonFields object(const std::string& name) const;
  /// A field that is a list; an empty one where it is missing.
  const Json& list(const std::string& name) const;
  /// An element of list(name) that has to be an object.
  JsonFields element(const std::string& name, std::size_t index) const;

  /// Fields of what is made of this object's, told as `place` of it.
  JsonFields nested(const Json& json, const std::string& place) const {
    return {json, *origin_, place_of(place)};
  }

  [[noreturn]] void refuse(const std::string& name, const std::string& found,
                           const std::string& accepted) const;

 private:
  const Json* find(const std::string& name) const;
  std::string place_of(const std::string& name) const;

  const Json* json_;
  const JsonOrigin* origin_;
  std::string at_;
};

/// A version that a document has to have: UserError for another one, or for what is no number.
void require_version(const JsonFields& fields, const std::string& name, std::int64_t version);

/// A value as a message shows it: cut, and without what is no text.
std::string shown(const nlohmann::ordered_json& value);

}  // namespace weft
