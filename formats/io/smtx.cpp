#include <fmt/format.h>
#include <weft/formats/io/smtx.h>
#include <weft/formats/io/text.h>

#include <algorithm>

namespace weft::io {
namespace {

void read_header(TextScanner& text, std::size_t file_bytes, WeightMatrix& matrix, std::int64_t& stored) {
  matrix.rows = text.integer("the number of rows");
  matrix.columns = text.integer("the number of columns");
  matrix.shape = {matrix.rows, matrix.columns};
  check_weight_shape(matrix.shape, file_bytes, text.origin(), "line 1");
  stored = text.integer("the number of stored entries");
  if (stored < 0 || (stored > 0 && (stored - 1) / matrix.columns >= matrix.rows))
    text.refuse(fmt::format("{} stored entries", stored),
                fmt::format("0 to {} x {}", matrix.rows, matrix.columns));
  text.finish_line("rows, columns and stored entries");
}

void read_offsets(TextScanner& text, WeightMatrix& matrix, std::int64_t stored) {
  const std::int64_t offsets = text.words_of_line();
  if (offsets != matrix.rows + 1 && !text.is_last_line())
    text.refuse(
        fmt::format("{} offsets", offsets),
        fmt::format("{} offsets, for the {} rows of line 1{}", matrix.rows + 1, matrix.rows,
                    offsets == matrix.columns + 1 ? ", which may have rows and columns exchanged" : ""));
  // Every offset takes a digit and a separator, so the file itself bounds what is set aside.
  matrix.row_begin.reserve(std::min(static_cast<std::size_t>(matrix.rows) + 1, text.bytes_left() / 2 + 1));
  for (std::int64_t row = 0; row <= matrix.rows; ++row) {
    const std::int64_t offset = text.integer(fmt::format("offset {} of {}", row, matrix.rows + 1));
    const std::int64_t least = row == 0 ? 0 : matrix.row_begin.back();
    const std::int64_t most = row == 0 ? 0 : stored;
    if (offset < least || offset > most || (row == matrix.rows && offset != stored))
      text.refuse(fmt::format("offset {} of row {}", offset, row),
                  row == matrix.rows ? fmt::format("{}, the number of stored entries", stored)
                                     : fmt::format("{} to {}", least, most));
    matrix.row_begin.push_back(offset);
  }
  text.finish_line(fmt::format("{} offsets", matrix.rows + 1));
}

void read_columns(TextScanner& text, WeightMatrix& matrix, std::int64_t stored) {
  matrix.column.reserve(std::min(static_cast<std::size_t>(stored), text.bytes_left() / 2 + 1));
  std::vector<std::int32_t> sorted;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (const std::int64_t i : matrix.entries(row)) {
      const std::int64_t column = text.integer(fmt::format("column {} of {}", i, stored));
      if (column < 0 || column >= matrix.columns)
        text.refuse(fmt::format("column {} in row {}", column, row),
                    fmt::format("0 to {}{}", matrix.columns - 1,
                                column == matrix.columns ? ", as .smtx counts columns from 0, and this file "
                                                           "may count from 1"
                                                         : ""));
      matrix.column.push_back(static_cast<std::int32_t>(column));
    }
    const auto begin = matrix.column.begin() + matrix.row_begin[row];
    std::sort(begin, matrix.column.end());
    const auto twice = std::adjacent_find(begin, matrix.column.end());
    if (twice != matrix.column.end())
      text.refuse(fmt::format("column {} twice in row {}", *twice, row), "every column once in a row");
  }
}

}  // namespace

WeightMatrix parse_smtx(Bytes bytes, const std::string& origin) {
  TextScanner text(bytes, origin);
  WeightMatrix matrix;
  std::int64_t stored = 0;
  read_header(text, bytes.size(), matrix, stored);
  read_offsets(text, matrix, stored);
  read_columns(text, matrix, stored);
  text.finish_line(fmt::format("{} columns", stored));
  while (text.bytes_left() > 0) text.finish_line("the third line");
  matrix.values = Array(DType::f32, {stored});
  std::ranges::fill(matrix.values.as<float>(), 1.0F);
  matrix.pattern_only = true;
  matrix.origin = origin;
  return matrix;
}

std::vector<ListedWeight> list_smtx(Bytes bytes, const std::string& path) {
  TextScanner text(bytes, path);
  WeightMatrix matrix;
  std::int64_t stored = 0;
  read_header(text, bytes.size(), matrix, stored);
  return {{.path = path, .shape = matrix.shape, .stored_as = "pattern", .bytes = bytes.size()}};
}

bool looks_like_smtx(Bytes bytes) {
  constexpr std::size_t longest_first_line = 100;
  std::string_view line = text_of(bytes.subspan(0, std::min(bytes.size(), longest_first_line)));
  line = line.substr(0, line.find('\n'));
  return std::ranges::count(line, ',') == 2 && line.find_first_not_of("0123456789, \r") == line.npos;
}

}  // namespace weft::io
