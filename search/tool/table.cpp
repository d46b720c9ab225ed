#include <fmt/format.h>
#include <weft/search/tool/table.h>

#include <algorithm>

namespace weft::tool {
namespace {

/// A number, with its unit perhaps: "12", "1.23 us"; not "16 to 1024".
bool is_numeric(const std::string& cell) {
  return !cell.empty() && std::ranges::count(cell, ' ') < 2 &&
         (std::isdigit(static_cast<unsigned char>(cell.front())) != 0 || cell.front() == '-');
}

}  // namespace

std::string Table::text() const {
  std::vector<std::size_t> width;
  for (const auto& row : rows_) {
    width.resize(std::max(width.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows_[r].size(); ++i) {
      const std::string& cell = rows_[r][i];
      line += i == 0 ? "" : "  ";
      line +=
          is_numeric(cell) ? fmt::format("{:>{}}", cell, width[i]) : fmt::format("{:<{}}", cell, width[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    if (r == 0) {
      std::size_t total = 0;
      for (const std::size_t w : width) total += w + 2;
      text += std::string(total - 2, '-') + "\n";
    }
  }
  return text;
}

}  // namespace weft::tool
