// The header of a .npy file: the little of Python's syntax that numpy writes there.
#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/npy.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace weft::io {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct TypeCode {
  std::string_view code;
  DType dtype;
};
constexpr std::array type_codes{
    TypeCode{"f2", DType::f16}, TypeCode{"f4", DType::f32}, TypeCode{"f8", DType::f64},
    TypeCode{"i1", DType::i8},  TypeCode{"i2", DType::i16}, TypeCode{"i4", DType::i32},
    TypeCode{"i8", DType::i64}, TypeCode{"u1", DType::u8},  TypeCode{"u2", DType::u16},
    TypeCode{"u4", DType::u32}, TypeCode{"u8", DType::u64}, TypeCode{"b1", DType::boolean}};

/// Parses `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`, keys in any order.
class Dictionary {
 public:
  Dictionary(std::string_view text, std::size_t begin, const std::string& origin)
      : text_(text), begin_(begin), origin_(origin) {}

  void parse() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      value(key);
      if (!accept(',') && peek() != '}') refuse_here("',' or '}'");
    }
    if (peek() != '\0') refuse_here("the end of the header");
    for (const auto& [key, is_there] : {std::pair{"descr", descr_.has_value()},
                                        {"fortran_order", fortran_order_.has_value()},
                                        {"shape", shape_.has_value()}}) {
      if (!is_there)
        refuse(origin_, "the header", fmt::format("no '{}'", key), "'descr', 'fortran_order' and 'shape'");
    }
  }

  std::string_view descr() const { return *descr_; }
  bool fortran_order() const { return *fortran_order_; }
  const std::vector<std::int64_t>& shape() const { return *shape_; }
  std::size_t descr_at() const { return descr_at_; }
  /// The byte behind the header.
  std::size_t end() const { return begin_ + text_.size(); }

 private:
  void value(std::string_view key) {
    if (key == "descr" && !descr_) {
      peek();
      descr_at_ = begin_ + at_;
      if (peek() == '[')
        refuse(origin_, fmt::format("byte {}", descr_at_), "an array of records",
               "an array of plain numbers");
      descr_ = string();
    } else if (key == "fortran_order" && !fortran_order_) {
      fortran_order_ = boolean();
    } else if (key == "shape" && !shape_) {
      shape_ = tuple();
    } else {
      refuse_here(in_quotes(key) + " not to be there, or not twice");
    }
  }

  /// The next character that is not blank; '\0' at the end.
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse_here(fmt::format("'{}'", c));
  }

  std::string_view string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') refuse_here("a string");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) refuse_here("a string that ends");
    const std::string_view content = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return content;
  }

  bool boolean() {
    peek();
    for (const auto& [word, meaning] : {std::pair{"True", true}, std::pair{"False", false}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += std::string_view(word).size();
        return meaning;
      }
    }
    refuse_here("True or False");
  }

  std::vector<std::int64_t> tuple() {
    constexpr std::size_t most_dimensions = 64;  // numpy's own limit
    std::vector<std::int64_t> extents;
    expect('(');
    while (!accept(')')) {
      if (extents.size() == most_dimensions)
        refuse_here(fmt::format("at most {} dimensions", most_dimensions));
      peek();
      std::int64_t extent = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0) refuse_here("an extent of at least 0");
      at_ += static_cast<std::size_t>(end - begin);
      accept('L');  // Python 2 wrote its long integers so
      extents.push_back(extent);
      if (!accept(',') && peek() != ')') refuse_here("',' or ')'");
    }
    return extents;
  }

  [[noreturn]] void refuse_here(const std::string& accepted) {
    peek();
    refuse(origin_, fmt::format("byte {}", begin_ + at_), "the header " + in_quotes(text_.substr(at_)),
           accepted);
  }

  std::string_view text_;
  std::size_t begin_;
  const std::string& origin_;
  std::size_t at_ = 0;
  std::optional<std::string_view> descr_;
  std::size_t descr_at_ = 0;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<std::int64_t>> shape_;
};

DType dtype_of_descr(const Dictionary& header, const std::string& origin,
                     std::optional<DType> reinterpret_as) {
  const std::string_view descr = header.descr();
  const std::string where = fmt::format("byte {}", header.descr_at());
  const std::string_view code = descr.empty() ? descr : descr.substr(1);
  const std::string_view accepted =
      "f2, f4, f8, i1 to i8, u1 to u8 or b1, as array.astype(\"f4\") makes them, or V2 to be seen as bf16 "
      "and V1 as e4m3 or e5m2 (ReadOptions.reinterpret_as, --dtype bf16)";
  if (descr.find_first_of("<>|=") == 0) {
    for (const auto& candidate : type_codes) {
      if (candidate.code == code) return reinterpreted(candidate.dtype, reinterpret_as, origin);
    }
    if (code == "V2" && reinterpret_as) return reinterpreted(DType::u16, reinterpret_as, origin);
    if (code == "V1" && reinterpret_as) return reinterpreted(DType::u8, reinterpret_as, origin);
  }
  if (code.starts_with("O"))
    refuse(origin, where, "an array of Python objects (a pickle)", std::string(accepted));
  refuse(origin, where, "elements of type " + in_quotes(descr), std::string(accepted));
}

/// Finds the dictionary behind magic, version and length, and parses it.
Dictionary parse_dictionary(Bytes bytes, const std::string& origin) {
  if (!looks_like_npy(bytes))
    refuse(origin, "byte 0", beginning_of(bytes),
           "the bytes 93 4E 55 4D 50 59 (\\x93NUMPY), with which a .npy of numpy.save begins");
  if (bytes.size() < 8) refuse(origin, "byte 6", "the end of the file", "a version");
  const auto major = std::to_integer<int>(bytes[6]);
  const auto minor = std::to_integer<int>(bytes[7]);
  if (major < 1 || major > 3 || minor != 0)
    refuse(origin, "byte 6", fmt::format("version {}.{}", major, minor), "version 1.0, 2.0 or 3.0");
  const std::size_t width = major == 1 ? 2 : 4;
  if (bytes.size() < 8 + width) refuse(origin, "byte 8", "the end of the file", "the length of the header");
  const std::size_t length = little_endian(bytes, 8, width);
  const std::size_t begin = 8 + width;
  if (length > bytes.size() - begin)
    refuse(origin, "byte 8",
           fmt::format("a header of {} bytes with {} bytes left", length, bytes.size() - begin),
           "a header inside the file");
  Dictionary dictionary(text_of(bytes.subspan(begin, length)), begin, origin);
  dictionary.parse();
  return dictionary;
}

}  // namespace

NpyHeader parse_npy_header(Bytes bytes, const std::string& origin, std::optional<DType> reinterpret_as) {
  const Dictionary dictionary = parse_dictionary(bytes, origin);
  NpyHeader header;
  header.dtype = dtype_of_descr(dictionary, origin, reinterpret_as);
  header.big_endian = dictionary.descr().starts_with('>');
  header.fortran_order = dictionary.fortran_order();
  header.shape = dictionary.shape();
  header.data_begin = dictionary.end();
  const std::int64_t count = element_count(header.shape, origin);
  std::int64_t size = 0;
  if (__builtin_mul_overflow(count, static_cast<std::int64_t>(size_of(header.dtype)), &size))
    refuse(origin, "the header", "the shape " + text_of_shape(header.shape), "fewer than 2^63 bytes");
  header.data_bytes = static_cast<std::size_t>(size);
  return header;
}

std::pair<std::string, std::vector<std::int64_t>> summarize_npy(Bytes bytes, const std::string& origin) {
  const Dictionary dictionary = parse_dictionary(bytes, origin);
  return {std::string(dictionary.descr()), dictionary.shape()};
}

std::string parse_npy_string(Bytes bytes, const std::string& origin) {
  constexpr std::size_t longest = 64;
  const Dictionary dictionary = parse_dictionary(bytes, origin);
  const std::string_view descr = dictionary.descr();
  const bool wide = descr.starts_with("<U");  // four bytes a character, otherwise one
  std::size_t length = 0;
  if (descr.size() > 2) std::from_chars(descr.data() + 2, descr.data() + descr.size(), length);
  if ((!wide && !descr.starts_with("|S")) || length == 0 || length > longest)
    refuse(origin, fmt::format("byte {}", dictionary.descr_at()), "an element of type " + in_quotes(descr),
           "a short string, S3 or <U3");
  const Bytes data = bytes.subspan(dictionary.end());
  if (data.size() != length * (wide ? 4 : 1) || !dictionary.shape().empty())
    refuse(origin, fmt::format("byte {}", dictionary.end()),
           fmt::format("{} bytes of shape {}", data.size(), text_of_shape(dictionary.shape())), "one string");
  std::string text;
  for (std::size_t i = 0; i < data.size(); i += wide ? 4 : 1) text += static_cast<char>(data[i]);
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

void check_npy_size(const NpyHeader& header, std::size_t size, const std::string& elements,
                    const std::string& origin) {
  const std::size_t left = size - header.data_begin;
  if (left == header.data_bytes) return;
  refuse(
      origin, fmt::format("byte {}", header.data_begin),
      fmt::format("{} bytes of elements ({})", left, left < header.data_bytes ? "truncated" : "padded"),
      fmt::format("{} bytes for the shape {}{}", header.data_bytes, text_of_shape(header.shape), elements));
}

std::size_t NpyHeader::byte_of(std::int64_t index) const {
  std::int64_t position = index;
  if (fortran_order) {
    std::int64_t stride = 1;
    for (const std::int64_t extent : shape) stride *= extent;
    position = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      stride /= shape[d];
      position += index % shape[d] * stride;
      index /= shape[d];
    }
  }
  return data_begin + static_cast<std::size_t>(position) * size_of(dtype);
}

bool looks_like_npy(Bytes bytes) {
  return starts_with(bytes, magic);
}

}  // namespace weft::io
