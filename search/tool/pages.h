// Verbs that show what there is, from the rows that everything else is made from: a table of all, and a page
// for each name.
#pragma once

#include <weft/search/tool/verbs.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tool {

struct PageVerb {
  std::string_view verb;     ///< "formats"
  std::string_view one;      ///< "format"
  std::string_view summary;  ///< for the list of verbs
  std::string_view example;  ///< a name that there is
  std::vector<std::string_view> (*names)();
  std::string (*table)();
  std::string (*page)(std::string_view name);
  nlohmann::ordered_json (*json)(std::string_view name);
};

/// Names of rows.
template <class Rows>
std::vector<std::string_view> names_of(const Rows& rows) {
  std::vector<std::string_view> names;
  for (const auto& row : rows) names.push_back(row.name);
  return names;
}

/// Adds the verb. Another name than those is refused with the nearest.
void add_pages(CLI::App& app, Action& action, const PageVerb& verb);

}  // namespace weft::tool
