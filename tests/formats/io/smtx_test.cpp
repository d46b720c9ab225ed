#include <formats/io/expect_refused.h>
#include <formats/io/make_files.h>
#include <gmock/gmock.h>
#include <weft/formats/io/smtx.h>

namespace weft {
namespace {

using testing::bytes_of;
using ::testing::ElementsAre;
using testing::expect_refused;

WeightMatrix parse(const std::string& text) {
  return io::parse_smtx(bytes_of(text), "a.smtx");
}

TEST(Smtx, ReadsThreeLines) {
  const WeightMatrix matrix = parse("2, 4, 3\n0 2 3 \n0 3 1 \n");
  EXPECT_THAT(matrix.shape, ElementsAre(2, 4));
  EXPECT_THAT(matrix.row_begin, ElementsAre(0, 2, 3));
  EXPECT_THAT(matrix.column, ElementsAre(0, 3, 1));
  EXPECT_TRUE(matrix.pattern_only);
  EXPECT_THAT(matrix.values.as<float>(), ElementsAre(1, 1, 1));
  matrix.check();
}

TEST(Smtx, TakesEveryUsualSpelling) {
  EXPECT_EQ(parse("2,4,3\r\n0 2 3\r\n0 3 1\r\n").stored(), 3);
  EXPECT_EQ(parse("2, 4, 3\n0 2 3\n0 3 1").stored(), 3);
  EXPECT_EQ(parse("2, 4, 3\n0 2 3\n0 3 1\n\n \n").stored(), 3);
  EXPECT_EQ(parse("2, 4, 0\n0 0 0\n").stored(), 0);
  EXPECT_EQ(parse("2, 4, 0\n0 0 0\n\n").stored(), 0);
  EXPECT_EQ(parse("2, 4, 0\n0 0 0").stored(), 0);
}

TEST(Smtx, SortsColumnsInsideARow) {
  EXPECT_THAT(parse("2, 4, 4\n0 3 4\n3 0 2 1\n").column, ElementsAre(0, 2, 3, 1));
}

TEST(Smtx, RefusesWithLineAndByte) {
  expect_refused([] { parse(""); }, {"a.smtx", "line 1, byte 0", "the end of the file"});
  expect_refused([] { parse("0, 4, 0\n0\n"); }, {"line 1", "[0, 4]", "at least one row"});
  expect_refused([] { parse("2, 4, 9\n0 2 9\n"); }, {"line 1", "9 stored entries", "0 to 2 x 4"});
  expect_refused([] { parse("2, 4, -1\n0 2 9\n"); }, {"line 1", "-1 stored entries"});
  expect_refused([] { parse("2, 4, 3, 5\n0 2 3\n0 3 1\n"); }, {"line 1", "\"5\"", "the end of the line"});
  expect_refused([] { parse("2, 4, 3\n0 2\n0 3 1\n"); },
                 {"line 2", "2 offsets", "3 offsets, for the 2 rows of line 1"});
  expect_refused(
      [] { parse("4, 2, 3\n0 2 3\n0 3 1\n"); },
      {"line 2", "3 offsets", "for the 4 rows of line 1, which may have rows and columns exchanged"});
  expect_refused([] { parse("2, 4, 3\n0 2"); }, {"line 2", "the end of the file", "offset 2 of 3"});
  expect_refused([] { parse("2, 4, 3\n0 2 3 3\n0 3 1\n"); }, {"line 2", "4 offsets"});
  expect_refused([] { parse("2, 4, 3\n1 2 3\n0 3 1\n"); }, {"line 2, byte 8", "offset 1 of row 0", "0 to 0"});
  expect_refused([] { parse("3, 4, 3\n0 2 1 3\n0 3 1\n"); }, {"line 2", "offset 1 of row 2", "2 to 3"});
  expect_refused([] { parse("2, 4, 3\n0 2 2\n0 3 1\n"); }, {"line 2", "3, the number of stored entries"});
  expect_refused([] { parse("2, 4, 3\n0 2 3\n0 3\n"); }, {"line 3", "column 2 of 3"});
  expect_refused([] { parse("2, 4, 3\n0 2 3\n0 3 4\n"); },
                 {"line 3, byte 18", "column 4 in row 1", "0 to 3, as .smtx counts columns from 0"});
  expect_refused([] { parse("2, 4, 3\n0 2 3\n3 3 1\n"); }, {"line 3", "column 3 twice in row 0"});
  expect_refused([] { parse("2, 4, 3\n0 2 3\n0 3 1 2\n"); }, {"line 3", "after 3 columns"});
  expect_refused([] { parse("2, 4, 3\n0 2 3\n0 3 1\n7\n"); }, {"line 4", "\"7\"", "after the third line"});
  expect_refused([] { parse("2, 4, 3\n0 x 3\n0 3 1\n"); }, {"line 2, byte 10", "\"x\"", "an integer"});
  expect_refused([] { parse("2, 4, 99999999999999999999\n"); }, {"line 1", "an integer"});
}

TEST(Smtx, SetsNothingAsideThatTheFileDoesNotWarrant) {
  expect_refused([] { parse("900000000000, 4, 3\n0 2 3\n"); }, {"line 1", "900000000000 rows in a file of"});
  expect_refused([] { parse("4, 4000000000, 3\n0 2 3\n"); }, {"line 1", "4000000000 columns"});
  expect_refused([] { parse("1000000, 2147483647, 2000000000000000\n0 1\n"); }, {"line 2"});
}

}  // namespace
}  // namespace weft
