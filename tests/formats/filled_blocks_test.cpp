// Rows put into blocks of equal room.
#include <gtest/gtest.h>
#include <weft/formats/filled_blocks.h>

#include <algorithm>
#include <ctime>

namespace weft {
namespace {

using Needs = std::vector<std::int64_t>;

/// Every row is in one block, and none needs more than its room.
void expect_whole(const Needs& needs, std::int64_t room,
                  const std::vector<std::vector<std::int32_t>>& blocks) {
  std::vector<int> found(needs.size(), 0);
  for (const std::vector<std::int32_t>& block : blocks) {
    std::int64_t all = 0;
    for (const std::int32_t row : block) {
      all += needs[row];
      ++found[row];
    }
    ASSERT_LE(all, room);
  }
  EXPECT_EQ(std::ranges::count(found, 1), std::ssize(needs));
}

TEST(FilledBlocks, HoldEveryRowOnce) {
  for (const Needs& needs : {Needs{}, Needs{0, 0}, Needs{5}, Needs{3, 3, 3}, Needs{1, 4, 0, 5, 2, 2, 1}}) {
    const auto blocks = filled_blocks(needs, 5);
    ASSERT_FALSE(blocks.empty());
    expect_whole(needs, 5, blocks);
  }
  EXPECT_EQ(filled_blocks(Needs{1, 4, 0, 5, 2, 2, 1}, 5).size(), 3U) << "15 of 15 places";
  EXPECT_TRUE(filled_blocks(Needs{1, 6}, 5).empty());
}

// What fits by its sum needs two thirds more blocks: tried one by one, they take minutes.
TEST(FilledBlocks, HoldTensOfThousandsOfRowsOfOneLength) {
  const Needs needs(65'536, 3);
  const std::clock_t begin = std::clock();
  const auto blocks = filled_blocks(needs, 5);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 20);
  expect_whole(needs, 5, blocks);
  EXPECT_GE(blocks.size(), needs.size());
  EXPECT_LE(blocks.size(), needs.size() + needs.size() / 256);
}

}  // namespace
}  // namespace weft
