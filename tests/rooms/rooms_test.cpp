// Who includes whom, by folder: one way through the rooms, and through the folders of each. And how comments
// begin.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace weft {
namespace {

namespace fs = std::filesystem;

/// Folders below the rooms, each of which may include those in front of it. A folder that is not named stands
/// with the one that it is in.
const std::vector<std::string> order{
    "dsl",
    "formats",
    "formats/levels",
    "formats/named",
    "formats/prune",
    "formats/statistics",
    "formats/io",
    "scheduler/ir",
    "scheduler/hardware",
    "scheduler/program",
    "scheduler/program/levels",
    "scheduler/passes",
    "scheduler/steps/parts",
    "scheduler/steps",
    "scheduler/limits",
    "scheduler/recipes/parts",
    "scheduler/recipes/rows",
    "scheduler/recipes/cpu",
    "scheduler/recipes/unstructured",
    "scheduler/recipes/grouped",
    "scheduler/recipes/blocks",
    "scheduler/recipes",
    "backends/runtime",
    "backends/runtime/libraries",
    "backends/llvm",
    "backends/cuda",
    "backends/simulator/ptx",
    "backends/simulator/machine",
    "backends/simulator/execute",
    "backends/simulator/timing",
    "backends/simulator",
    "backends",
    "backends/export",
    "search/records",
    "search/spaces",
    "search/model",
    "search/choice",
    "search/measure",
    "search/trials",
    "search/network",
    "search/report",
    "search",
    "search/tool",
};

bool is_source(const fs::path& path) {
  return path.extension() == ".h" || path.extension() == ".cpp";
}

/// The folder of the order that a file is in; its own where none is.
std::string folder_of(const std::string& file) {
  for (fs::path folder = fs::path(file).parent_path(); !folder.empty(); folder = folder.parent_path()) {
    if (std::ranges::find(order, folder.string()) != order.end()) return folder.string();
  }
  return fs::path(file).parent_path().string();
}

/// The sources of the rooms, from the root of the project.
std::vector<std::string> sources() {
  std::vector<std::string> files;
  for (const char* room : {"dsl", "formats", "scheduler", "backends", "search"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(WEFT_TESTS_DIR).parent_path() / room)) {
      if (is_source(entry.path()))
        files.push_back(fs::relative(entry.path(), fs::path(WEFT_TESTS_DIR).parent_path()).string());
    }
  }
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> includes_of(const std::string& file) {
  static const std::regex include("^\\s*#include <weft/([^>]+)>");
  std::vector<std::string> found;
  std::ifstream in(fs::path(WEFT_TESTS_DIR).parent_path() / file);
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (std::regex_search(line, match, include)) found.push_back(match[1]);
  }
  return found;
}

/// Where the comment of a line begins, one inside a string left out; npos where there is none.
std::size_t begin_of_comment(const std::string& line) {
  bool in_string = false;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    if (in_string && line[i] == '\\') {
      ++i;
    } else if (line[i] == '"' && (i == 0 || line[i - 1] != '\'')) {
      in_string = !in_string;
    } else if (!in_string && line[i] == '/' && line[i + 1] == '/') {
      return i;
    }
  }
  return std::string::npos;
}

TEST(Rooms, EveryFolderHasItsPlaceInTheOrder) {
  std::set<std::string> without;
  for (const std::string& file : sources()) {
    if (std::ranges::find(order, folder_of(file)) == order.end()) without.insert(folder_of(file));
  }
  EXPECT_THAT(without, testing::IsEmpty());
}

TEST(Rooms, NoFileIncludesWhatStandsBehindIt) {
  std::vector<std::string> against;
  std::size_t looked_at = 0;
  for (const std::string& file : sources()) {
    const auto own = std::ranges::find(order, folder_of(file));
    for (const std::string& include : includes_of(file)) {
      const auto other = std::ranges::find(order, folder_of(include));
      ++looked_at;
      if (other != order.end() && other > own) against.push_back(file + " includes " + include);
    }
  }
  EXPECT_GT(looked_at, 2000U);
  EXPECT_THAT(against, testing::IsEmpty());
}

/// A line of comment alone may go on with the sentence of the one before.
TEST(Rooms, CommentsHaveASubject) {
  std::vector<std::string> found;
  for (const std::string& file : sources()) {
    std::ifstream in(fs::path(WEFT_TESTS_DIR).parent_path() / file);
    bool goes_on = false;
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      const std::size_t begin = begin_of_comment(line);
      const bool is_comment = begin == line.find_first_not_of(' ') && begin != std::string::npos;
      if (begin != std::string::npos && !(is_comment && goes_on) &&
          line.substr(std::min(line.find_first_not_of("/!< ", begin), line.size())).starts_with("of "))
        found.push_back(file + ":" + std::to_string(number) + ": " + line.substr(begin));
      goes_on = begin != std::string::npos;
    }
  }
  EXPECT_THAT(found, testing::IsEmpty());
}

TEST(Rooms, TheSchedulerHasNoFilesOfItsOwn) {
  for (const auto& entry : fs::directory_iterator(fs::path(WEFT_TESTS_DIR).parent_path() / "scheduler"))
    EXPECT_FALSE(is_source(entry.path())) << entry.path();
}

}  // namespace
}  // namespace weft
