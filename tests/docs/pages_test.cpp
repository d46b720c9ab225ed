// What the pages list, against the code.
#include "pages.h"

#include <gmock/gmock.h>
#include <weft/weft.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <set>

#include "support/golden.h"

namespace weft {
namespace {

using test::lines_of;
using test::pages;
using test::project;
using test::text_of;

/// What the first group of the expression is, wherever it matches.
std::vector<std::string> all_of(const std::string& text, const std::regex& expression) {
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at)
    found.push_back((*at)[1]);
  return found;
}

TEST(Pages, EveryLinkLeadsSomewhere) {
  std::size_t links = 0;
  for (const auto& page : pages()) {
    for (const std::string& link : all_of(text_of(page), std::regex("\\]\\(([^)#]+)"))) {
      if (link.starts_with("http")) continue;
      EXPECT_TRUE(std::filesystem::exists(project() / page.parent_path() / link)) << page << ": " << link;
      ++links;
    }
  }
  EXPECT_GT(links, 40U);
}

TEST(Pages, EveryFileThatIsNamedIsThere) {
  const std::regex named(
      "`((?:dsl|formats|scheduler|backends|search|examples|tests|docs|cmake)/[a-z0-9_./]+)`");
  std::size_t files = 0;
  for (const char* page : {"docs/architecture.md", "docs/contributing.md", "docs/extending.md",
                           "docs/glossary.md", "docs/ir.md", "README.md"}) {
    for (const std::string& file : all_of(text_of(page), named)) {
      EXPECT_TRUE(std::filesystem::exists(project() / file)) << page << ": " << file;
      ++files;
    }
  }
  EXPECT_GT(files, 80U);
}

TEST(Pages, EveryPresetThatIsNamedIsThere) {
  const std::string presets = text_of("CMakePresets.json"), page = text_of("docs/contributing.md");
  std::vector<std::string> named;
  for (const auto& each : pages())
    for (std::string& name : all_of(text_of(each), std::regex("--preset ([a-z-]+)"))) named.push_back(name);
  const std::size_t begin = page.find("| preset |");
  for (const std::string& row : lines_of(page.substr(begin, page.find("\n\n", begin) - begin)))
    for (std::string& name : all_of(row.substr(0, row.find('|', 1)), std::regex("`([a-z-]+)`")))
      named.push_back(name);
  EXPECT_GT(named.size(), 10U);
  for (const std::string& name : named)
    EXPECT_NE(presets.find("\"name\": \"" + name + "\""), std::string::npos) << name;
}

TEST(Pages, EveryScriptThatIsNamedIsThere) {
  std::set<std::string> scripts;
  for (const char* folder : {"tests", "python"}) {
    for (const auto& file : std::filesystem::recursive_directory_iterator(project() / folder))
      scripts.insert(file.path().filename().string());
  }
  std::size_t named = 0;
  for (const auto& page : pages()) {
    for (const std::string& script : all_of(text_of(page), std::regex("\\b([a-z_]+\\.(?:sh|py))\\b"))) {
      EXPECT_TRUE(scripts.contains(script)) << page << ": " << script;
      ++named;
    }
  }
  EXPECT_GT(named, 10U);
}

/// Asked where the history is at hand.
TEST(Pages, EveryCommitThatIsNamedIsThere) {
  const std::string git = "git -C '" + project().string() + "' ";
  if (std::system((git + "rev-parse HEAD >/dev/null 2>&1").c_str()) != 0) GTEST_SKIP() << "no history";
  std::set<std::string> commits;
  for (const auto& page : pages()) {
    for (std::string& word : all_of(text_of(page), std::regex("\\b([0-9a-f]{7})\\b"))) {
      const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
      if (std::ranges::any_of(word, is_digit) && !std::ranges::all_of(word, is_digit)) commits.insert(word);
    }
  }
  EXPECT_GT(commits.size(), 5U);
  for (const std::string& commit : commits)
    EXPECT_EQ(std::system((git + "cat-file -e " + commit + "^{commit} 2>/dev/null").c_str()), 0) << commit;
}

TEST(Pages, SentencesHaveNoEmDash) {
  for (const auto& page : pages()) EXPECT_EQ(text_of(page).find("\u2014"), std::string::npos) << page;
}

TEST(Architecture, ListsTheFoldersInTheOrderOfTheRooms) {
  const std::string test = text_of("tests/rooms/rooms_test.cpp");
  const std::size_t begin = test.find("order{");
  const std::vector<std::string> order =
      all_of(test.substr(begin, test.find("};", begin) - begin), std::regex("\"([a-z_/]+)\""));
  EXPECT_GT(order.size(), 30U);
  EXPECT_EQ(all_of(text_of("docs/architecture.md"), std::regex("\n\\| `([a-z_/]+)` \\|")), order);
}

TEST(Ir, ListsEveryKindOfNode) {
  const std::string header = text_of("scheduler/ir/node.h"), page = text_of("docs/ir.md");
  std::set<std::string> kinds;
  for (const std::string& variant :
       all_of(header, std::regex("struct \\w+Node\\s*: std::variant<([^>]+)>"))) {
    for (const std::string& kind : all_of(variant, std::regex("(\\w+)"))) kinds.insert(kind);
  }
  EXPECT_GE(kinds.size(), 19U);
  for (const std::string& kind : kinds)
    EXPECT_NE(page.find("\n| `" + kind + "` |"), std::string::npos) << kind;
  for (const std::string& kind : all_of(page, std::regex("\n\\| `([A-Z]\\w+)` \\|")))
    EXPECT_TRUE(kinds.contains(kind)) << kind;
}

TEST(Readme, IsShort) {
  EXPECT_LE(lines_of(text_of("README.md")).size(), 130U);
}

TEST(Readme, HasTheProgramThatIsTested) {
  std::string program = text_of("tests/package/multiply.cpp");
  program.erase(0, program.find('\n') + 1);
  EXPECT_NE(text_of("README.md").find("```cpp\n" + program + "```"), std::string::npos);
}

TEST(Readme, ShowsWhatItsProgramPrints) {
  constexpr std::int64_t M = 64, K = 96, N = 17;
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {M, K});
  const Tensor<f32, 2> B("B", {K, N}), C("C", {M, N});
  const Tensor<f32, 1> bias("bias", {M});
  const Algorithm linear = algorithm("linear", C(m, n) = relu(sum(k, A(m, k) * B(k, n)) + bias(m)));
  const WeightMatrix layer = synthetic_layer({.rows = M, .columns = K, .sparsity = 0.9});
  const auto weights = std::make_shared<const SparseTensor>(pack(layer, formats::csr()));
  const Schedule chosen = default_schedule(linear, weights, target_named("cpu"));
  EXPECT_NE(text_of("README.md").find("```\n" + print(chosen.program())), std::string::npos)
      << print(chosen.program());
}

}  // namespace
}  // namespace weft
