#include "support/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace weft::test {

void expect_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(WEFT_TESTS_DIR) / "golden" / name;
  if (std::getenv("WEFT_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path << " is missing; WEFT_UPDATE_GOLDEN=1 makes it";
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, expected) << "golden " << name;
}

}  // namespace weft::test
