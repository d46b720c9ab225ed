// What --help prints of every verb: a screen, with an example.
#include <gmock/gmock.h>

#include <sstream>

#include "call_weft.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The verbs that a help lists.
std::vector<std::string> verbs_of(const std::string& help) {
  std::vector<std::string> verbs;
  bool among_them = false;
  for (const std::string& line : lines_of(help)) {
    if (!line.starts_with("  ")) among_them = line == "Verbs";
    if (among_them && line.starts_with("  ") && line[2] != ' ')
      verbs.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return verbs;
}

/// Characters, of which one may have several bytes.
std::ptrdiff_t characters(const std::string& line) {
  return std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

void expect_a_screen(const std::vector<std::string>& call, std::size_t most_lines = 24) {
  const VerbAnswer answer = call_weft(call);
  EXPECT_EQ(answer.code, 0) << call.front();
  EXPECT_THAT(answer.out, HasSubstr("Example")) << answer.out;
  const std::vector<std::string> lines = lines_of(answer.out);
  EXPECT_LE(lines.size(), most_lines) << answer.out;
  if (call.size() > 1) {
    EXPECT_THAT(answer.out, Not(HasSubstr("\nOptions\n"))) << "an option without a group";
  }
  for (const std::string& line : lines) EXPECT_LE(characters(line), 100) << call.front() << ": " << line;
}

TEST(Help, OfEveryVerbFitsAScreenAndHasAnExample) {
  expect_a_screen({"--help"}, 40);
  const std::vector<std::string> verbs = verbs_of(call_weft({"--help"}).out);
  EXPECT_GT(verbs.size(), 20U);
  for (const std::string& verb : verbs) {
    expect_a_screen({verb, "--help"});
    for (const std::string& part : verbs_of(call_weft({verb, "--help"}).out))
      expect_a_screen({verb, part, "--help"});
  }
}

TEST(Help, HasOptionsInGroups) {
  const std::string help = call_weft({"run", "--help"}).out;
  for (const char* group :
       {"\nProblem\n", "\nConvolution  --filter --image ", "\nSchedule\n", "\nDevice\n", "\nOutput\n"})
    EXPECT_THAT(help, HasSubstr(group));
}

TEST(Help, OfAllExplainsEveryOption) {
  const VerbAnswer answer = call_weft({"tune", "--help-all"});
  EXPECT_EQ(answer.code, 0) << answer.errors;
  for (const char* text : {"\nConvolution\n", "its height x width", "\nTimes\n", "seconds for running one"})
    EXPECT_THAT(answer.out, HasSubstr(text));
}

TEST(Help, PointsAtTheVerbsThatListFormatsAndRecipes) {
  const std::string help = call_weft({"compile", "--help"}).out;
  for (const char* verb : {"weft formats", "weft recipes", "weft targets"})
    EXPECT_THAT(help, HasSubstr(verb));
}

}  // namespace
}  // namespace weft
