// Loops, factors, knobs and names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/dsl/names.h>

namespace weft {
namespace {

using testing::HasSubstr;

WEFT_INDEX(n);

std::string text(const LoopName& loop) {
  return loop.text();
}

TEST(LoopTest, PiecesAreNamed) {
  EXPECT_EQ(text(n), "n");
  EXPECT_EQ(text(n.outer), "n.outer");
  EXPECT_EQ(text(n.inner), "n.inner");
  EXPECT_EQ(text(n.outer.inner), "n.outer.inner");
  EXPECT_EQ(text(n.inner.outer), "n.inner.outer");
  EXPECT_EQ(text(n.inner.inner.outer), "n.inner.inner.outer");
  EXPECT_EQ(text(n.outer.outer.outer), "n.outer.outer.outer");
  EXPECT_EQ(text("n.inner.inner.inner.outer"), "n.inner.inner.inner.outer");
}

TEST(LoopTest, FactorsTakeNumbers) {
  const LoopFactor expected{LoopName("n.inner"), std::int64_t{32}};
  EXPECT_EQ((n.inner = 32), expected);
  EXPECT_EQ((LoopName("n.inner") = 32), expected);
  EXPECT_EQ((n = 64U), (LoopFactor{LoopName("n"), std::int64_t{64}}));
  EXPECT_EQ((n.outer.inner = std::int64_t{8}), (LoopFactor{LoopName("n.outer.inner"), std::int64_t{8}}));
}

TEST(LoopTest, FactorsTakeKnobs) {
  const KnobChoice choice{"tile_n", {32, 64}};
  EXPECT_EQ((n = knob("tile_n", {32, 64})), (LoopFactor{LoopName("n"), choice}));
  EXPECT_EQ((n.outer = choice), (LoopFactor{LoopName("n.outer"), choice}));
  EXPECT_EQ((LoopName("n") = choice), (LoopFactor{LoopName("n"), choice}));
}

TEST(LoopTest, NamesCanStillBeAssigned) {
  LoopName loop("m");
  loop = LoopName("k");
  EXPECT_EQ(loop.text(), "k");
}

TEST(LoopTest, IndicesAreConstants) {
  constexpr Index<"row"> row;
  static_assert(row.inner.outer.path == 0b110);
  static_assert(IsIndex<Index<"row">>);
  static_assert(!std::is_same_v<Index<"row">, Index<"column">>);
  static_assert(IndexExpression<decltype(2 * row + 1)> && !IsIndex<decltype(2 * row + 1)>);
  EXPECT_EQ(text(row), "row");
}

std::string refusal(const std::string& name, const std::vector<std::int64_t>& values) {
  try {
    knob(name, values);
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(KnobTest, RefusesWhatCannotBeChosenFrom) {
  EXPECT_EQ(refusal("tile", {1, 2}), "accepted");
  EXPECT_THAT(refusal("tile", {}), HasSubstr("no values"));
  EXPECT_THAT(refusal("tile", {0}), HasSubstr("at least 1"));
  EXPECT_THAT(refusal("tile", {32, -4}), HasSubstr("found:    -4"));
  EXPECT_THAT(refusal("tile", {32, 32}), HasSubstr("32 twice"));
  EXPECT_THAT(refusal("", {32}), HasSubstr("a name is empty: knob"));
  EXPECT_THAT(refusal("tile m", {32}), HasSubstr("a name is not an identifier: knob"));
  EXPECT_THAT(refusal("tile", {}), HasSubstr("loop_test.cpp:"));
}

TEST(NamesTest, Identifiers) {
  for (const char* name : {"A", "weights", "layer_1", "x0", "forward", "integer"})
    EXPECT_TRUE(is_identifier(name)) << name;
  for (const char* name :
       {"", "1x", "_x", "a__b", "a b", "a-b", "a.b", "ä", "for", "float", "alignas", "xor_eq", "A\n"}) {
    EXPECT_FALSE(is_identifier(name)) << name;
  }
  EXPECT_FALSE(is_identifier(std::string_view("a\0b", 3)));
}

/// A bound on index arithmetic, so that what is made of it stays in 64 bits. A number that is beyond it stays
/// beyond.
TEST(IndexTest, LargeNumbersStayTooLarge) {
  constexpr std::int64_t limit = std::int64_t{1} << 48;
  static_assert(detail::largest_index_number == limit);
  EXPECT_EQ((limit * n).affine().terms[0].second, limit);
  EXPECT_EQ((limit * n - limit * n + n).affine().text(), "n");
  EXPECT_GT((2 * (limit * n)).affine().terms[0].second, limit);
  EXPECT_GT((2 * (limit * n) - 2 * (limit * n)).affine().terms[0].second, limit);
  EXPECT_GT((n + INT64_MAX).affine().constant, limit);
  EXPECT_GT((n - INT64_MIN).affine().constant, limit);
  EXPECT_GT((n + INT64_MIN).affine().constant, limit);
  EXPECT_GT((INT64_MAX * n).affine().terms[0].second, limit);
  EXPECT_GT((INT64_MIN * (n + 1)).affine().constant, limit);
}

}  // namespace
}  // namespace weft
