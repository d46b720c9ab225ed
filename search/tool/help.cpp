#include <fmt/format.h>
#include <weft/search/tool/help.h>

#include <CLI/CLI.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace weft::tool {
namespace {

constexpr std::size_t line_width = 100, half_line = line_width / 2, margin = 2, text_column = 22;

struct HelpEntry {
  std::string left, right;

  /// Whether half_line a line holds it.
  bool is_short() const {
    return left.size() < text_column - margin && text_column + right.size() < half_line;
  }
};

/// What the option is called, and what it takes: "--n N", "--stride=1", "-o,--out=best.weft.json".
HelpEntry help_entry_of(const CLI::Option& option) {
  HelpEntry entry{option.get_name(option.get_positional(), true), option.get_description()};
  const std::string type = option.get_type_name();
  if (!option.get_default_str().empty()) {
    entry.left += "=" + option.get_default_str();
  } else if (!type.empty() && !option.get_positional()) {
    entry.left += " " + type.substr(0, type.find(':'));
  }
  if (option.get_required() && !option.get_positional()) entry.right = "needed: " + entry.right;
  return entry;
}

std::string help_line_of(const HelpEntry& entry) {
  std::string text = fmt::format("{:{}}{:<{}}", "", margin, entry.left, text_column - margin);
  if (entry.left.size() >= text_column - margin) text += "  ";
  std::istringstream words(entry.right);
  std::size_t begin = 0, filled = text.size();
  for (std::string word; words >> word; filled = text.size() - begin) {
    if (filled > text_column && filled + 1 + word.size() > line_width) {
      text += fmt::format("\n{:{}}", "", text_column);
      begin = text.size() - text_column;
    } else if (filled > text_column && text.back() != ' ') {
      text += ' ';
    }
    text += word;
  }
  return text + "\n";
}

std::string text_of(const std::vector<HelpEntry>& entries) {
  std::string text;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i + 1 < entries.size() && entries[i].is_short() && entries[i + 1].is_short()) {
      std::string line = help_line_of(entries[i]);
      line.pop_back();
      text += fmt::format("{:<{}}", line, half_line - margin) + help_line_of(entries[++i]);
    } else {
      text += help_line_of(entries[i]);
    }
  }
  return text;
}

class Help final : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const override {
    std::vector<HelpEntry> positionals, verbs;
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_positional()) positionals.push_back(help_entry_of(*option));
    }
    for (const CLI::App* verb : app->get_subcommands(nullptr))
      verbs.push_back({verb->get_name(), verb->get_description()});
    std::string text = app->get_description() + "\nUsage: " + name + (verbs.empty() ? "" : " VERB");
    for (const HelpEntry& positional : positionals) text += " " + positional.left;
    text += " [options]\n" + text_of(positionals);
    if (!verbs.empty()) text += "Verbs\n";
    for (const HelpEntry& verb : verbs) text += help_line_of(verb);
    for (const std::string& group : app->get_groups()) text += group_of(*app, group);
    return text + app->get_footer() + (app->get_footer().empty() ? "" : "\n");
  }

 private:
  /// Everybody knows what --help does.
  static std::string group_of(const CLI::App& app, const std::string& group) {
    std::vector<HelpEntry> entries;
    const auto is_listed = [&](const CLI::Option* option) {
      return option->nonpositional() && option->get_group() == group && option != app.get_help_ptr();
    };
    for (const CLI::Option* option : app.get_options(is_listed)) entries.push_back(help_entry_of(*option));
    return entries.empty() ? std::string() : group + "\n" + text_of(entries);
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  return std::make_shared<Help>();
}

void begin_group(CLI::App& verb, std::string_view heading) {
  verb.option_defaults()->group(std::string(heading));
}

}  // namespace weft::tool
