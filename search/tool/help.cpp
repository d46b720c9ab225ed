#include <fmt/format.h>
#include <weft/search/tool/help.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <vector>

namespace weft::tool {
namespace {

constexpr std::size_t line_width = 100, half_line = line_width / 2, margin = 2, text_column = 22;
/// Groups of which --help lists the names alone: most calls leave them out.
constexpr std::array<std::string_view, 3> groups_by_name{"Operands", "Convolution", "Times"};

struct HelpEntry {
  std::string left, right;

  /// Whether its text begins where those of others do.
  bool is_aligned() const { return left.size() < text_column - margin; }
  std::size_t size() const { return text_column + right.size(); }
};

/// What the option is called, and what it takes: "--n N", "--stride=1", "-o,--out=best.weft.json".
HelpEntry help_entry_of(const CLI::Option& option) {
  const bool is_word = !option.nonpositional();
  HelpEntry entry{option.get_name(is_word, true), option.get_description()};
  const std::string type = option.get_type_name();
  if (!option.get_default_str().empty()) {
    entry.left += "=" + option.get_default_str();
  } else if (!type.empty() && !is_word) {
    entry.left += " " + type.substr(0, type.find(':'));
  }
  if (option.get_required() && !is_word) entry.right = "needed: " + entry.right;
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
    const std::size_t second = std::max(half_line - margin, entries[i].size());
    if (i + 1 < entries.size() && entries[i].is_aligned() && entries[i + 1].is_aligned() &&
        second + entries[i + 1].size() <= line_width) {
      std::string line = help_line_of(entries[i]);
      line.pop_back();
      text += fmt::format("{:<{}}", line, second) + help_line_of(entries[++i]);
    } else {
      text += help_line_of(entries[i]);
    }
  }
  return text;
}

class Help final : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::vector<HelpEntry> positionals, verbs;
    for (const CLI::Option* option : app->get_options()) {
      if (!option->nonpositional()) positionals.push_back(help_entry_of(*option));
    }
    for (const CLI::App* verb : app->get_subcommands(nullptr))
      verbs.push_back({verb->get_name(), verb->get_description()});
    std::string text = app->get_description() + "\nUsage: " + name + (verbs.empty() ? "" : " VERB");
    for (const HelpEntry& positional : positionals) text += " " + positional.left;
    text += " [options]\n" + text_of(positionals);
    if (!verbs.empty()) text += "Verbs\n";
    for (const HelpEntry& verb : verbs) text += help_line_of(verb);
    bool has_names_alone = false;
    for (const std::string& group : app->get_groups()) {
      const auto options = options_of(*app, group);
      if (options.empty()) continue;
      const bool by_name =
          mode != CLI::AppFormatMode::All && std::ranges::find(groups_by_name, group) != groups_by_name.end();
      text += by_name ? names_of(options, group) : group_of(options, group);
      has_names_alone = has_names_alone || by_name;
    }
    if (has_names_alone) text += fmt::format("Every option is explained by {} --help-all.\n", name);
    return text + app->get_footer() + (app->get_footer().empty() ? "" : "\n");
  }

 private:
  /// Everybody knows what --help does.
  static std::vector<const CLI::Option*> options_of(const CLI::App& app, const std::string& group) {
    return app.get_options([&](const CLI::Option* option) {
      return option->nonpositional() && option->get_group() == group && option != app.get_help_ptr() &&
             option != app.get_help_all_ptr();
    });
  }

  static std::string group_of(const std::vector<const CLI::Option*>& options, const std::string& group) {
    std::vector<HelpEntry> entries;
    for (const CLI::Option* option : options) entries.push_back(help_entry_of(*option));
    return group + "\n" + text_of(entries);
  }

  static std::string names_of(const std::vector<const CLI::Option*>& options, const std::string& group) {
    std::string names = group + " ";
    for (const CLI::Option* option : options) names += " " + option->get_name();
    return names + "\n";
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
