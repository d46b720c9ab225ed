#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/sparse_tensor.h>

#include <set>

#include "formats/damage.h"
#include "formats/generated_matrices.h"
#include "formats/integers.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// rows of columns: {0, 2}, {}, {1, 3, 4}, {0}
WeightMatrix small() {
  return from_coordinates(4, 5, {0, 0, 2, 2, 2, 3}, {0, 2, 1, 3, 4, 0},
                          Array::of(std::vector<float>{1, 2, 3, 4, 5, 6}), "small");
}

std::vector<float> floats(const SparseTensor& tensor) {
  const auto span = tensor.array("values").as<float>();
  return {span.begin(), span.end()};
}

bool fills_blocks(std::string_view format) {
  return format == "bcsr" || format == "blocked_ell" || format == "vector_wise" || format == "shfl_bw" ||
         format == "column_vectors" || formats::keeps_two_of_four(parse_format(format));
}

/// Their padding is what holds +0.
bool leaves_out_zeros(std::string_view format) {
  return format == "hb_ell" || format == "lane_streams" || format == "pair_words";
}

TEST(Pack, EveryFormatGivesBackEveryGeneratedMatrix) {
  for (const auto& [name, given] : generated_matrices()) {
    for (const NamedFormat& format : named_formats()) {
      SCOPED_TRACE(name + " in " + std::string(format.name));
      const WeightMatrix weights = fitted(given, parse_format(format.name));
      const SparseTensor tensor = pack(weights, parse_format(format.name));
      EXPECT_TRUE(same_bits(tensor.to_dense(), to_dense(weights)));
      EXPECT_EQ(tensor.shape(), weights.shape);
      EXPECT_EQ(tensor.dtype(), weights.values.dtype());
      // Nothing is believed of a tensor made by hand, as this one is of what pack() gave.
      EXPECT_EQ(complaint(with_array(tensor, "values", tensor.array("values"))), "none");
    }
  }
}

TEST(Pack, AWeightThatKeepsItsSourceIsRepackedFromThere) {
  for (const auto& [name, given] : generated_matrices()) {
    const auto weights = std::make_shared<const WeightMatrix>(fitted(given, formats::csr()));
    for (const Format& format : {formats::column_quads({.rows = 32}), formats::csc(), formats::bcsr()}) {
      SCOPED_TRACE(name + " in " + format.text());
      const SparseTensor found = repack(*pack(weights, formats::column_quads()), format);
      const SparseTensor expected = pack(*weights, format);
      for (const SparseTensor::NamedArray& each : expected.arrays())
        EXPECT_TRUE(same_bits(found.array(each.name), each.array)) << each.name;
    }
  }
}

TEST(Pack, WalkVisitsEachStoredPlaceOnceAndNoPadding) {
  for (const auto& [name, weights] : generated_matrices()) {
    std::set<std::pair<std::int64_t, std::int64_t>> stored;
    std::set<std::pair<std::int64_t, std::int64_t>> not_zero;
    for (std::int64_t row = 0; row < weights.rows; ++row) {
      for (auto i = weights.row_begin[static_cast<std::size_t>(row)];
           i < weights.row_begin[static_cast<std::size_t>(row) + 1]; ++i) {
        stored.emplace(row, weights.column[static_cast<std::size_t>(i)]);
        if (!weights.values.is_zero_bits(i))
          not_zero.emplace(row, weights.column[static_cast<std::size_t>(i)]);
      }
    }
    for (const NamedFormat& format : named_formats()) {
      if (format.name == "dense" || fills_blocks(format.name)) continue;
      SCOPED_TRACE(name + " in " + std::string(format.name));
      std::set<std::pair<std::int64_t, std::int64_t>> visited;
      std::int64_t visits = 0;
      pack(weights, parse_format(format.name)).walk([&](std::int64_t row, std::int64_t column, std::int64_t) {
        visited.emplace(row, column);
        ++visits;
      });
      EXPECT_EQ(visited, leaves_out_zeros(format.name) ? not_zero : stored);
      EXPECT_EQ(visits, std::ssize(visited));
    }
  }
}

TEST(Pack, CsrLaysOutRows) {
  const SparseTensor tensor = pack(small(), formats::csr());
  EXPECT_THAT(test::integers_of_i32(tensor, "begin"), ElementsAre(0, 2, 2, 5, 6));
  EXPECT_THAT(test::integers_of_i32(tensor, "column"), ElementsAre(0, 2, 1, 3, 4, 0));
  EXPECT_THAT(floats(tensor), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(tensor.bytes(), (5U + 6U + 6U) * 4U);
}

TEST(Pack, CscLaysOutColumns) {
  const SparseTensor tensor = pack(small(), formats::csc());
  EXPECT_THAT(test::integers_of_i32(tensor, "begin"), ElementsAre(0, 2, 3, 4, 5, 6));
  EXPECT_THAT(test::integers_of_i32(tensor, "row"), ElementsAre(0, 3, 2, 0, 2, 2));
  EXPECT_THAT(floats(tensor), ElementsAre(1, 6, 3, 2, 4, 5));
}

TEST(Pack, CooLaysOutEntries) {
  const SparseTensor tensor = pack(small(), formats::coo());
  EXPECT_THAT(test::integers_of_i32(tensor, "begin"), ElementsAre(0, 6));
  EXPECT_THAT(test::integers_of_i32(tensor, "row"), ElementsAre(0, 0, 2, 2, 2, 3));
  EXPECT_THAT(test::integers_of_i32(tensor, "column"), ElementsAre(0, 2, 1, 3, 4, 0));
}

TEST(Pack, EllPadsWithMinusOneAndZero) {
  const SparseTensor tensor = pack(small(), formats::ell());
  EXPECT_THAT(test::integers_of_i32(tensor, "column"), ElementsAre(0, 2, -1, -1, -1, -1, 1, 3, 4, 0, -1, -1));
  EXPECT_THAT(floats(tensor), ElementsAre(1, 2, 0, 0, 0, 0, 3, 4, 5, 6, 0, 0));
  EXPECT_TRUE(tensor.array("values").is_zero_bits(2));
}

TEST(Pack, PaddedCsrFillsRowsUpToGroups) {
  const SparseTensor tensor = pack(small(), formats::padded_csr({.pad = 2}));
  EXPECT_THAT(test::integers_of_i32(tensor, "begin"), ElementsAre(0, 1, 1, 3, 4));
  EXPECT_THAT(test::integers_of_i32(tensor, "column"), ElementsAre(0, 2, 1, 3, 4, -1, 0, -1));
  EXPECT_THAT(floats(tensor), ElementsAre(1, 2, 3, 4, 5, 0, 6, 0));
  EXPECT_TRUE(tensor.array("values").is_zero_bits(5));
  const SparseTensor blocked = pack(small(), formats::padded_csr({.pad = 2, .block = 3}));
  EXPECT_THAT(test::integers_of_i32(blocked, "begin"), ElementsAre(0, 1, 1, 1, 1, 2, 3, 4, 4));
  EXPECT_THAT(test::integers_of_i32(blocked, "column"), ElementsAre(0, 2, 1, -1, 0, 1, 0, -1));
  EXPECT_THAT(floats(blocked), ElementsAre(1, 2, 3, 0, 4, 5, 6, 0));
  EXPECT_EQ(pack(small(), parse_format("padded_csr")).array("values").size(), 12);
  EXPECT_THAT(message_of([] { pack(small(), formats::padded_csr({.pad = 0})); }), HasSubstr("1 to 1024"));
}

TEST(Pack, PaddedCsrFillsBlocksOfRows) {
  // Rows of 2, 0, 3 and 1 entries need 1, 0, 2 and 1 groups of two places.
  const SparseTensor tensor = pack(small(), formats::padded_csr({.pad = 2, .fill = 3}));
  EXPECT_THAT(test::integers_of_i32(tensor, "row_order"), ElementsAre(1, 2, 0, 3));
  EXPECT_THAT(test::integers_of_i32(tensor, "begin"), ElementsAre(0, 0, 3, 4, 6));
  EXPECT_THAT(test::integers_of_i32(tensor, "column"), ElementsAre(1, 3, 4, -1, -1, -1, 0, 2, 0, -1, -1, -1));
  EXPECT_THAT(floats(tensor), ElementsAre(3, 4, 5, 0, 0, 0, 1, 2, 6, 0, 0, 0));
  EXPECT_EQ(pack(small(), parse_format("padded_csr:pad=1,fill=100")).array("values").size(), 100);
  EXPECT_THAT(message_of([] { pack(small(), formats::padded_csr({.pad = 2, .fill = 1})); }),
              HasSubstr("a row of 2 groups of 2 places"));
  EXPECT_THAT(message_of([] { pack(small(), formats::padded_csr({.pad = 2, .block = 3, .fill = 4})); }),
              HasSubstr("block beside fill"));
}

TEST(Pack, RepackingKeepsEntries) {
  for (const NamedFormat& format : named_formats()) {
    const SparseTensor tensor = pack(fitted(small(), parse_format(format.name)), parse_format(format.name));
    const SparseTensor again = repack(repack(tensor, formats::padded_csr()), tensor.format());
    for (const SparseTensor::NamedArray& named : tensor.arrays()) {
      ASSERT_EQ(named.array.size(), again.array(named.name).size()) << format.name << ", " << named.name;
      for (std::int64_t i = 0; i < named.array.size(); ++i)
        EXPECT_EQ(named.array.get(i), again.array(named.name).get(i)) << format.name << ", " << named.name;
    }
  }
}

TEST(Pack, RefusesMorePlacesThanIndicesCanNumber) {
  const WeightMatrix wide = from_coordinates(65536, 65536, {}, {}, Array(DType::f32, {0}), "wide");
  EXPECT_THAT(message_of([&] { pack(wide, formats::dense()); }), HasSubstr("4294967296 elements"));
  EXPECT_EQ(pack(wide, formats::csr()).array("values").size(), 0);

  const std::vector<std::int64_t> row(32768, 7);
  std::vector<std::int64_t> column(32768);
  for (std::size_t i = 0; i < column.size(); ++i) column[i] = static_cast<std::int64_t>(i);
  const WeightMatrix long_row =
      from_coordinates(65536, 65536, row, column, Array(DType::f32, {32768}), "long");
  EXPECT_THAT(message_of([&] { pack(long_row, formats::ell()); }),
              AllOf(HasSubstr("too large for ell"), HasSubstr("long"), HasSubstr("2147483648 places")));
}

TEST(Pack, RefusesWeightsThatBreakTheirInvariants) {
  WeightMatrix weights = small();
  std::swap(weights.column[2], weights.column[3]);
  EXPECT_THAT(message_of([&] { pack(weights, formats::csr()); }),
              AllOf(HasSubstr("row 2, entry 3"), HasSubstr("column 1 after column 3")));
}

TEST(Pack, RefusesParametersThatAFormatDoesNotHave) {
  for (const NamedFormat& format : named_formats()) {
    const std::string message =
        message_of([&] { pack(small(), parse_format(std::string(format.name) + ":W=64")); });
    EXPECT_THAT(message, HasSubstr("W=64"));
    EXPECT_THAT(message, AnyOf(HasSubstr("order, rows"), HasSubstr("without parameters"),
                               HasSubstr("\n  accepted: b"), HasSubstr("V, k"), HasSubstr("V, index"),
                               HasSubstr("accepted: columns,"), HasSubstr("slice, pad, deal, index")));
  }
}

TEST(Format, TheParametersOfARowAreThoseThatPackKnows) {
  const auto words_of = [](const NamedFormat& format, const std::string& parameters) {
    return message_of([&] { pack(small(), parse_format(std::string(format.name) + ":" + parameters)); });
  };
  for (const NamedFormat& format : named_formats()) {
    EXPECT_FALSE(format.purpose.empty()) << format.name;
    std::string names;
    for (const FormatParameter& parameter : format.parameters) {
      names += (names.empty() ? "" : ", ") + std::string(parameter.name);
      const bool is_order = parameter.name == "order";
      EXPECT_THAT(words_of(format, std::string(parameter.name) + (is_order ? "=none" : "=-7")),
                  HasSubstr("accepted: " + std::string(parameter.values)));
      EXPECT_FALSE(parameter.otherwise.empty() || parameter.meaning.empty()) << format.name;
    }
    EXPECT_THAT(words_of(format, "W=64"),
                HasSubstr(names.empty() ? "without parameters" : "accepted: " + names + ", or none of them"));
  }
}

TEST(Format, PrintsWhatItParses) {
  for (const NamedFormat& format : named_formats()) EXPECT_EQ(parse_format(format.name).text(), format.name);
  EXPECT_EQ(parse_format("csr"), formats::csr());
  const Format with_parameters = parse_format("ell:V=64,M=-8");
  EXPECT_EQ(with_parameters.parameters.at("V"), 64);
  EXPECT_EQ(with_parameters.parameters.at("M"), -8);
  EXPECT_EQ(parse_format(with_parameters.text()), with_parameters);
}

TEST(Format, SaysWhatAnUnknownNameMayMean) {
  EXPECT_THAT(message_of([] { parse_format("CSR"); }), HasSubstr("did you mean csr?"));
  EXPECT_THAT(message_of([] { parse_format("dnse"); }), HasSubstr("did you mean dense?"));
  const std::string far = message_of([] { parse_format("hypersparse"); });
  EXPECT_THAT(far, HasSubstr("dense, csr, csc, coo, ell"));
  EXPECT_THAT(far, Not(HasSubstr("did you mean")));
  EXPECT_THAT(message_of([] { parse_format(std::string(1000000, 'c')); }),
              HasSubstr("no format of that name"));
  EXPECT_THAT(message_of([] { pack(small(), {"elll", {}}); }), HasSubstr("did you mean ell?"));
}

TEST(Format, RefusesParametersThatCannotBeRead) {
  for (const std::string text : {"csr:", "csr:V", "csr:=3", "csr:V=", "csr:V=x", "csr:V=3x", "csr:V=1,V=2",
                                 "csr:V=1,", "csr:V=99999999999999999999", ""}) {
    EXPECT_THAT(message_of([&] { parse_format(text); }), HasSubstr("cannot be understood")) << text;
  }
}

}  // namespace
}  // namespace weft
