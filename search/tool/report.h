// The page of databases, for the verbs that write one.
#pragma once

#include <string>
#include <vector>

namespace weft::tool {

/// The fastest kernel of the problem with the most trials is made again to show its texts, unless it is not
/// wanted. UserError as records_of_files() and page_of().
std::string page_of_databases(const std::vector<std::string>& paths, bool with_kernel = true);

}  // namespace weft::tool
