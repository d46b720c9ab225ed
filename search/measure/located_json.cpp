#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/bytes.h>
#include <weft/search/measure/located_json.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

namespace weft {
namespace {

/// Walks over text and leaves word of the line it is in.
class LineIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  LineIterator(const char* at, std::size_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  LineIterator& operator++() {
    // The parser has read past a number when it reports it: a line counts when its first character is read.
    if (after_newline_) ++*line_;
    after_newline_ = *at_ == '\n';
    ++at_;
    return *this;
  }
  LineIterator operator++(int) {
    LineIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const LineIterator& other) const { return at_ == other.at_; }
  bool operator!=(const LineIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::size_t* line_;
  bool after_newline_ = false;
};

/// What would be JSON where the parser stopped, from its own sentence.
std::string wanted_where(std::string_view error) {
  const auto says = [&](std::string_view words) { return error.find(words) != std::string_view::npos; };
  if (says("unexpected end of input")) return "the rest of the file, which ends here";
  if (says("object key - unexpected '}'")) return "no comma before }, or another field behind it";
  if (says("unexpected ']'")) return "no comma before ], or another element behind it";
  if (says("expected '}'")) return "a comma between two fields, or } behind the last";
  if (says("expected ']'")) return "a comma between two elements, or ] behind the last";
  if (says("expected ':'")) return "a colon behind the name of a field";
  return "a JSON document: names and texts in double quotes, numbers, true, false, null, [ ] and { }";
}

constexpr std::size_t most_levels = 16;

/// Notes the line of every value under its JSON pointer.
class LineNotes : public nlohmann::json_sax<nlohmann::json> {
 public:
  LineNotes(const std::string& origin, const std::size_t& line, std::map<std::string, std::size_t>& lines)
      : origin_(origin), line_(line), lines_(lines) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(false); }
  bool start_array(std::size_t) override { return open(true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    std::string escaped;
    for (const char c : name) escaped += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    levels_.back().key = escaped;
    if (lines_.contains(here())) refuse("the field \"" + name + "\" twice", "every field once in an object");
    return true;
  }
  bool parse_error(std::size_t, const std::string& token, const nlohmann::json::exception& error) override {
    refuse("no JSON: " + io::in_quotes(token.substr(0, 40)), wanted_where(error.what()));
  }

 private:
  struct Level {
    std::string pointer;
    bool array = false;
    std::string key;
    std::size_t index = 0;
  };

  std::string here() const {
    if (levels_.empty()) return {};
    const Level& level = levels_.back();
    return level.pointer + "/" + (level.array ? std::to_string(level.index) : level.key);
  }
  void next() {
    if (!levels_.empty()) ++levels_.back().index;
  }
  bool value() {
    lines_[here()] = line_;
    next();
    return true;
  }
  bool open(bool array) {
    // Every level lengthens the pointers below it; no suite is deep.
    if (levels_.size() == most_levels)
      refuse("objects and lists within each other", fmt::format("at most {} levels", most_levels));
    const std::string pointer = here();
    lines_[pointer] = line_;
    levels_.push_back({pointer, array, {}, 0});
    return true;
  }
  bool close() {
    levels_.pop_back();
    next();
    return true;
  }
  [[noreturn]] void refuse(const std::string& found, const std::string& accepted) const {
    throw UserError("a JSON file cannot be used", fmt::format("{}, line {}", origin_, line_), found,
                    accepted);
  }

  const std::string& origin_;
  const std::size_t& line_;
  std::map<std::string, std::size_t>& lines_;
  std::vector<Level> levels_;
};

}  // namespace

LocatedJson::LocatedJson(const std::string& text, std::string origin) : origin_(std::move(origin)) {
  std::size_t line = 1;
  LineNotes notes(origin_, line, lines_);
  const LineIterator begin(text.data(), &line);
  const LineIterator end(text.data() + text.size(), &line);
  nlohmann::json::sax_parse(begin, end, &notes);
  document_ = nlohmann::json::parse(text);
}

std::string LocatedJson::place(std::string pointer) const {
  while (!lines_.contains(pointer) && !pointer.empty()) pointer.resize(pointer.find_last_of('/'));
  const auto found = lines_.find(pointer);
  return fmt::format("{}, line {}", origin_, found != lines_.end() ? found->second : 1);
}

}  // namespace weft
