#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/formats/suggestion.h>
#include <weft/search/tool/pages.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

namespace weft::tool {
namespace {

struct PageOptions {
  std::string name;
  bool json = false;
};

int show(const PageVerb& verb, const PageOptions& options) {
  const std::vector<std::string_view> names = verb.names();
  if (!options.name.empty() && std::ranges::find(names, options.name) == names.end())
    throw UserError({fmt::format("there is no such {}", verb.one), fmt::format("weft {}", verb.verb),
                     options.name.substr(0, 100),
                     fmt::format("{}{}", fmt::join(names, ", "), did_you_mean(options.name, names))});
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

void add_pages(CLI::App& app, Action& action, const PageVerb& verb) {
  auto options = std::make_shared<PageOptions>();
  CLI::App* added = app.add_subcommand(std::string(verb.verb), std::string(verb.summary));
  added->footer(fmt::format("Example: weft {} {}", verb.verb, verb.example));
  added->add_option("name", options->name, fmt::format("of one {}, for a page of its own", verb.one));
  added->add_flag("--json", options->json, "one JSON document");
  added->callback([options, verb, &action] { action = [options, verb] { return show(verb, *options); }; });
}

}  // namespace weft::tool
