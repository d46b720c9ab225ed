#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/formats/suggestion.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/pages.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft::tool {
namespace {

struct PageOptions {
  PageVerb verb;
  std::string name;
  bool json = false;
};

int show(const PageOptions& options) {
  const PageVerb& verb = options.verb;
  const std::vector<std::string_view> names = verb.names();
  if (!options.name.empty() && std::ranges::find(names, options.name) == names.end())
    throw UserError(fmt::format("there is no such {}", verb.one), fmt::format("weft {}", verb.verb),
                    options.name.substr(0, 100),
                    fmt::format("{}{}", fmt::join(names, ", "), did_you_mean(options.name, names)));
  if (!options.json) {
    fmt::print("{}", options.name.empty() ? verb.table() : verb.page(options.name));
    return exit_ok;
  }
  nlohmann::ordered_json document = nlohmann::ordered_json::array();
  for (const std::string_view name : names) {
    if (options.name.empty() || options.name == name) document.push_back(verb.json(name));
  }
  fmt::print("{}\n", (options.name.empty() ? document : document.front()).dump(2));
  return exit_ok;
}

}  // namespace

void add_pages(CLI::App& app, Action& action, const PageVerb& shown) {
  const auto [verb, options] =
      new_verb<PageOptions>(app, action, std::string(shown.verb), std::string(shown.summary),
                            fmt::format("Example: weft {} {}", shown.verb, shown.example), show);
  options.verb = shown;
  add_option(verb, "name", options.name, fmt::format("of one {}, for a page of its own", shown.one));
  begin_group(verb, "Output");
  add_json_flag(verb, options.json);
}

}  // namespace weft::tool
