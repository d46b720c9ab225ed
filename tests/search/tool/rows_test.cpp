// weft formats, weft recipes, weft targets: each row in the table, a page for each name, the same as JSON.
#include <gmock/gmock.h>
#include <weft/formats/format.h>
#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/recipes/list.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "call_weft.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

struct Verb {
  std::string name;
  std::vector<std::string> rows;
};

std::vector<Verb> verbs() {
  Verb formats{"formats", {}}, recipes{"recipes", {}}, targets{"targets", {}};
  for (const NamedFormat& row : named_formats()) formats.rows.emplace_back(row.name);
  for (const Recipe& row : weft::recipes()) recipes.rows.emplace_back(row.name);
  for (const Target& row : weft::targets()) targets.rows.push_back(row.name);
  return {formats, recipes, targets};
}

TEST(Rows, StandInTheTableAndHaveAPageEach) {
  for (const Verb& verb : verbs()) {
    const VerbAnswer table = call_weft({verb.name});
    EXPECT_EQ(table.code, 0) << table.errors;
    for (const std::string& row : verb.rows) {
      EXPECT_THAT(table.out, HasSubstr("\n" + row)) << verb.name;
      const VerbAnswer page = call_weft({verb.name, row});
      EXPECT_EQ(page.code, 0) << page.errors;
      EXPECT_THAT(page.out, ::testing::StartsWith(row + ": "));
    }
  }
}

TEST(Rows, AreJson) {
  for (const Verb& verb : verbs()) {
    const auto all = nlohmann::json::parse(call_weft({verb.name, "--json"}).out);
    EXPECT_EQ(all.size(), verb.rows.size());
    for (const std::string& row : verb.rows)
      EXPECT_EQ(nlohmann::json::parse(call_weft({verb.name, row, "--json"}).out).at("name"), row);
  }
}

TEST(Rows, ThatAreNotThereAreRefusedWithTheNearest) {
  const std::map<std::string, std::pair<std::string, std::string>> wrong{{"formats", {"shfl_wb", "shfl_bw"}},
                                                                         {"recipes", {"sparsrt", "sparsert"}},
                                                                         {"targets", {"sm_90b", "sm_90"}}};
  for (const auto& [verb, words] : wrong) {
    const VerbAnswer answer = call_weft({verb, words.first});
    EXPECT_EQ(answer.code, 2);
    EXPECT_THAT(answer.errors, HasSubstr("did you mean " + words.second));
  }
}

TEST(Rows, OfAFormatSayParametersArraysRecipesAndPruning) {
  const std::string page = call_weft({"formats", "shfl_bw"}).out;
  for (const char* word : {"a power of two from 8 to 256", "row_order", "Recipes: default, shfl_bw",
                           "weft prune layer.npy --format shfl_bw --sparsity 0.9"})
    EXPECT_THAT(page, HasSubstr(word));
}

TEST(Rows, OfARecipeSayItsKnobs) {
  const auto page = nlohmann::json::parse(call_weft({"recipes", "shfl_bw", "--json"}).out);
  for (const RecipeKnob& knob : recipe_named("shfl_bw")->knobs) {
    const auto found = std::ranges::find_if(
        page.at("knobs"), [&](const nlohmann::json& entry) { return entry.at("name") == knob.name; });
    ASSERT_NE(found, page.at("knobs").end()) << knob.name;
    if (knob.words.empty()) {
      EXPECT_EQ(found->at("most"), knob.most);
    }
  }
}

/// Its example, run as it stands.
TEST(Rows, OfARecipeHaveAnExampleThatIsRight) {
  for (const Recipe& row : weft::recipes()) {
    const std::string page = call_weft({"recipes", std::string(row.name)}).out;
    const std::size_t begin = page.find("Example: weft ");
    ASSERT_NE(begin, std::string::npos) << row.name;
    std::istringstream line(page.substr(begin + std::string("Example: weft ").size()));
    std::vector<std::string> words;
    for (std::string word; line >> word;) words.push_back(word);
    const VerbAnswer answer = call_weft(words);
    EXPECT_EQ(answer.code, 0) << page << answer.errors;
  }
}

}  // namespace
}  // namespace weft
