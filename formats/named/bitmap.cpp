// A 64-bit word for each 64 columns of a row, and the values behind, in the order of the set bits: `bits`,
// the lower half of each word first, and in `begin` where the values of each word begin.
#include <weft/dsl/arithmetic.h>
#include <weft/formats/named/common.h>

#include <algorithm>
#include <numeric>

namespace weft::named {
namespace {

constexpr std::int64_t columns_of_word = 64;

SparseTensor pack_bitmap(const WeightMatrix& given, const Format& format) {
  check_parameters(format, {"order", "rows"});
  const std::int64_t words = ceil_divide(given.columns, columns_of_word);
  check_positions(given, format, std::max(given.stored(), 2 * given.rows * words),
                  "entries and halves of words");
  const RowLayout rows(given, format);
  const WeightMatrix& weights = rows.weights();
  Array begin = index_array(weights.rows * words + 1);
  Array bits = index_array(weights.rows * words * 2);
  const auto begins = begin.as<std::int32_t>();
  const auto halves = bits.as<std::int32_t>();
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    for (const std::int64_t i : weights.entries(row)) {
      const std::int64_t column = weights.column_of(i);
      ++begins[row * words + column / columns_of_word + 1];
      auto& half = halves[row * words * 2 + column / 32];
      half = static_cast<std::int32_t>(static_cast<std::uint32_t>(half) | std::uint32_t{1} << column % 32);
    }
  }
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  return rows.packed(
      format,
      {{.dimension = Dimension::column, .extent = words, .stride = columns_of_word, .loop = "word"},
       {.kind = LevelKind::bitmap, .dimension = Dimension::column, .begin = "begin", .index = "bits"}},
      arrays_of({{"begin", std::move(begin)}, {"bits", std::move(bits)}, {"values", weights.values}}));
}

}  // namespace

NamedFormat bitmap() {
  return {.name = "bitmap",
          .summary = "a bit for each column of a row, 64 in a word, and the values of the set bits",
          .pack = pack_bitmap,
          .purpose =
              "Unstructured weights of which a tenth or more is kept: a bit costs less than a column number.",
          .parameters = row_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::Bitmap::operator()(const RowOptions& options) const {
  return named::with_row_options("bitmap", options);
}
