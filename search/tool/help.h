// What --help prints: a screen for each verb, its options in groups.
#pragma once

#include <memory>
#include <string_view>

namespace CLI {
class App;
class FormatterBase;
}  // namespace CLI

namespace weft::tool {

/// Lines of at most 100 characters; two options share one where it holds them. Options that most calls leave
/// out stand there by name alone, save in --help-all.
std::shared_ptr<CLI::FormatterBase> help_formatter();

/// The options of the verb that are added from here on stand below this heading.
void begin_group(CLI::App& verb, std::string_view heading);

}  // namespace weft::tool
