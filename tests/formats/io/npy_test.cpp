#include <formats/io/expect_refused.h>
#include <formats/io/make_files.h>
#include <gmock/gmock.h>
#include <weft/formats/io/npy.h>

#include <limits>

namespace weft {
namespace {

using testing::bytes_of;
using testing::elements;
using ::testing::ElementsAre;
using testing::expect_refused;
using testing::npy;
using testing::npy_with_header;

Array parse(const std::string& file, std::optional<DType> as = {}) {
  return io::parse_npy(bytes_of(file), "a.npy", {.reinterpret_as = as});
}
WeightMatrix weights(const std::string& file, std::optional<DType> as = {}) {
  return io::parse_npy_weights(bytes_of(file), "a.npy", {.reinterpret_as = as});
}

TEST(Npy, TheReferenceBytes) {
  std::string file = "\x93NUMPY";
  file += testing::number(1, 1) + testing::number(0, 1) + testing::number(0x76, 2);
  file += "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }";
  file.append(127 - file.size(), ' ');
  file += '\n';
  file += std::string("\x00\x00\x00\x3C\x00\x40\x00\x42\x00\x44\x00\x45", 12);
  const Array array = parse(file);
  EXPECT_EQ(array.dtype(), DType::f16);
  EXPECT_THAT(array.shape(), ElementsAre(2, 3));
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(array.get(i), static_cast<double>(i));
  EXPECT_EQ(weights(file).stored(), 5);
}

TEST(Npy, EveryVersion) {
  const std::string data = elements<float>({1, 2, 3});
  for (const int version : {1, 2, 3}) {
    EXPECT_THAT(parse(npy("<f4", "(3,)", data, false, version)).as<float>(), ElementsAre(1, 2, 3)) << version;
  }
  std::string file = npy("<f4", "(3,)", data);
  file[6] = 4;
  expect_refused([&] { parse(file); }, {"byte 6", "version 4.0", "1.0, 2.0 or 3.0"});
}

TEST(Npy, EveryElementType) {
  const auto one = [](const std::string& descr, const std::string& data) {
    return parse(npy(descr, "(1,)", data));
  };
  EXPECT_EQ(one("<f2", elements<std::uint16_t>({0xC000})).get(0), -2);
  EXPECT_EQ(one("<f4", elements<float>({-2.5F})).get(0), -2.5);
  EXPECT_EQ(one("<f8", elements<double>({1e300})).get(0), 1e300);
  EXPECT_EQ(one("|i1", elements<std::int8_t>({-3})).get(0), -3);
  EXPECT_EQ(one("<i2", elements<std::int16_t>({-300})).get(0), -300);
  EXPECT_EQ(one("<i4", elements<std::int32_t>({-70000})).get(0), -70000);
  EXPECT_EQ(one("<i8", elements<std::int64_t>({INT64_MIN})).get_integer(0), INT64_MIN);
  EXPECT_EQ(one("|u1", elements<std::uint8_t>({200})).get(0), 200);
  EXPECT_EQ(one("<u2", elements<std::uint16_t>({60000})).get(0), 60000);
  EXPECT_EQ(one("<u4", elements<std::uint32_t>({4000000000U})).get(0), 4e9);
  EXPECT_EQ(one("<u8", elements<std::uint64_t>({UINT64_MAX})).as<std::uint64_t>()[0], UINT64_MAX);
  EXPECT_EQ(one("|b1", "\x01").get(0), 1);
  EXPECT_EQ(one("=f4", elements<float>({-2.5F})).get(0), -2.5);
}

TEST(Npy, BigEndian) {
  const std::string data("\x3F\x80\x00\x00\xC0\x00\x00\x00", 8);
  EXPECT_THAT(parse(npy(">f4", "(2,)", data)).as<float>(), ElementsAre(1, -2));
  EXPECT_EQ(parse(npy(">i2", "(1,)", "\x01\x02")).get(0), 258);
}

TEST(Npy, FortranOrder) {
  const std::string matrix = elements<float>({1, 4, 2, 5, 3, 6});
  EXPECT_THAT(parse(npy("<f4", "(2, 3)", matrix, true)).as<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  // a[i][j][k] = 100 i + 10 j + k of shape 2 x 2 x 3.
  const std::string cube = elements<std::uint8_t>({0, 100, 10, 110, 1, 101, 11, 111, 2, 102, 12, 112});
  EXPECT_THAT(parse(npy("|u1", "(2, 2, 3)", cube, true)).as<std::uint8_t>(),
              ElementsAre(0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112));
}

TEST(Npy, HeaderInAnyOrderAndSpelling) {
  const std::string data = elements<float>({1, 2});
  EXPECT_EQ(parse(npy_with_header("{\"shape\":(1,2),'fortran_order':False,'descr':'<f4'}", data)).size(), 2);
  EXPECT_EQ(parse(npy_with_header("{'shape': (2L,), 'fortran_order': False, 'descr': '<f4', }", data)).size(),
            2);
  EXPECT_EQ(parse(npy("<f4", "()", elements<float>({1}))).shape().size(), 0U);
  EXPECT_EQ(parse(npy("<f4", "(0, 5)", "")).size(), 0);
}

TEST(Npy, SixteenBitFloatsStoredAsSomethingElse) {
  const std::string data = elements<std::uint16_t>({0x3F80, 0xC000});
  for (const char* descr : {"|V2", "<V2", "<u2", "<i2"}) {
    const Array array = parse(npy(descr, "(2,)", data), DType::bf16);
    EXPECT_EQ(array.dtype(), DType::bf16) << descr;
    EXPECT_EQ(array.get(0), 1) << descr;
    EXPECT_EQ(array.get(1), -2) << descr;
  }
  expect_refused([&] { parse(npy("|V2", "(2,)", data)); }, {"\"|V2\"", "--dtype bf16"});
  expect_refused([&] { parse(npy("<f2", "(2,)", data), DType::bf16); }, {"elements of f16", "seen as bf16"});
  expect_refused([&] { parse(npy("<u4", "(1,)", data), DType::bf16); }, {"elements of u32", "16 bits"});
}

TEST(Npy, RefusesHeaders) {
  const std::string data = elements<float>({1, 2});
  const auto header = [&](const std::string& text) {
    return [&, text] { parse(npy_with_header(text, data)); };
  };
  expect_refused([] { parse("\x93NUMP"); }, {"byte 0", "93 4E 55"});
  expect_refused([] { parse("\x93NUMPY"); }, {"byte 6", "the end of the file"});
  expect_refused([] { parse(std::string("\x93NUMPY\x01\x00\x76", 9)); }, {"byte 8", "the end of the file"});
  expect_refused([] { parse(std::string("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF{", 13)); },
                 {"byte 8", "a header of 4294967295 bytes with 1 bytes left"});
  expect_refused(header("['descr']"), {"byte 10", "'{'"});
  expect_refused(header("{'descr': '<f4', 'shape': (2,)}"), {"no 'fortran_order'"});
  expect_refused(header("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}"), {"byte 44", "True or False"});
  expect_refused(header("{'descr': '<f4', 'descr': '<f4'}"), {"\"descr\" not to be there, or not twice"});
  expect_refused(header("{'more': '<f4'}"), {"\"more\" not to be there"});
  expect_refused(header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}"), {"records"});
  expect_refused(header("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}"),
                 {"Python objects (a pickle)"});
  expect_refused(header("{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}"), {"\"<c8\""});
  expect_refused(header("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}"),
                 {"an extent of at least 0"});
  expect_refused(header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x"),
                 {"the end of the header"});
  expect_refused(header("{'descr': '<f4"), {"a string that ends"});
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1, ";
  expect_refused([&] { parse(npy("<f4", many + ")", data)); }, {"at most 64 dimensions"});
}

TEST(Npy, RefusesOtherSizes) {
  const std::string data = elements<float>({1, 2});
  expect_refused([&] { parse(npy("<f4", "(3,)", data)); }, {"byte 128", "8 bytes", "truncated", "12 bytes"});
  expect_refused([&] { parse(npy("<f4", "(1,)", data)); }, {"byte 128", "8 bytes", "padded", "4 bytes"});
  expect_refused([&] { parse(npy("<f4", "(4611686018427387904, 2)", data)); }, {"impossible shape"});
  expect_refused([&] { parse(npy("<f4", "(4611686018427387904,)", data)); }, {"fewer than 2^63 bytes"});
  expect_refused([&] { parse(npy("<f8", "(1000000, 1000000)", data)); },
                 {"truncated", "8000000000000 bytes"});
}

TEST(Npy, RefusesWeightsThatAreNone) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  expect_refused([] { weights(npy("<f4", "(2, 2)", elements<float>({1, 2, nan, 4}))); },
                 {"byte 136, element [1, 0]", "NaN", "finite weights"});
  expect_refused([] { weights(npy("<f4", "(2, 2)", elements<float>({1, 2, -infinity, 4}), true)); },
                 {"byte 136, element [0, 1]", "-infinity"});
  expect_refused([] { weights(npy("<f4", "()", elements<float>({1}))); }, {"[]", "at least one row"});
  expect_refused([] { weights(npy("<f4", "(4000000000, 0)", "")); }, {"[4000000000, 0]", "at least one row"});
  expect_refused([] { parse(npy("|b1", "(3,)", std::string("\0\1\7", 3))); }, {"byte 130", "a boolean of 7"});
  EXPECT_EQ(parse(npy("<f4", "(1,)", elements<float>({infinity}))).get(0), infinity);
}

TEST(Npy, FiltersAreMatrices) {
  const WeightMatrix matrix = weights(npy("<f4", "(2, 1, 1, 2)", elements<float>({0, 1, 2, -0.0F})));
  EXPECT_THAT(matrix.shape, ElementsAre(2, 1, 1, 2));
  EXPECT_EQ(matrix.columns, 2);
  EXPECT_THAT(matrix.column, ElementsAre(1, 0));  // -0.0 is pruned
}

}  // namespace
}  // namespace weft
