#include <fmt/format.h>
#include <weft/search/report/chart.h>
#include <weft/search/report/page_table.h>

#include <algorithm>

namespace weft::report {
namespace {

const char* class_of(PageTable::Kind kind) {
  switch (kind) {
    case PageTable::Kind::name: return " class=\"p\"";
    case PageTable::Kind::number: return " class=\"n\"";
    case PageTable::Kind::code: return " class=\"k\"";
    default: return "";
  }
}

}  // namespace

std::string PageTable::html() const {
  std::vector<std::size_t> shown;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (std::ranges::any_of(rows_, [c](const auto& row) { return !row[c].empty(); })) shown.push_back(c);
  }
  std::string text = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n<thead><tr>",
      escaped(name_));
  for (const std::size_t c : shown)
    text += fmt::format("<th{}>{}</th>", class_of(columns_[c].kind), escaped(columns_[c].heading));
  text += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows_) {
    text += "<tr>";
    for (const std::size_t c : shown)
      text += fmt::format("<td{}>{}</td>", class_of(columns_[c].kind), row[c].empty() ? "-" : row[c]);
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

}  // namespace weft::report
