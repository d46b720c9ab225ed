// weft called with words, as from a shell.
#pragma once

#include <gtest/gtest.h>
#include <weft/search/tool/command_line.h>

#include <string>
#include <utility>
#include <vector>

namespace weft {

struct VerbAnswer {
  int code;
  std::string out;
  std::string errors;
};

/// `words` follow the name of the program.
inline VerbAnswer call_weft(std::vector<std::string> words) {
  words.insert(words.begin(), "weft");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int code = command_line(static_cast<int>(arguments.size()), arguments.data());
  std::string out = ::testing::internal::GetCapturedStdout();
  return {code, std::move(out), ::testing::internal::GetCapturedStderr()};
}

/// The words of a command line, separated by single blanks; "''" is an empty word.
inline std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : line + " ") {
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(word == "''" ? "" : word);
      word.clear();
    }
  }
  return words;
}

}  // namespace weft
