// Text files of numbers, read line by line with the place always at hand.
#pragma once

#include <weft/formats/io/bytes.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::io {

/// Walks over the words of a text. Words are separated by blanks, tabs and commas; a line ends with LF or
/// CR-LF.
class TextScanner {
 public:
  TextScanner(Bytes bytes, std::string origin) : text_(text_of(bytes)), origin_(std::move(origin)) {}

  std::int64_t line() const { return line_; }
  const std::string& origin() const { return origin_; }
  Bytes bytes() const { return std::as_bytes(std::span(text_)); }
  std::size_t bytes_left() const { return text_.size() - at_; }
  /// "line 3, byte 45": where the last word began.
  std::string place() const;

  /// The next word of this line; empty at its end.
  std::string_view word();
  bool at_end_of_line();
  bool is_last_line() const;
  /// How many words are left of this line.
  std::int64_t words_of_line() const;
  /// Moves to the next line; false at the end of the text. What is left of this line is skipped.
  bool next_line();
  /// Skips blank lines and lines whose first character is `comment`; false at the end of the text.
  bool skip_to_content(char comment);
  /// Moves on when this line is done; refuses when a word is left on it. `complete` names what the line
  /// holds.
  void finish_line(const std::string& complete);

  /// The next word of this line as a number. `what` names it in the message.
  std::int64_t integer(const std::string& what);
  std::uint64_t unsigned_integer(const std::string& what);
  /// Refuses NaN, infinity and what no 64-bit float can hold.
  double real(const std::string& what);

  /// Refuses the text at the last word.
  [[noreturn]] void refuse(std::string found, std::string accepted) const;

 private:
  std::string_view word_for(const std::string& what);

  std::string_view text_;
  std::string origin_;
  std::size_t at_ = 0;
  std::size_t word_at_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace weft::io
