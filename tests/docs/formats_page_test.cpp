// docs/formats.md, made from the rows of the formats and from one small weight that each of them packs.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <weft/formats/sparse_tensor.h>

#include <array>
#include <map>
#include <string>

#include "support/golden.h"

namespace weft {
namespace {

constexpr std::int64_t rows = 4, columns = 8;

/// Of each row two entries or fewer, all in four columns, so that every format takes it.
WeightMatrix example() {
  Array dense(DType::f32, {rows, columns});
  const auto values = dense.as<float>();
  constexpr std::array<std::size_t, 7> places{1, 4, 11, 14, 20, 25, 30};
  float value = 0;
  for (const std::size_t place : places) values[place] = ++value;
  return from_dense(dense, "the example");
}

/// With parameters that make it small.
Format small(std::string_view name) {
  const std::map<std::string_view, std::string> parameters{{"bcsr", "b=4"},
                                                           {"blocked_ell", "b=4"},
                                                           {"hb_ell", "b=4"},
                                                           {"vector_wise", "V=8,k=16"},
                                                           {"shfl_bw", "V=8,k=16"},
                                                           {"n_m", "V=16"},
                                                           {"v_n_m", "V=16"},
                                                           {"mixed", "V=16"},
                                                           {"column_quads", "V=16"},
                                                           {"column_vectors", "V=4"},
                                                           {"column_blocks", "columns=4"},
                                                           {"padded_csr", "pad=2"},
                                                           {"sliced_ell", "slice=2,pad=2"},
                                                           {"lane_streams", "columns=64"},
                                                           {"pair_words", "columns=64"}};
  const auto found = parameters.find(name);
  return parse_format(found == parameters.end() ? std::string(name)
                                                : fmt::format("{}:{}", name, found->second));
}

std::string elements_of(const Array& array) {
  constexpr std::int64_t most = 40;
  if (array.size() > most) return "...";
  std::string text;
  for (std::int64_t i = 0; i < array.size(); ++i)
    text += fmt::format("{}{:g}", i == 0 ? "" : " ", array.get(i));
  return text;
}

/// The matrix, in each stored place its number in "values".
std::string drawing_of(const SparseTensor& tensor) {
  std::array<std::string, rows * columns> cells;
  cells.fill(".");
  tensor.walk([&](std::int64_t row, std::int64_t column, std::int64_t place) {
    if (row >= 0 && row < rows && column >= 0 && column < columns)
      cells[static_cast<std::size_t>(row * columns + column)] = std::to_string(place);
  });
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i)
    text += fmt::format("{:>5}{}", cells[i], (i + 1) % columns == 0 ? "\n" : "");
  return text;
}

std::string section_of(const NamedFormat& row) {
  std::string text = fmt::format("## {}\n\n{}. {}\n\n", row.name, row.summary, row.purpose);
  text[text.find(row.summary)] = static_cast<char>(std::toupper(row.summary.front()));
  if (!row.parameters.empty())
    text += "| parameter | values | left out | what it says |\n|---|---|---|---|\n";
  for (const FormatParameter& p : row.parameters)
    text += fmt::format("| `{}` | {} | {} | {} |\n", p.name, p.values, p.otherwise, p.meaning);
  if (!row.parameters.empty()) text += "\n";
  const SparseTensor tensor = pack(example(), small(row.name));
  text += fmt::format("Of the example, as `{}`:\n\n```\n{}\n", tensor.format().text(), drawing_of(tensor));
  for (const SparseTensor::NamedArray& named : tensor.arrays())
    text += fmt::format("{:<12} {:<4} {:<14} {}\n", named.name, name_of(named.array.dtype()),
                        text_of_shape(named.array.shape()), elements_of(named.array));
  return text + "```\n\n";
}

TEST(FormatsPage, IsWhatTheFormatsSay) {
  std::string page = R"(# Formats

How weights are stored. `weft formats` lists the same on the command line. This page is made by a test from the
formats themselves.

The example is a weight of 4 x 8 with seven entries, 1 to 7:

```
    .    1    .    .    2    .    .    .
    .    .    .    3    .    .    4    .
    .    .    .    .    5    .    .    .
    .    6    .    .    .    .    7    .
```

Each format shows in which place of the array `values` it stores what, with `.` where it stores nothing, and then its
arrays: name, type, shape, elements. Where a format stores whole groups or blocks, zeros have places too. Arrays of more
than 40 elements are left out.

)";
  for (const NamedFormat& row : named_formats()) page += section_of(row);
  page.pop_back();
  test::expect_golden("../../docs/formats.md", page);
}

}  // namespace
}  // namespace weft
