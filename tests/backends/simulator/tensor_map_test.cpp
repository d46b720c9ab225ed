// Tensor maps against addresses computed one element at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/simulator/execute/tensor_map.h>
#include <weft/dsl/errors.h>

#include <cstring>
#include <map>
#include <vector>

namespace weft::simulator {
namespace {

using Type = TensorMap::Type;
using Swizzle = TensorMap::Swizzle;
using Fill = TensorMap::Fill;

constexpr std::uint64_t tensor_address = 0x1000'0000'0000;
constexpr std::uint64_t outside = ~std::uint64_t{0};

/// Shared byte to global byte, or `outside`.
std::map<std::uint64_t, std::uint64_t> bytes_of_box(const TensorMap& map, const std::vector<std::int32_t>& at,
                                                    std::uint64_t shared,
                                                    const std::vector<std::uint16_t>& offsets = {}) {
  std::map<std::uint64_t, std::uint64_t> bytes;
  for_each_box_piece(map, at.data(), offsets.data(), shared, [&](const BoxPiece& piece) {
    for (std::uint32_t i = 0; i < piece.bytes; ++i)
      EXPECT_TRUE(bytes.emplace(piece.shared + i, piece.is_inside ? piece.global + i : outside).second);
  });
  return bytes;
}

struct Tiled {
  std::vector<std::uint64_t> dimensions, strides;
  std::vector<std::uint32_t> box, steps;
  Type type = Type::f16;
  Swizzle swizzle = Swizzle::none;
  Fill fill = Fill::zeros;
  int interleave = 0;
  std::uint64_t address = tensor_address;

  TensorMapBytes encode() const {
    return encode_tensor_map(type, static_cast<int>(dimensions.size()), address, dimensions.data(),
                             strides.data(), box.data(), steps.data(), interleave, swizzle, fill);
  }
  TensorMap map() const { return decode_tensor_map(encode()).value(); }
};

/// A box of 64 x 8 of a tensor of 200 x 50 f16.
Tiled rows_of_halves() {
  return {{200, 50}, {400}, {64, 8}, {1, 1}};
}

TEST(TensorMap, KeepsWhatItWasGiven) {
  Tiled tiled{
      {7, 1ULL << 32, 5, 4, 3}, {32, 1ULL << 39, 64, 16}, {4, 256, 1, 2, 3}, {1, 2, 3, 8, 1}, Type::f64};
  tiled.swizzle = Swizzle::bytes_64;
  tiled.fill = Fill::nan;
  const TensorMap map = tiled.map();
  EXPECT_EQ(map.type, Type::f64);
  EXPECT_EQ(map.rank, 5);
  EXPECT_EQ(map.address, tensor_address);
  EXPECT_THAT(map.dimensions, testing::ElementsAre(7, 1ULL << 32, 5, 4, 3));
  EXPECT_THAT(map.strides, testing::ElementsAre(8, 32, 1ULL << 39, 64, 16));
  EXPECT_THAT(map.box, testing::ElementsAre(4, 256, 1, 2, 3));
  EXPECT_THAT(map.element_strides, testing::ElementsAre(1, 2, 3, 8, 1));
  EXPECT_EQ(map.swizzle, Swizzle::bytes_64);
  EXPECT_EQ(map.fill, Fill::nan);
  EXPECT_FALSE(map.pixels.has_value());
  EXPECT_EQ(map.box_bytes(), 4U * 128 * 1 * 1 * 3 * 8);
}

TEST(TensorMap, OtherBytesAreNoMap) {
  TensorMapBytes bytes = rows_of_halves().encode();
  bytes[0] ^= std::byte{1};
  EXPECT_FALSE(decode_tensor_map(bytes).has_value());
  EXPECT_FALSE(decode_tensor_map(TensorMapBytes{}).has_value());
}

TEST(TensorMap, BoxesAreDense) {
  const auto bytes = bytes_of_box(rows_of_halves().map(), {10, 3}, 0x400);
  ASSERT_EQ(bytes.size(), 64U * 8 * 2);
  for (std::uint64_t row = 0; row < 8; ++row)
    for (std::uint64_t byte = 0; byte < 128; ++byte)
      EXPECT_EQ(bytes.at(0x400 + row * 128 + byte), tensor_address + (3 + row) * 400 + 20 + byte);
}

TEST(TensorMap, ElementsOutsideAreFilled) {
  for (const auto& [x, y] : {std::pair{-5, -2}, {190, 45}, {500, 10}, {0, -100}}) {
    const auto bytes = bytes_of_box(rows_of_halves().map(), {x, y}, 0);
    for (int row = 0; row < 8; ++row)
      for (int column = 0; column < 64; ++column) {
        const bool is_inside = x + column >= 0 && x + column < 200 && y + row >= 0 && y + row < 50;
        const std::uint64_t expected =
            tensor_address + static_cast<std::uint64_t>((y + row) * 400 + (x + column) * 2);
        EXPECT_EQ(bytes.at(static_cast<std::uint64_t>(row * 128 + column * 2)),
                  is_inside ? expected : outside);
      }
  }
}

TEST(TensorMap, Swizzles) {
  // As the layouts of wgmma: chunk c of line r of 8 lines stands at c ^ r, c ^ r / 2, c ^ r / 4.
  for (const auto& [swizzle, width] :
       {std::pair{Swizzle::bytes_32, 32U}, {Swizzle::bytes_64, 64U}, {Swizzle::bytes_128, 128U}}) {
    Tiled tiled{{200, 50}, {400}, {width / 2, 16}, {1, 1}};
    tiled.swizzle = swizzle;
    const auto bytes = bytes_of_box(tiled.map(), {8, 0}, 0x800);
    ASSERT_EQ(bytes.size(), width * 16);
    for (std::uint64_t row = 0; row < 16; ++row)
      for (std::uint64_t chunk = 0; chunk < width / 16; ++chunk) {
        const std::uint64_t moved = chunk ^ (row % 8 * width / 128);
        EXPECT_EQ(bytes.at(0x800 + row * width + moved * 16), tensor_address + row * 400 + 16 + chunk * 16);
      }
  }
}

TEST(TensorMap, SwizzlesFollowTheAddressInSharedMemory) {
  Tiled tiled{{64, 50}, {128}, {64, 1}, {1, 1}};
  tiled.swizzle = Swizzle::bytes_128;
  const auto bytes = bytes_of_box(tiled.map(), {0, 0}, 0x400 + 3 * 128);
  EXPECT_EQ(bytes.at(0x400 + 3 * 128 + 3 * 16), tensor_address);
}

TEST(TensorMap, ElementStridesLeaveOut) {
  Tiled tiled{{32, 20, 9}, {64, 1280}, {16, 6, 5}, {1, 4, 3}};
  const TensorMap map = tiled.map();
  EXPECT_EQ(map.box_bytes(), 16U * 2 * 2 * 2);
  const auto bytes = bytes_of_box(map, {0, 1, 2}, 0);
  EXPECT_EQ(bytes.at(0), tensor_address + 64 + 2 * 1280);
  EXPECT_EQ(bytes.at(32), tensor_address + 5 * 64 + 2 * 1280);
  EXPECT_EQ(bytes.at(96), tensor_address + 5 * 64 + 5 * 1280);
}

TEST(TensorMap, PixelsOfAConvolution) {
  // Channels, width 5, height 4, 2 images; a 3 x 3 filter of padding 1, so its first tap begins at -1.
  const std::vector<std::uint64_t> dimensions{8, 5, 4, 2}, strides{16, 80, 320};
  const int lower[] = {-1, -1}, upper[] = {-1, -1};
  const std::uint32_t steps[] = {1, 1, 1, 1};
  const TensorMap map = decode_tensor_map(encode_tensor_map_of_pixels(
                                              Type::f16, 4, tensor_address, dimensions.data(), strides.data(),
                                              lower, upper, 8, 24, steps, 0, Swizzle::none, Fill::zeros))
                            .value();
  EXPECT_EQ(map.box_bytes(), 24U * 16);
  for (std::uint16_t tap_y = 0; tap_y < 3; ++tap_y)
    for (std::uint16_t tap_x = 0; tap_x < 3; ++tap_x) {
      const auto bytes = bytes_of_box(map, {0, -1, -1, 0}, 0, {tap_x, tap_y});
      for (int pixel = 0; pixel < 24; ++pixel) {  // 5 x 4 outputs, then the next image
        const int x = pixel % 5 - 1 + tap_x, y = pixel / 5 % 4 - 1 + tap_y, image = pixel / 20;
        const bool is_inside = x >= 0 && x < 5 && y >= 0 && y < 4;
        EXPECT_EQ(
            bytes.at(static_cast<std::uint64_t>(pixel * 16)),
            is_inside ? tensor_address + static_cast<std::uint64_t>(x * 16 + y * 80 + image * 320) : outside)
            << pixel;
      }
    }
}

TEST(TensorMap, FillsByType) {
  Tiled tiled = rows_of_halves();
  std::uint16_t value = 1;
  fill_outside(tiled.map(), reinterpret_cast<std::byte*>(&value), sizeof value);
  EXPECT_EQ(value, 0);
  tiled.fill = Fill::nan;
  fill_outside(tiled.map(), reinterpret_cast<std::byte*>(&value), sizeof value);
  EXPECT_GT(value & 0x7FFF, 0x7C00);
}

TEST(TensorMap, RefusesWhatTheDriverRefuses) {
  const auto expect_refused = [](auto change) {
    Tiled tiled = rows_of_halves();
    change(tiled);
    EXPECT_THROW(tiled.encode(), UserError);
  };
  expect_refused([](Tiled& tiled) { tiled.address += 8; });
  expect_refused([](Tiled& tiled) { tiled.strides[0] = 408; });
  expect_refused([](Tiled& tiled) { tiled.strides[0] = std::uint64_t{1} << 40; });
  expect_refused([](Tiled& tiled) { tiled.dimensions[1] = 0; });
  expect_refused([](Tiled& tiled) { tiled.box[1] = 257; });
  expect_refused([](Tiled& tiled) { tiled.box[1] = 0; });
  expect_refused([](Tiled& tiled) { tiled.box[0] = 12; });
  expect_refused([](Tiled& tiled) { tiled.steps[1] = 9; });
  expect_refused([](Tiled& tiled) { tiled.swizzle = Swizzle::bytes_64; });
  expect_refused([](Tiled& tiled) { tiled.interleave = 1; });
  expect_refused([](Tiled& tiled) {
    tiled.type = Type::s32;
    tiled.fill = Fill::nan;
  });
  expect_refused([](Tiled& tiled) { tiled.dimensions.clear(); });
}

}  // namespace
}  // namespace weft::simulator
