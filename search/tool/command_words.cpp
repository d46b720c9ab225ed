#include <weft/search/tool/command_words.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace weft::tool {
namespace {

/// Calls that a message names, and what does the same on the command line.
struct Phrase {
  std::string_view of_program;
  std::string_view of_command;
};
constexpr std::array phrases{
    Phrase{"weights pruned so: pruned(weights, choose_weights(weights, format, {})), or weft prune",
           "weights that weft prune FILE --format NAME has pruned so, or --format csr, which holds any"},
    Phrase{"target_named(\"sm_90a\") for the schedule", "--target sm_90a, or --device sim:sm_90a"}};

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Takes away "Type::member" where the option stands beside it: "Type::member (--option)",
/// "--option (Type::member)" and "Type::member, --option".
std::string without_members(std::string text) {
  constexpr std::string_view mark = "::";
  std::size_t from = 0;
  for (std::size_t at; (at = text.find(mark, from)) != std::string::npos;) {
    from = at + mark.size();
    std::size_t begin = at, end = from;
    while (begin > 0 && is_of_name(text[begin - 1])) --begin;
    while (end < text.size() && is_of_name(text[end])) ++end;
    if (begin == at || text[begin] < 'A' || text[begin] > 'Z') continue;
    const std::string_view behind = std::string_view(text).substr(end);
    const std::string_view before = std::string_view(text).substr(0, begin);
    if (const std::size_t close = text.find(')', end);
        behind.starts_with(" (--") && close != std::string::npos) {
      text.erase(close, 1);
      text.erase(begin, end + 2 - begin);
    } else if (before.ends_with(" (") && behind.starts_with(")")) {
      begin -= 2;
      text.erase(begin, end + 1 - begin);
    } else if (behind.starts_with(", --")) {
      text.erase(begin, end + 2 - begin);
    } else {
      continue;
    }
    from = begin;
  }
  return text;
}

std::string translated(std::string text) {
  for (const auto& [of_program, of_command] : phrases) {
    if (const std::size_t at = text.find(of_program); at != std::string::npos)
      text.replace(at, of_program.size(), of_command);
  }
  return without_members(std::move(text));
}

}  // namespace

UserError::Report in_words_of_command(UserError::Report report) {
  report.what = translated(std::move(report.what));
  report.where = translated(std::move(report.where));
  report.accepted = translated(std::move(report.accepted));
  return report;
}

}  // namespace weft::tool
