#include <formats/io/expect_refused.h>
#include <formats/io/make_files.h>
#include <gmock/gmock.h>
#include <weft/formats/io/mtx.h>

namespace weft {
namespace {

using testing::bytes_of;
using ::testing::ElementsAre;
using testing::expect_refused;

WeightMatrix parse(const std::string& after_banner) {
  const std::string text = "%%MatrixMarket matrix " + after_banner;
  return io::parse_mtx(bytes_of(text), "a.mtx");
}

/// Row by row, zeros filled in.
std::vector<double> dense(const std::string& after_banner) {
  const WeightMatrix matrix = parse(after_banner);
  matrix.check();
  const Array array = to_dense(matrix);
  std::vector<double> values;
  for (std::int64_t i = 0; i < array.size(); ++i) values.push_back(array.get(i));
  return values;
}

TEST(Mtx, CoordinateGeneral) {
  EXPECT_THAT(dense("coordinate real general\n% note\n\n 2 3 3\n2 3 -2e3\n1 1 +1.5\n\n% more\n2 1 .5\n"),
              ElementsAre(1.5, 0, 0, 0.5, 0, -2000));
  EXPECT_EQ(parse("coordinate real general\n1 1 1\n1 1 2\n").values.dtype(), DType::f64);
}

TEST(Mtx, BannerInAnyCase) {
  const std::string text = "%%matrixmarket MATRIX Coordinate REAL General\r\n1 2 1\r\n1 2 7\r\n";
  EXPECT_THAT(io::parse_mtx(bytes_of(text), "a").values.as<double>(), ElementsAre(7));
}

TEST(Mtx, KeepsExplicitZeros) {
  EXPECT_EQ(parse("coordinate real general\n2 2 2\n1 1 0\n2 2 -0\n").stored(), 2);
}

TEST(Mtx, IntegersAndPatterns) {
  const WeightMatrix integers = parse("coordinate integer general\n1 2 2\n1 1 9007199254740993\n1 2 -4\n");
  EXPECT_THAT(integers.values.as<std::int64_t>(), ElementsAre(9007199254740993, -4));
  EXPECT_FALSE(integers.pattern_only);
  const WeightMatrix wide = parse("coordinate unsigned-integer general\n1 1 1\n1 1 18446744073709551615\n");
  EXPECT_THAT(wide.values.as<std::uint64_t>(), ElementsAre(UINT64_MAX));
  const WeightMatrix pattern = parse("coordinate pattern general\n2 2 2\n2 1\n1 2\n");
  EXPECT_TRUE(pattern.pattern_only);
  EXPECT_THAT(pattern.column, ElementsAre(1, 0));
}

TEST(Mtx, SymmetriesAreExpanded) {
  EXPECT_THAT(dense("coordinate real symmetric\n2 2 2\n1 1 3\n2 1 4\n"), ElementsAre(3, 4, 4, 0));
  EXPECT_THAT(dense("coordinate integer symmetric\n2 2 2\n2 2 3\n2 1 4\n"), ElementsAre(0, 4, 4, 3));
  EXPECT_THAT(dense("coordinate pattern symmetric\n2 2 1\n2 1\n"), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(dense("coordinate real skew-symmetric\n2 2 1\n2 1 4\n"), ElementsAre(0, -4, 4, 0));
  EXPECT_THAT(dense("coordinate integer skew-symmetric\n2 2 1\n2 1 4\n"), ElementsAre(0, -4, 4, 0));
  EXPECT_THAT(dense("coordinate real hermitian\n2 2 2\n1 1 3\n2 1 4\n"), ElementsAre(3, 4, 4, 0));
}

TEST(Mtx, ArraysAreColumnMajor) {
  EXPECT_THAT(dense("array real general\n2 3\n1\n2\n0\n4\n5\n6\n"), ElementsAre(1, 0, 5, 2, 4, 6));
  EXPECT_EQ(parse("array real general\n2 3\n1\n2\n0\n4\n5\n6\n").stored(), 5);
  EXPECT_THAT(dense("array integer general\n2 2\n1 2\n% note\n3 4\n"), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(dense("array real symmetric\n2 2\n1\n2\n3\n"), ElementsAre(1, 2, 2, 3));
  EXPECT_THAT(dense("array real skew-symmetric\n3 3\n1\n2\n3\n"), ElementsAre(0, -1, -2, 1, 0, -3, 2, 3, 0));
}

TEST(Mtx, RefusesOtherHeaders) {
  expect_refused([] { io::parse_mtx(bytes_of("1 1 1\n"), "a.mtx"); }, {"a.mtx", "line 1", "%%MatrixMarket"});
  expect_refused([] { parse("coordinate complex general\n1 1 0\n"); },
                 {"line 1", "\"complex\"", "real, integer"});
  expect_refused([] { parse("coordinate complex hermitian\n1 1 0\n"); }, {"line 1", "\"complex\""});
  expect_refused([] { parse("array pattern general\n1 1\n"); }, {"line 1", "\"pattern\"", "real or integer"});
  expect_refused([] { parse("coordinate pattern skew-symmetric\n1 1 0\n"); }, {"line 1", "skew-symmetric"});
  expect_refused([] { parse("coordinate real diagonal\n1 1 0\n"); }, {"line 1", "\"diagonal\""});
  expect_refused([] { parse("tensor real general\n1 1 0\n"); },
                 {"line 1", "\"tensor\"", "coordinate or array"});
  expect_refused([] { parse("coordinate real symmetric\n2 3 0\n"); }, {"line 2", "a square matrix"});
  expect_refused([] { parse("coordinate real general\n0 3 0\n"); }, {"line 2", "at least one row"});
}

TEST(Mtx, RefusesEntriesWithTheirLine) {
  const std::string head = "coordinate real general\n2 3 2\n";
  expect_refused([&] { parse(head + "1 1 1\n"); }, {"line 4", "the end of the file after 1 entries"});
  expect_refused([&] { parse(head + "1 1 1\n3 1 1\n"); }, {"line 4, byte", "row 3", "1 to 2"});
  expect_refused([&] { parse(head + "1 1 1\n1 0 1\n"); },
                 {"line 4", "column 0, so that this file seems to count from 0", "1 to 3, as .mtx counts"});
  expect_refused([&] { parse(head + "0 1 1\n"); }, {"line 3", "row 0", "1 to 2", "larger by 1"});
  expect_refused([&] { parse(head + "1 0 1\n2 1 1\n"); },
                 {"line 3", "found:    column 0\n", "accepted: 1 to 3"});
  expect_refused([&] { parse(head + "1 3 1\n0 1 1\n"); },
                 {"line 4", "found:    row 0\n", "accepted: 1 to 2"});
  expect_refused([] { io::parse_mtx(bytes_of("1 2 3\n"), "a.mtx"); },
                 {"a text that begins with \"1 2 3\"", "%%MatrixMarket, with"});
  expect_refused([&] { parse(head + "1 1 1\n1 1 2\n"); }, {"line 4", "which line 3 has already given"});
  expect_refused([&] { parse(head + "1 1 1\n1 2\n"); }, {"line 4", "a value"});
  expect_refused([&] { parse(head + "1 1 1\n1 2 nan\n"); }, {"line 4", "\"nan\"", "a finite number"});
  expect_refused([&] { parse(head + "1 1 1\n1 2 -inf\n"); }, {"line 4", "\"-inf\"", "a finite number"});
  expect_refused([&] { parse(head + "1 1 1\n1 2 1e999\n"); }, {"line 4", "\"1e999\"", "range"});
  expect_refused([&] { parse(head + "1 1 1\n1 2 1x\n"); }, {"line 4", "\"1x\"", "a number"});
  expect_refused([&] { parse(head + "1 1 1\n1 2 1 1\n"); }, {"line 4", "after an entry"});
  expect_refused([&] { parse(head + "1 1 1\n1 2 1\n2 2 1\n"); }, {"line 5", "after the last entry"});
  expect_refused([] { parse("coordinate real skew-symmetric\n2 2 1\n1 1 1\n"); }, {"line 3", "diagonal"});
  expect_refused([] { parse("coordinate real symmetric\n2 2 2\n2 1 1\n1 2 1\n"); },
                 {"line 4", "row 1, column 2, which line 3", "symmetry", "general in place"});
  expect_refused([] { parse("array real general\n2 2\n1\n2\n3\n"); }, {"end of the file", "row 2, column 2"});
  expect_refused([] { parse("array real general\n1 2\n1\n2\n3\n"); }, {"line 5", "after the last entry"});
  expect_refused([] { parse("coordinate unsigned-integer general\n1 1 1\n1 1 -1\n"); }, {"line 3", "\"-1\""});
}

TEST(Mtx, SetsNothingAsideThatTheFileDoesNotWarrant) {
  expect_refused([] { parse("coordinate real general\n9 9 90000000000\n"); },
                 {"line 2", "90000000000 entries"});
  expect_refused([] { parse("coordinate real general\n90000000000 9 0\n"); }, {"line 2", "90000000000 rows"});
  expect_refused([] { parse("array real general\n1000000 1000000\n1\n"); }, {"one value for each element"});
}

}  // namespace
}  // namespace weft
