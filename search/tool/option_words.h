// The words of a command line: which of them an option takes, and what is said of those that nobody takes.
#pragma once

#include <weft/dsl/errors.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace weft::tool {

/// The option takes these words alone; of another it is said that `accepted` would do. The last call counts.
CLI::Option* only(CLI::Option* option, const std::string& accepted,
                  std::function<bool(const std::string&)> takes);
CLI::Option* only(CLI::Option* option, std::vector<std::string> words);
/// Whole numbers of a range, numbers of a range, and numbers above 0.
CLI::Option* only_from(CLI::Option* option, std::int64_t least, std::int64_t most);
CLI::Option* only_between(CLI::Option* option, double least, double most);
CLI::Option* only_above_zero(CLI::Option* option);

/// What the parser found wrong, told as everything else that cannot be used.
UserError mistake_of(const CLI::App& app, const CLI::ParseError& error);
/// "weft run help"
UserError asked_for_help(const CLI::App& app);

}  // namespace weft::tool
