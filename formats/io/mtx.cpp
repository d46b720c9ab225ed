#include <fmt/format.h>
#include <weft/formats/io/file.h>
#include <weft/formats/io/mtx.h>
#include <weft/formats/io/text.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <numeric>
#include <optional>

namespace weft::io {
namespace {

constexpr std::string_view banner = "%%MatrixMarket";

enum class Field { real, integer, unsigned_integer, pattern };
enum class Symmetry { general, symmetric, skew };

struct Header {
  bool coordinate = true;
  Field field = Field::real;
  std::string field_name;  ///< as the file spells it
  Symmetry symmetry = Symmetry::general;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t entries = 0;  ///< lines of a coordinate file, before a symmetry is expanded
};

std::string lower_case(std::string_view word) {
  std::string result(word);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// What a word of the first line means; nothing where it is not one of these.
template <class Meaning, std::size_t count>
std::optional<Meaning> meaning_of(std::string_view word,
                                  const std::pair<std::string_view, Meaning> (&words)[count]) {
  for (const auto& [known, meaning] : words) {
    if (known == word) return meaning;
  }
  return std::nullopt;
}

void read_banner(TextScanner& text, Header& header) {
  if (lower_case(text.word()) != lower_case(banner))
    text.refuse(beginning_of(text.bytes()), std::string(banner) + ", with which a .mtx begins");
  if (const auto word = lower_case(text.word()); word != "matrix") text.refuse(in_quotes(word), "matrix");
  const auto layout = lower_case(text.word());
  if (layout != "coordinate" && layout != "array") text.refuse(in_quotes(layout), "coordinate or array");
  header.coordinate = layout == "coordinate";
  const auto word = lower_case(text.word());
  const auto field = meaning_of<Field>(word, {{"real", Field::real},
                                              {"double", Field::real},
                                              {"integer", Field::integer},
                                              {"unsigned-integer", Field::unsigned_integer},
                                              {"pattern", Field::pattern}});
  header.field_name = word;
  if (!field || (field == Field::pattern && !header.coordinate))
    text.refuse(in_quotes(word), header.coordinate ? "real, integer or pattern" : "real or integer");
  const auto name = lower_case(text.word());
  const auto symmetry =
      meaning_of<Symmetry>(name, {{"general", Symmetry::general},
                                  {"symmetric", Symmetry::symmetric},
                                  {"hermitian", Symmetry::symmetric},  // the same where nothing is complex
                                  {"skew-symmetric", Symmetry::skew}});
  if (!symmetry || (symmetry == Symmetry::skew && field == Field::pattern))
    text.refuse(in_quotes(name),
                "general, symmetric, skew-symmetric or hermitian (no skew-symmetric pattern)");
  header.field = *field;
  header.symmetry = *symmetry;
  text.finish_line("the first line");
}

void read_size(TextScanner& text, std::size_t file_bytes, Header& header) {
  text.skip_to_content('%');
  header.rows = text.integer("the number of rows");
  header.columns = text.integer("the number of columns");
  const std::array<std::int64_t, 2> shape{header.rows, header.columns};
  check_weight_shape(shape, file_bytes, text.origin(), text.place());
  if (header.symmetry != Symmetry::general && header.rows != header.columns)
    text.refuse(text_of_shape(shape), "a square matrix, as its symmetry asks for");
  if (header.coordinate) {
    header.entries = text.integer("the number of entries");
    // "1 1" and a newline is the shortest entry.
    const auto room = static_cast<std::int64_t>(text.bytes_left() / 4) + 1;
    if (header.entries < 0 || header.entries > room)
      text.refuse(fmt::format("{} entries with {} bytes left", header.entries, text.bytes_left()),
                  fmt::format("0 to {} entries in a file of this size", room));
  }
  text.finish_line("the sizes");
}

/// Values as they are read; only the vector of the file's own type is used.
struct Values {
  Field field;
  std::vector<double> real;
  std::vector<std::int64_t> integer;
  std::vector<std::uint64_t> unsigned_integer;

  void read(TextScanner& text) {
    if (field == Field::real) real.push_back(text.real("a value"));
    if (field == Field::integer) integer.push_back(text.integer("a value"));
    if (field == Field::unsigned_integer) unsigned_integer.push_back(text.unsigned_integer("a value"));
  }
  /// Repeats the last value in the other triangle.
  void mirror(TextScanner& text, bool negated) {
    if (field == Field::real) real.push_back(negated ? -real.back() : real.back());
    if (field == Field::integer) {
      if (negated && integer.back() == INT64_MIN)
        text.refuse(fmt::format("{}", INT64_MIN), "a negatable value");
      integer.push_back(negated ? -integer.back() : integer.back());
    }
    if (field == Field::unsigned_integer) {
      if (negated && unsigned_integer.back() != 0) text.refuse("an unsigned skew-symmetric value", "0");
      unsigned_integer.push_back(unsigned_integer.back());
    }
  }
  Array array(std::size_t count) const {
    if (field == Field::real) return Array::of(real);
    if (field == Field::integer) return Array::of(integer);
    if (field == Field::unsigned_integer) return Array::of(unsigned_integer);
    return Array::of(std::vector<float>(count, 1.0F));
  }
};

struct Coordinates {
  std::vector<std::int64_t> row;
  std::vector<std::int64_t> column;
  std::vector<std::int64_t> line;  ///< where each came from

  void add(std::int64_t r, std::int64_t c, std::int64_t l) {
    row.push_back(r);
    column.push_back(c);
    line.push_back(l);
  }
};

/// Whether an entry of the text from here on, at the beginning of a line, has the number of the last row or
/// column, which a file that counts from 0 has not. What cannot be read ends it.
bool reaches_an_end(TextScanner text, const Header& header) {
  try {
    while (text.skip_to_content('%')) {
      const std::int64_t row = text.integer("row"), column = text.integer("column");
      if (row == header.rows || column == header.columns) return true;
      text.next_line();
    }
  } catch (const UserError&) {
  }
  return false;
}

/// `entries` stands where the first entry begins.
std::int64_t read_index(TextScanner& text, const std::string& what, std::int64_t extent,
                        const TextScanner& entries, const Header& header) {
  const std::int64_t index = text.integer(what);
  if (index == 0 && !reaches_an_end(entries, header))
    text.refuse(what + " 0, so that this file seems to count from 0",
                fmt::format("1 to {}, as .mtx counts rows and columns from 1: both numbers of every entry "
                            "larger by 1",
                            extent));
  if (index < 1 || index > extent)
    text.refuse(fmt::format("{} {}", what, index), fmt::format("1 to {}", extent));
  return index - 1;
}

void refuse_duplicates(const Coordinates& entries, const std::string& origin) {
  std::vector<std::size_t> order(entries.row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) { return std::pair(entries.row[i], entries.column[i]); };
  std::ranges::sort(
      order, [&](std::size_t a, std::size_t b) { return std::pair(key(a), a) < std::pair(key(b), b); });
  const auto twice =
      std::ranges::adjacent_find(order, [&](std::size_t a, std::size_t b) { return key(a) == key(b); });
  if (twice == order.end()) return;
  const std::size_t first = *twice;
  const std::size_t second = *std::next(twice);
  // What a symmetry adds follows what it was added for.
  const auto is_mirrored = [&](std::size_t i) { return i > 0 && entries.line[i - 1] == entries.line[i]; };
  const bool both_triangles = is_mirrored(first) != is_mirrored(second);
  const std::size_t written = is_mirrored(second) ? second - 1 : second;
  refuse(origin, fmt::format("line {}", entries.line[second]),
         fmt::format("an entry at row {}, column {}, which line {} has already given{}",
                     entries.row[written] + 1, entries.column[written] + 1, entries.line[first],
                     both_triangles ? " by the symmetry that line 1 says" : ""),
         both_triangles ? "one triangle; or general in place of the symmetry in line 1" : "every place once");
}

WeightMatrix read_coordinates(TextScanner& text, const Header& header) {
  Coordinates entries;
  Values values{header.field, {}, {}, {}};
  const TextScanner first = text;
  for (std::int64_t i = 0; i < header.entries; ++i) {
    if (!text.skip_to_content('%'))
      text.refuse(fmt::format("the end of the file after {} entries", i),
                  fmt::format("{} entries", header.entries));
    const std::int64_t row = read_index(text, "row", header.rows, first, header);
    const std::int64_t column = read_index(text, "column", header.columns, first, header);
    if (header.symmetry == Symmetry::skew && row == column)
      text.refuse(fmt::format("a value on the diagonal, row {}", row + 1), "none in a skew-symmetric matrix");
    entries.add(row, column, text.line());
    values.read(text);
    if (header.symmetry != Symmetry::general && row != column) {
      entries.add(column, row, text.line());
      values.mirror(text, header.symmetry == Symmetry::skew);
    }
    text.finish_line("an entry");
  }
  refuse_duplicates(entries, text.origin());
  WeightMatrix matrix = from_coordinates(header.rows, header.columns, entries.row, entries.column,
                                         values.array(entries.row.size()), text.origin());
  matrix.pattern_only = header.field == Field::pattern;
  return matrix;
}

/// The words of an array file follow each other on lines of any length.
void read_next_value(TextScanner& text, Values& values, std::int64_t row, std::int64_t column) {
  if (text.at_end_of_line() && !text.skip_to_content('%'))
    text.refuse("the end of the file", fmt::format("the value of row {}, column {}", row + 1, column + 1));
  values.read(text);
}

WeightMatrix read_array(TextScanner& text, const Header& header) {
  const bool general = header.symmetry == Symmetry::general;
  const std::int64_t skip = header.symmetry == Symmetry::skew ? 1 : 0;
  std::int64_t elements = 0;
  const bool overflow = __builtin_mul_overflow(header.rows, header.columns, &elements);
  // A digit and a separator make an element; one triangle of a symmetric matrix has less than half of them.
  const auto room = static_cast<std::int64_t>(text.bytes_left() / 2) + 1;
  if (overflow || (general ? elements : (elements - header.rows * skip) / 2) > room)
    text.refuse(
        fmt::format("{} x {} values with {} bytes left", header.rows, header.columns, text.bytes_left()),
        "one value for each element");
  Values values{header.field, {}, {}, {}};
  std::vector<std::int64_t> place;  // row-major, of each value that was read or mirrored
  for (std::int64_t column = 0; column < header.columns; ++column) {
    for (std::int64_t row = general ? 0 : column + skip; row < header.rows; ++row) {
      read_next_value(text, values, row, column);
      place.push_back(row * header.columns + column);
      if (!general && row != column) {
        values.mirror(text, header.symmetry == Symmetry::skew);
        place.push_back(column * header.columns + row);
      }
    }
  }
  if (text.bytes_left() > 0) text.finish_line("the last value");
  const Array read = values.array(place.size());
  Array dense(read.dtype(), {header.rows, header.columns});
  for (std::size_t i = 0; i < place.size(); ++i)
    dense.copy_element(place[i], read, static_cast<std::int64_t>(i));
  return from_dense(dense, text.origin());
}

}  // namespace

WeightMatrix parse_mtx(Bytes bytes, const std::string& origin) {
  TextScanner text(bytes, origin);
  Header header;
  read_banner(text, header);
  read_size(text, bytes.size(), header);
  WeightMatrix matrix = header.coordinate ? read_coordinates(text, header) : read_array(text, header);
  if (text.skip_to_content('%'))
    text.refuse(in_quotes(text.word()) + " after the last entry", "the end of the file");
  return matrix;
}

std::vector<ListedWeight> list_mtx(Bytes bytes, const std::string& path) {
  TextScanner text(bytes, path);
  Header header;
  read_banner(text, header);
  read_size(text, bytes.size(), header);
  const bool is_pattern = header.field == Field::pattern;
  return {{.path = path,
           .dtype = is_pattern ? "" : header.field_name,
           .shape = {header.rows, header.columns},
           .stored_as = is_pattern          ? "pattern"
                        : header.coordinate ? "coordinate"
                                            : "dense",
           .bytes = bytes.size()}};
}

bool looks_like_mtx(Bytes bytes) {
  return lower_case(text_of(bytes.subspan(0, std::min(bytes.size(), banner.size())))) == lower_case(banner);
}

}  // namespace weft::io

namespace weft {

void write_mtx(const std::string& path, const WeightMatrix& weights, CallPlace place) {
  weights.check(place);
  const DType dtype = weights.values.dtype();
  const bool real = is_float(dtype);
  const bool wide = dtype == DType::u64;
  const char* field = weights.pattern_only ? "pattern"
                      : real               ? "real"
                      : wide               ? "unsigned-integer"
                                           : "integer";
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "%%MatrixMarket matrix coordinate {} general\n{} {} {}\n", field, weights.rows,
                 weights.columns, weights.stored());
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    for (const std::int64_t i : weights.entries(row)) {
      fmt::format_to(out, "{} {}", row + 1, weights.column_of(i) + 1);
      if (!weights.pattern_only && real) fmt::format_to(out, " {}", weights.values.get(i));
      if (!weights.pattern_only && wide)
        fmt::format_to(out, " {}", static_cast<std::uint64_t>(weights.values.get_integer(i)));
      if (!weights.pattern_only && !real && !wide) fmt::format_to(out, " {}", weights.values.get_integer(i));
      text.push_back('\n');
    }
  }
  const io::Bytes piece = std::as_bytes(std::span(text.data(), text.size()));
  user_call(place, [&] { io::write_file(path, std::span(&piece, 1)); });
}

}  // namespace weft
