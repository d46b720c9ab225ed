// JSON read event by event, with the byte always known. No tree is built: keys given twice are seen, and
// nothing is stored that the reader did not ask for.
#pragma once

#include <weft/formats/io/bytes.h>

#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

namespace weft::io {

/// Refuses every event; a reader overrides those that its format has.
class JsonEvents {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  /// `begin` is where the text starts in its file.
  JsonEvents(Bytes bytes, std::size_t begin, std::string origin)
      : text_(text_of(bytes)), begin_(begin), at_(text_.data()), origin_(std::move(origin)) {}
  virtual ~JsonEvents() = default;
  JsonEvents(const JsonEvents&) = delete;
  JsonEvents& operator=(const JsonEvents&) = delete;

  /// Runs over the whole text, which must be one JSON value.
  void run();

  virtual bool start_object(std::size_t) { unexpected("an object"); }
  virtual bool end_object() { unexpected("the end of an object"); }
  virtual bool start_array(std::size_t) { unexpected("an array"); }
  virtual bool end_array() { unexpected("the end of an array"); }
  virtual bool key(string_t& name) { unexpected("the key " + in_quotes(name)); }
  virtual bool string(string_t& value) { return scalar("the string " + in_quotes(value)); }
  virtual bool number_unsigned(number_unsigned_t value) { return scalar(std::to_string(value)); }
  bool number_integer(number_integer_t value) { return scalar(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) { return scalar(in_quotes(text)); }
  virtual bool boolean(bool value) { return scalar(value ? "true" : "false"); }
  bool null() { return scalar("null"); }
  bool binary(binary_t&) { unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string& token, const nlohmann::json::exception& error);

 protected:
  /// Refuses the event; override what it says is expected with `expected`.
  [[noreturn]] void unexpected(const std::string& found) const { refuse_here(found, expected()); }
  [[noreturn]] void refuse_here(const std::string& found, const std::string& accepted) const;
  virtual std::string expected() const = 0;
  /// A value that has no events of its own here.
  virtual bool scalar(const std::string& found) { unexpected(found); }
  const std::string& origin() const { return origin_; }

 private:
  std::string_view text_;
  std::size_t begin_;
  const char* at_;  ///< how far the parser has read
  std::string origin_;
};

}  // namespace weft::io
