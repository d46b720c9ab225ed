// JSON whose values know their line, so that a message can name it.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace weft {

/// A JSON document with the line of every value. Refuses keys that are given twice, because one of the two
/// would be ignored.
class LocatedJson {
 public:
  /// UserError with the line for text that is no JSON, has a key twice, or more than 16 levels.
  LocatedJson(const std::string& text, std::string origin);

  const nlohmann::json& document() const { return document_; }
  /// "suite.json, line 12"; `pointer` is a JSON pointer to a value ("/problems/3/M"), or to one that is
  /// missing: then the line is that of what should hold it.
  std::string place(std::string pointer) const;

 private:
  std::string origin_;
  nlohmann::json document_;
  std::map<std::string, std::size_t> lines_;
};

}  // namespace weft
