#include "errors/steps/illegal.h"

#include <gtest/gtest.h>

#include <fstream>

namespace weft::test {
namespace {

/// "bind_on_cpu.cpp:7": the line with the mark.
std::string marked_place(const std::string& file) {
  std::ifstream stream(file);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (line.find("// refused here") != std::string::npos) {
      return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(number);
    }
  }
  return "a line with the mark";
}

}  // namespace

void expect_refused(void (*body)(), const std::string& file, const std::string& phrase) {
  try {
    body();
    FAIL() << "nothing was refused";
  } catch (const UserError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(phrase), std::string::npos) << text;
    EXPECT_NE(text.find(marked_place(file)), std::string::npos)
        << "the message names another line than " << marked_place(file) << "\n"
        << text;
    EXPECT_FALSE(error.report().found.empty()) << text;
    EXPECT_FALSE(error.report().accepted.empty()) << text;
    EXPECT_NE(text.find("program "), std::string::npos) << "the program is not shown\n" << text;
  }
}

}  // namespace weft::test
