#include <fmt/format.h>
#include <weft/formats/io/text.h>

#include <charconv>
#include <cmath>

namespace weft::io {
namespace {

bool is_separator(char c) {
  return c == ' ' || c == '\t' || c == ',' || c == '\r' || c == '\v' || c == '\f';
}

/// from_chars takes no plus sign, which some writers put before values.
std::string_view without_plus(std::string_view word) {
  return word.size() > 1 && word[0] == '+' && word[1] != '-' && word[1] != '+' ? word.substr(1) : word;
}

template <class T>
std::errc convert(std::string_view word, T& value) {
  word = without_plus(word);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc()) return error;
  return end == word.data() + word.size() ? std::errc() : std::errc::invalid_argument;
}

}  // namespace

std::string TextScanner::place() const {
  return fmt::format("line {}, byte {}", line_, word_at_);
}

std::string_view TextScanner::word() {
  while (at_ < text_.size() && is_separator(text_[at_])) ++at_;
  word_at_ = at_;
  while (at_ < text_.size() && text_[at_] != '\n' && !is_separator(text_[at_])) ++at_;
  return text_.substr(word_at_, at_ - word_at_);
}

bool TextScanner::at_end_of_line() {
  while (at_ < text_.size() && is_separator(text_[at_])) ++at_;
  return at_ == text_.size() || text_[at_] == '\n';
}

bool TextScanner::next_line() {
  const auto newline = text_.find('\n', at_);
  if (newline == std::string_view::npos) {
    at_ = text_.size();
  } else {
    at_ = newline + 1;
    ++line_;
  }
  word_at_ = at_;
  return at_ < text_.size();
}

bool TextScanner::is_last_line() const {
  return text_.find('\n', at_) == std::string_view::npos;
}

std::int64_t TextScanner::words_of_line() const {
  std::int64_t count = 0;
  bool inside = false;
  for (const char c : text_.substr(at_, text_.find('\n', at_) - at_)) {
    count += !inside && !is_separator(c) ? 1 : 0;
    inside = !is_separator(c);
  }
  return count;
}

bool TextScanner::skip_to_content(char comment) {
  while (at_ < text_.size()) {
    if (!at_end_of_line() && text_[at_] != comment) return true;
    if (!next_line()) return false;
  }
  return false;
}

void TextScanner::finish_line(const std::string& complete) {
  if (!at_end_of_line()) refuse(in_quotes(word()) + " after " + complete, "the end of the line");
  next_line();
}

std::string_view TextScanner::word_for(const std::string& what) {
  const std::string_view found = word();
  if (found.empty()) refuse(at_ == text_.size() ? "the end of the file" : "the end of the line", what);
  return found;
}

std::int64_t TextScanner::integer(const std::string& what) {
  const std::string_view found = word_for(what);
  std::int64_t value = 0;
  if (convert(found, value) != std::errc()) refuse(in_quotes(found), what + ", an integer");
  return value;
}

std::uint64_t TextScanner::unsigned_integer(const std::string& what) {
  const std::string_view found = word_for(what);
  std::uint64_t value = 0;
  if (convert(found, value) != std::errc()) refuse(in_quotes(found), what + ", an integer of at least 0");
  return value;
}

double TextScanner::real(const std::string& what) {
  const std::string_view found = word_for(what);
  double value = 0;
  const std::errc error = convert(found, value);
  if (error == std::errc::result_out_of_range)
    refuse(in_quotes(found), what + " in the range of a 64-bit float");
  if (error != std::errc()) refuse(in_quotes(found), what + ", a number");
  if (!std::isfinite(value)) refuse(in_quotes(found), what + ", a finite number");
  return value;
}

void TextScanner::refuse(std::string found, std::string accepted) const {
  io::refuse(origin_, place(), std::move(found), std::move(accepted));
}

}  // namespace weft::io
