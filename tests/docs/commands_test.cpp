// Commands that the pages show, against what the verbs take; and the picture that one of them draws.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "pages.h"
#include "search/tool/call_weft.h"
#include "support/golden.h"

namespace weft {
namespace {

/// "weft db best weftdb.jsonl" of the line, with what stands behind # left out.
std::string command_of(const std::string& line) {
  static const std::regex command("^(?:build/release/)?(weft [a-z].*)$");
  std::smatch match;
  if (!std::regex_match(line, match, command)) return {};
  const std::string words = match[1];
  return words.substr(0, words.find(" #"));
}

/// What --help-all says of the verb, and of its part where it has some: "db best", "model tune".
std::string help_of(const std::string& command) {
  std::istringstream words(command);
  std::string weft, verb, part;
  words >> weft >> verb >> part;
  if (verb != "db" && verb != "model") part.clear();
  std::vector<std::string> call{verb};
  if (!part.empty()) call.push_back(part);
  call.emplace_back("--help-all");
  const VerbAnswer answer = call_weft(call);
  EXPECT_EQ(answer.code, 0) << command << "\n" << answer.errors;
  return answer.out;
}

TEST(Commands, ThatPagesShowHaveVerbsAndOptionsThatThereAre) {
  std::size_t commands = 0;
  for (const auto& page : test::pages()) {
    for (const std::string& line : test::code_of(test::text_of(page), "")) {
      const std::string command = command_of(line);
      if (command.empty()) continue;
      ++commands;
      const std::string help = help_of(command);
      static const std::regex option(" (--?[a-zA-Z][a-z-]*)");
      for (std::sregex_iterator at(command.begin(), command.end(), option), end; at != end; ++at)
        EXPECT_TRUE(std::regex_search(help, std::regex("(^|[ ,])" + (*at)[1].str() + "([ =,]|\n)")))
            << page << ": " << command << ": " << (*at)[1];
    }
  }
  EXPECT_GT(commands, 20U);
}

/// What the first group of the expression is, wherever it matches.
std::set<std::string> all_of(const std::string& text, const std::regex& expression) {
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at)
    found.insert((*at)[1]);
  return found;
}

using VerbOptions = std::map<std::string, std::set<std::string>>;

/// Those of the verbs that the help of `verb` lists, as "db best"; of the verb itself where it lists none.
void add_options(VerbOptions& options, const std::string& verb) {
  const std::string help = verb.empty() ? call_weft({"--help"}).out : help_of("weft " + verb);
  std::istringstream verbs(help.substr(std::min(help.find("\nVerbs\n"), help.size())));
  std::string line;
  std::getline(verbs, line);
  std::getline(verbs, line);
  if (!verbs) {
    static const std::regex option("(?:^  |\n  |,|\\S {2,})(?:-[a-zA-Z],)?(--[a-zA-Z-]+)");
    options[verb] = all_of(help, option);
  }
  static const std::regex named("^  ([a-z]+) .*");
  std::smatch name;
  while (std::getline(verbs, line) && line.starts_with("  ")) {
    if (std::regex_match(line, name, named))
      add_options(options, verb.empty() ? name[1].str() : verb + " " + name[1].str());
  }
}

/// As the table of the page has them. Where a row begins with "the same", its verbs are those of the one
/// before.
VerbOptions options_of_page() {
  VerbOptions options;
  std::set<std::string> verbs;
  for (const std::string& line : test::lines_of(test::text_of("docs/command.md"))) {
    const std::size_t column = line.find(" | `--");
    if (!line.starts_with("| ") || column == std::string::npos) continue;
    if (!line.starts_with("| the same")) verbs = all_of(line.substr(0, column), std::regex("`([a-z ]+)`"));
    for (const std::string& verb : verbs) {
      for (const std::string& option : all_of(line.substr(column), std::regex("`(--[a-zA-Z-]+)`")))
        EXPECT_TRUE(options[verb].insert(option).second) << verb << " twice: " << option;
    }
  }
  return options;
}

TEST(Commands, ThePageListsTheOptionsOfEveryVerb) {
  VerbOptions options;
  add_options(options, "");
  EXPECT_GT(options.size(), 25U);
  EXPECT_EQ(options_of_page(), options);
}

TEST(Commands, TheManualPageNamesVerbsAndExitCodes) {
  const std::string page = test::text_of("docs/weft.1");
  VerbOptions options;
  add_options(options, "");
  for (const auto& [verb, names] : options) {
    const std::string word = verb.substr(verb.find(' ') == std::string::npos ? 0 : verb.rfind(' ') + 1);
    EXPECT_TRUE(std::regex_search(page, std::regex("[ \"]" + word + "[ \"\n]"))) << verb;
  }
  const std::string command = test::text_of("docs/command.md");
  static const std::regex code("\n\\| ([0-9]+) \\| ");
  for (std::sregex_iterator at(command.begin(), command.end(), code), end; at != end; ++at)
    EXPECT_NE(page.find(".B " + (*at)[1].str() + "\n"), std::string::npos) << (*at)[1];
}

TEST(Plot, DrawsTheCommittedPictureFromTheCommittedRecords) {
  char folder[] = "/tmp/weft_plot_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::filesystem::path picture = std::filesystem::path(folder) / "speed_ups.svg";
  const std::filesystem::path data = test::project() / "docs/data";
  const VerbAnswer answer = call_weft({"plot", (data / "h200_speed_ups.jsonl").string(),
                                       (data / "h200_sparsert.jsonl").string(), "-o", picture.string()});
  EXPECT_EQ(answer.code, 0) << answer.errors;
  std::ifstream in(picture);
  test::expect_golden("../../docs/speed_ups.svg", {std::istreambuf_iterator<char>(in), {}});
  std::filesystem::remove_all(folder);
}

/// Numbers of pictures come from pages that say how they were measured.
TEST(Plot, EveryRecordStandsInATableOfTheMeasurements) {
  std::vector<std::string> rows;
  for (const auto& page : std::filesystem::directory_iterator(test::project() / "docs/measurements")) {
    const std::string text = test::text_of(std::filesystem::relative(page.path(), test::project()));
    for (const std::string& line : test::lines_of(text)) {
      if (line.starts_with("| ")) rows.push_back(line);
    }
  }
  static const std::regex time("\"(?:median|us)\":([0-9.]+)");
  for (const char* file : {"h200_speed_ups", "h200_sparsert", "h200_sparsert_32", "h200_sparsert_images",
                           "h200_sparsert_images_32", "h200_row_groups"}) {
    std::size_t records = 0;
    for (const std::string& record : test::lines_of(test::text_of(fmt::format("docs/data/{}.jsonl", file)))) {
      std::vector<std::regex> times;
      for (std::sregex_iterator at(record.begin(), record.end(), time), end; at != end; ++at) {
        // "2.5" stands there as "2.50", and "251.0" perhaps as "251".
        const std::string digits = std::regex_replace((*at)[1].str(), std::regex("\\.0$"), "");
        const bool whole = digits.find('.') == std::string::npos;
        times.emplace_back("\\| " + std::regex_replace(digits, std::regex("\\."), "\\.") +
                           (whole ? "(\\.0+)? \\|" : "0* \\|"));
      }
      if (times.empty()) continue;
      ++records;
      EXPECT_TRUE(std::ranges::any_of(rows,
                                      [&](const std::string& row) {
                                        return std::ranges::all_of(times, [&](const std::regex& one) {
                                          return std::regex_search(row, one);
                                        });
                                      }))
          << file << ": " << record;
    }
    EXPECT_GE(records, 8U) << file;
  }
}

}  // namespace
}  // namespace weft
