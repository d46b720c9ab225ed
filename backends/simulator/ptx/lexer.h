// PTX text as tokens, read one by one: nothing is kept of what was read.
#pragma once

#include <string>
#include <string_view>

namespace weft::simulator::ptx {

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

struct Token {
  enum class Kind {
    end,
    word,         ///< "%r1", "mov", "$L__BB0_1", "_"
    dot_word,     ///< ".shared::cta", `text` without the first dot
    number,       ///< as written: "0x1F", "1U", "0f3F800000", "1.5e3"
    string,       ///< without the quotes
    punctuation,  ///< one character, or one of << >> <= >= == != && ||
  };
  Kind kind = Kind::end;
  std::string_view text;
  int line = 1;

  bool is(std::string_view mark) const { return kind == Kind::punctuation && text == mark; }
  bool is_dot(std::string_view word) const { return kind == Kind::dot_word && text == word; }
  bool is_word() const { return kind == Kind::word; }
  /// For a message: quoted and cut to a length that reads well.
  std::string shown() const;
};

class Lexer {
 public:
  /// `text` must outlive the tokens.
  explicit Lexer(std::string_view text);

  const Token& peek() const { return current_; }
  const Token& peek_second();
  Token take();
  /// Takes the next token if it is this mark.
  bool accept(std::string_view mark);
  /// Takes the mark, or fails: `accepted` says what would stand here.
  void expect(std::string_view mark, std::string_view accepted);
  Token expect_word(std::string_view accepted);

  /// UserError at the next token.
  [[noreturn]] void fail(std::string_view accepted) const;

 private:
  Token scan();
  void skip_blanks();
  Token scan_word(std::size_t start, Token::Kind kind);
  Token scan_number(std::size_t start);
  Token scan_string(std::size_t start);
  Token scan_punctuation(std::size_t start);
  Token made(Token::Kind kind, std::size_t start, std::size_t end);

  std::string_view text_;
  std::size_t position_ = 0;
  int line_ = 1;
  Token current_, second_;
  bool has_second_ = false;
};

/// UserError(reading PTX, line, found, accepted); or at a token, which is what was found.
[[noreturn]] void fail_at(int line, std::string_view found, std::string_view accepted);
[[noreturn]] void fail_at(const Token& token, std::string_view accepted);
/// Text of the input in quotes, without control characters, cut to a length that reads well.
std::string quoted(std::string_view text);

}  // namespace weft::simulator::ptx
