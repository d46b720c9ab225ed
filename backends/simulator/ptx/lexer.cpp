#include <fmt/format.h>
#include <weft/backends/simulator/ptx/lexer.h>
#include <weft/dsl/errors.h>

#include <array>

namespace weft::simulator::ptx {
namespace {

constexpr std::size_t longest_shown = 60;  // characters

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool continues_word(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}
bool starts_word(char c) {
  return is_letter(c) || c == '_' || c == '$' || c == '%';
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string shown = "'";
  for (const char c : text.substr(0, longest_shown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F)
      shown += fmt::format("\\x{:02X}", byte);
    else
      shown += c;
  }
  return shown + (text.size() > longest_shown ? "...'" : "'");
}

void fail_at(int line, std::string_view found, std::string_view accepted) {
  throw UserError("reading PTX", fmt::format("line {}", line), std::string(found), std::string(accepted));
}

void fail_at(const Token& token, std::string_view accepted) {
  fail_at(token.line, token.shown(), accepted);
}

std::string Token::shown() const {
  switch (kind) {
    case Kind::end: return "the end of the text";
    case Kind::dot_word: return ptx::quoted(fmt::format(".{}", text.substr(0, longest_shown + 1)));
    case Kind::string: return "the string " + quoted(text);
    default: return quoted(text);
  }
}

Lexer::Lexer(std::string_view text) : text_(text) {
  // NVRTC counts the closing zero of its C string into the size.
  if (!text_.empty() && text_.back() == '\0') text_.remove_suffix(1);
  current_ = scan();
}

const Token& Lexer::peek_second() {
  if (!has_second_) {
    second_ = scan();
    has_second_ = true;
  }
  return second_;
}

Token Lexer::take() {
  const Token taken = current_;
  current_ = has_second_ ? second_ : scan();
  has_second_ = false;
  return taken;
}

bool Lexer::accept(std::string_view mark) {
  if (!current_.is(mark)) return false;
  take();
  return true;
}

void Lexer::expect(std::string_view mark, std::string_view accepted) {
  if (!accept(mark)) fail(accepted);
}

Token Lexer::expect_word(std::string_view accepted) {
  if (!current_.is_word()) fail(accepted);
  return take();
}

void Lexer::fail(std::string_view accepted) const {
  fail_at(current_, accepted);
}

Token Lexer::made(Token::Kind kind, std::size_t start, std::size_t end) {
  position_ = end;
  return {kind, text_.substr(start, end - start), line_};
}

void Lexer::skip_blanks() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    const std::string_view rest = text_.substr(position_, 2);
    if (c == '\n') {
      ++line_;
      ++position_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f') {
      ++position_;
    } else if (rest == "//") {
      const std::size_t end = text_.find('\n', position_);
      position_ = end == std::string_view::npos ? text_.size() : end;
    } else if (rest == "/*") {
      const std::size_t end = text_.find("*/", position_ + 2);
      if (end == std::string_view::npos) fail_at(line_, "a comment that begins here and never ends", "*/");
      for (; position_ < end + 2; ++position_) line_ += text_[position_] == '\n' ? 1 : 0;
    } else {
      return;
    }
  }
}

Token Lexer::scan() {
  skip_blanks();
  const std::size_t start = position_;
  if (start >= text_.size()) return {Token::Kind::end, {}, line_};
  const char c = text_[start];
  const char next = start + 1 < text_.size() ? text_[start + 1] : '\0';
  if (is_digit(c)) return scan_number(start);
  if (c == '.' && (continues_word(next))) return scan_word(start + 1, Token::Kind::dot_word);
  if (starts_word(c) && (c != '%' || continues_word(next))) return scan_word(start, Token::Kind::word);
  if (c == '"') return scan_string(start);
  return scan_punctuation(start);
}

Token Lexer::scan_word(std::size_t start, Token::Kind kind) {
  std::size_t end = start + 1;
  while (end < text_.size()) {
    if (continues_word(text_[end])) {
      ++end;
    } else if (kind == Token::Kind::dot_word && end + 2 < text_.size() && text_[end] == ':' &&
               text_[end + 1] == ':' && continues_word(text_[end + 2])) {
      end += 3;
    } else {
      break;
    }
  }
  return made(kind, start, end);
}

Token Lexer::scan_number(std::size_t start) {
  const char second = start + 1 < text_.size() ? text_[start + 1] : '\0';
  const bool is_decimal = text_[start] != '0' || !is_letter(second);
  std::size_t end = start + 1;
  while (end < text_.size()) {
    const char c = text_[end];
    const bool is_exponent_sign =
        is_decimal && (c == '+' || c == '-') && (text_[end - 1] == 'e' || text_[end - 1] == 'E');
    const bool is_point = is_decimal && c == '.';
    if (!continues_word(c) && !is_exponent_sign && !is_point) break;
    ++end;
  }
  return made(Token::Kind::number, start, end);
}

Token Lexer::scan_string(std::size_t start) {
  for (std::size_t end = start + 1; end < text_.size() && text_[end] != '\n'; ++end) {
    if (text_[end] == '\\') {
      ++end;
    } else if (text_[end] == '"') {
      Token token = made(Token::Kind::string, start + 1, end);
      position_ = end + 1;
      return token;
    }
  }
  fail_at(line_, "a string without its closing quote", "\"...\" on one line");
}

Token Lexer::scan_punctuation(std::size_t start) {
  constexpr std::array<std::string_view, 8> pairs{"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
  for (const std::string_view pair : pairs) {
    if (text_.substr(start, 2) == pair) return made(Token::Kind::punctuation, start, start + 2);
  }
  const char c = text_[start];
  if (c == '#') fail_at(line_, "'#': a line for a preprocessor", "PTX after its preprocessor");
  if (std::string_view("{}[]()<>,;:@!=+-*/%&|^~?").find(c) == std::string_view::npos)
    fail_at(line_, quoted(text_.substr(start, 1)), "PTX: words, numbers and punctuation in ASCII");
  return made(Token::Kind::punctuation, start, start + 1);
}

}  // namespace weft::simulator::ptx
