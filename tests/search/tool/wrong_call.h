// Calls that end with exit code 2 and a sentence, made in a folder with files to name.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/formats/io/npy.h>
#include <weft/formats/synthetic.h>

#include <filesystem>

#include "call_weft.h"

namespace weft {

struct WrongCall {
  const char* line;
  const char* says;
};

/// A folder that is the current one while the tests of a fixture run; w.npy is a weight of 32 x 48.
class WrongCallTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    char pattern[] = "/tmp/weft_calls_XXXXXX";
    folder() = mkdtemp(pattern);
    std::filesystem::current_path(folder());
    write_npy("w.npy", to_dense(synthetic_layer({.rows = 32, .columns = 48, .sparsity = 0.8})));
  }
  static void TearDownTestSuite() {
    std::filesystem::current_path("/");
    std::filesystem::remove_all(folder());
  }
  static std::filesystem::path& folder() {
    static std::filesystem::path path;
    return path;
  }

  /// Exit code 2, and the phrase among what is said, which is in the words of the command.
  static void expect_usage(const WrongCall& wrong) {
    using ::testing::HasSubstr;
    using ::testing::Not;
    const VerbAnswer answer = call_weft(words_of(wrong.line));
    EXPECT_EQ(answer.code, 2) << wrong.line << "\n" << answer.errors;
    EXPECT_THAT(answer.errors, HasSubstr(wrong.says)) << wrong.line;
    for (const char* foreign : {"internal error", "std::", "json.exception", "Options::"})
      EXPECT_THAT(answer.errors, Not(HasSubstr(foreign))) << wrong.line;
    EXPECT_EQ(answer.out, "") << wrong.line;
  }
};

}  // namespace weft
