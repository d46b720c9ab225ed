// The pages of the project as text.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace weft::test {

inline std::filesystem::path project() {
  return std::filesystem::path(WEFT_TESTS_DIR).parent_path();
}

/// Of a file of the project.
inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(project() / file);
  EXPECT_TRUE(in.good()) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// README.md and what stands in docs, the measurements left out.
inline std::vector<std::filesystem::path> pages() {
  std::vector<std::filesystem::path> found{"README.md"};
  for (const auto& entry : std::filesystem::directory_iterator(project() / "docs")) {
    if (entry.path().extension() == ".md")
      found.push_back(std::filesystem::relative(entry.path(), project()));
  }
  return found;
}

/// The lines of a page that stand between ``` and ```.
inline std::vector<std::string> code_of(const std::string& page, const std::string& language) {
  std::vector<std::string> code;
  bool inside = false;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("```")) {
      inside = !inside && line == "```" + language;
      continue;
    }
    if (inside) code.push_back(line);
  }
  return code;
}

}  // namespace weft::test
