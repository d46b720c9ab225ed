// A table of a page.
#pragma once

#include <string>
#include <vector>

namespace weft::report {

/// In an element that scrolls where the table is too wide or too tall, by the keyboard too. A column in which
/// no row has anything is left out.
class PageTable {
 public:
  enum class Kind { text, name, number, code };
  struct Column {
    std::string heading;
    Kind kind = Kind::text;
  };
  /// `name` is read out where the table is not seen.
  PageTable(std::string name, std::vector<Column> columns)
      : name_(std::move(name)), columns_(std::move(columns)) {}

  /// As HTML, a cell for each column.
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string html() const;

 private:
  std::string name_;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weft::report
