// Tables and sections for people, on stdout.
#pragma once

#include <string>
#include <vector>

namespace weft::tool {

/// Columns as wide as their longest cell; the first row is the heading. Numbers stand to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) : rows_{std::move(heading)} {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weft::tool
