// What torch.nn.utils.prune leaves: a weight before pruning, and a mask.
#include <formats/io/expect_refused.h>
#include <formats/io/make_files.h>
#include <gmock/gmock.h>
#include <weft/formats/io/safetensors.h>

#include <limits>

namespace weft {
namespace {

using testing::bytes_of;
using testing::elements;
using ::testing::ElementsAre;
using testing::expect_refused;
using testing::FileTensor;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

WeightMatrix read_tensors(const std::vector<FileTensor>& tensors, const std::string& name = {},
                          std::optional<DType> as = {}) {
  const std::string file = testing::safetensors(tensors);
  WeightMatrix matrix = io::weights_among(io::parse_safetensors_header(bytes_of(file), "a.safetensors"),
                                          "a.safetensors", {.tensor = name, .reinterpret_as = as});
  matrix.check();
  return matrix;
}

FileTensor original(const std::vector<float>& values, std::vector<std::int64_t> shape = {2, 3}) {
  return {"fc.weight_orig", "F32", std::move(shape), elements(values)};
}
FileTensor mask(const std::vector<float>& values, std::vector<std::int64_t> shape = {2, 3}) {
  return {"fc.weight_mask", "F32", std::move(shape), elements(values)};
}

TEST(MaskedWeight, IsTheProduct) {
  // What a mask of 0 takes away may be anything; a zero that it keeps is none of the weights of a dense file.
  const WeightMatrix matrix = read_tensors({original({1, nan, -0.0F, 0, 5, 6}), mask({1, 0, 1, 1, 0, 1})});
  EXPECT_THAT(matrix.shape, ElementsAre(2, 3));
  EXPECT_THAT(matrix.row_begin, ElementsAre(0, 1, 2));
  EXPECT_THAT(matrix.column, ElementsAre(0, 2));
  EXPECT_THAT(matrix.values.as<float>(), ElementsAre(1, 6));
  EXPECT_EQ(matrix.origin, "a.safetensors:fc.weight");
}

TEST(MaskedWeight, MasksOfEveryType) {
  const std::vector<std::pair<std::string, std::string>> masks{
      {"BOOL", elements<std::uint8_t>({1, 0, 0, 0, 0, 1})},
      {"U8", elements<std::uint8_t>({1, 0, 0, 0, 0, 1})},
      {"I64", elements<std::int64_t>({1, 0, 0, 0, 0, 1})},
      {"F16", elements<std::uint16_t>({0x3C00, 0, 0x8000, 0, 0, 0x3C00})},
      {"BF16", elements<std::uint16_t>({0x3F80, 0, 0x8000, 0, 0, 0x3F80})}};
  for (const auto& [dtype, content] : masks) {
    SCOPED_TRACE(dtype);
    const WeightMatrix matrix =
        read_tensors({original({1, 2, 3, 4, 5, 6}), {"fc.weight_mask", dtype, {2, 3}, content}});
    EXPECT_THAT(matrix.values.as<float>(), ElementsAre(1, 6));
  }
}

TEST(MaskedWeight, FiltersAndNamesWithoutDots) {
  const std::vector<FileTensor> tensors{
      {"kernel_orig", "I16", {2, 1, 1, 2}, elements<std::int16_t>({0x3F80, 0x4000, 0, 0x4040})},
      {"kernel_mask", "U8", {2, 1, 1, 2}, elements<std::uint8_t>({0, 1, 1, 1})},
      {"bias_orig", "F32", {2}, elements<float>({3, 4})},
      {"bias_mask", "F32", {2}, elements<float>({0, 1})}};
  const WeightMatrix filter = read_tensors(tensors, {}, DType::bf16);
  EXPECT_THAT(filter.shape, ElementsAre(2, 1, 1, 2));
  EXPECT_EQ(filter.columns, 2);
  EXPECT_EQ(filter.values.get(1), 3);
  const WeightMatrix bias = read_tensors(tensors, "bias");
  EXPECT_THAT(bias.column, ElementsAre(1));
  EXPECT_EQ(bias.rows, 1);
}

TEST(MaskedWeight, IsNotMadeUpWhereTheWeightIsThere) {
  const std::vector<FileTensor> tensors{original({1, 2, 3, 4, 5, 6}),
                                        mask({0, 0, 0, 0, 0, 1}),
                                        {"fc.weight", "F32", {1, 2}, elements<float>({7, 8})}};
  EXPECT_THAT(read_tensors(tensors, "fc.weight").values.as<float>(), ElementsAre(7, 8));
  EXPECT_EQ(read_tensors(tensors, "fc.weight_orig").stored(), 6);
}

/// Read as it is, it would be the weight before it was pruned.
TEST(MaskedWeight, WithoutItsMaskIsRefused) {
  for (const char* name : {"", "fc.weight"})
    expect_refused([&] { read_tensors({original({1, 2, 3, 4, 5, 6})}, name); },
                   {"tensor \"fc.weight_orig\"", "no mask beside it", "fc.weight_mask in the same file"});
}

TEST(MaskedWeight, RefusesWhatIsNoMask) {
  const FileTensor weight = original({1, 2, nan, 4, 5, 6});
  expect_refused([&] { read_tensors({weight, mask({1, 0, 0, 0, 0.5F, 1})}); },
                 {"tensor \"fc.weight_mask\", element [1, 1], byte", "0.5 in a mask", "0 or 1"});
  expect_refused([&] { read_tensors({weight, mask({1, 0, 0, nan, 0, 1})}); }, {"element [1, 0]", "nan"});
  expect_refused([&] { read_tensors({weight, {"fc.weight_mask", "BOOL", {2, 3}, "\1\1\1\1\1\2"}}); },
                 {"tensor \"fc.weight_mask\", element [1, 2]", "a boolean of 2"});
  expect_refused([&] { read_tensors({weight, mask({1, 1, 1, 1, 1, 1}, {3, 2})}); },
                 {"tensor \"fc.weight_mask\"", "F32 [3, 2]", "F32 [2, 3]"});
  expect_refused([&] { read_tensors({weight, {"fc.weight_mask", "F8_E8M0", {2, 3}, "123456"}}); },
                 {"tensor \"fc.weight_mask\"", "F8_E8M0"});
  expect_refused([&] { read_tensors({original({}, {0, 3}), mask({}, {0, 3})}); },
                 {"tensor \"fc.weight_orig\"", "[0, 3]", "at least one row"});
}

TEST(MaskedWeight, RefusesNaNThatIsKept) {
  expect_refused([&] { read_tensors({original({1, 2, nan, 4, 5, 6}), mask({1, 1, 1, 1, 1, 1})}); },
                 {"tensor \"fc.weight_orig\", element [0, 2], byte", "NaN", "finite"});
}

}  // namespace
}  // namespace weft
